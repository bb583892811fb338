/**
 * What a run prints. Bytes are kept up to a cap and posted in pieces: at most one about every 50 ms while Python is busy, which is what a
 * person can follow, and the rest at the end. A write beyond the cap fails as on a full disk, so that a loop that prints without end is over at once.
 */

type Stream = "stdout" | "stderr";

const INTERVAL_MS = 50;
const PIECE_BYTES = 64 * 1024;

export class Output {
  readonly #post: (stream: Stream, text: string) => void;
  readonly #pending: Record<Stream, Pending> = { stdout: new Pending(), stderr: new Pending() };
  #left = 0;
  #truncated = false;
  #dropping = false;
  #lastPost = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(post: (stream: Stream, text: string) => void) {
    this.#post = post;
  }

  /** Forgets everything and allows `maxBytes` for both streams together. */
  reset(maxBytes: number): void {
    this.#left = maxBytes;
    this.#truncated = this.#dropping = false;
    this.#lastPost = performance.now();
    this.#pending.stdout.clear();
    this.#pending.stderr.clear();
  }

  /** Whether there was output over the cap. */
  get truncated(): boolean {
    return this.#truncated;
  }

  /** Lets writes beyond the cap succeed, until the next reset: for what is still buffered when a run is over. */
  drop(): void {
    this.#dropping = true;
  }

  /** A handler for pyodide's setStdout and setStderr. `bytes` is a view of the heap: it's read at once and not kept. */
  writer(stream: Stream): { write(bytes: Uint8Array): number } {
    return { write: (bytes) => this.#write(stream, bytes) };
  }

  /** Adds a text of ours, as far as there's room. */
  print(stream: Stream, text: string): void {
    try {
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; at < bytes.length; ) at += this.#write(stream, bytes.subarray(at));
    } catch {
      // It's full.
    }
  }

  /** Posts what is there. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#lastPost = performance.now();
    for (const stream of ["stdout", "stderr"] as const) {
      const text = this.#pending[stream].take();
      if (text !== "") this.#post(stream, text);
    }
  }

  #write(stream: Stream, bytes: Uint8Array): number {
    if (bytes.length > this.#left) this.#truncated = true;
    // pyodide makes an OSError of it.
    if (this.#left === 0 && this.#dropping) return bytes.length;
    if (this.#left === 0 && bytes.length > 0)
      throw Object.assign(new Error("the run's output is full"), { code: "ENOSPC" });
    const kept = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes;
    this.#left -= kept.length;
    const pending = this.#pending[stream];
    for (let at = 0; at < kept.length; ) {
      at += pending.add(kept, at);
      if (pending.full) this.flush();
    }
    if (performance.now() - this.#lastPost >= INTERVAL_MS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), INTERVAL_MS); // for a run that now waits for something
    return kept.length;
  }
}

/** Bytes of one stream that wait to be posted. A character that was cut between two writes comes out whole. */
class Pending {
  readonly #bytes = new Uint8Array(PIECE_BYTES);
  #length = 0;
  #decoder = new TextDecoder();

  get full(): boolean {
    return this.#length === PIECE_BYTES;
  }

  /** Takes what fits of bytes[at…] and returns how many that were. */
  add(bytes: Uint8Array, at: number): number {
    const n = Math.min(bytes.length - at, PIECE_BYTES - this.#length);
    this.#bytes.set(bytes.subarray(at, at + n), this.#length);
    this.#length += n;
    return n;
  }

  take(): string {
    if (this.#length === 0) return "";
    const text = this.#decoder.decode(this.#bytes.subarray(0, this.#length), { stream: true });
    this.#length = 0;
    return text;
  }

  clear(): void {
    this.#length = 0;
    this.#decoder = new TextDecoder();
  }
}
