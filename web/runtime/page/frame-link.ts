/** The page's end of the sandboxed frame: makes the frame, starts and ends workers in it, and has it keep time. */

import type { Assets, FromFrame, Mode, ToFrame } from "../sandbox/messages.ts";

const BOOT_TIMEOUT_MS = 60_000;
/** A frame whose process died says nothing and raises no event. So it's asked now and then, and given up when it doesn't answer. */
const HEARTBEAT_MS = 1_000;
const SILENCE_MS = 8_000;
/** What is longer, 24.8 days, browsers take for 0. */
const MAX_TIMER_MS = 2 ** 31 - 1;

// In view, or the browser would hold back its timers to one a second; too small to be seen.
const STYLE = "position:fixed;top:0;left:0;width:1px;height:1px;border:0;opacity:0";

/** What the frame tells about one worker. */
export interface WorkerEvents {
  onBase?(bytes: number): void;
  onFailed(message: string): void;
  onForged(): void;
}

export interface SpawnedWorker {
  readonly id: number;
  readonly port: MessagePort;
}

export interface Swapped {
  /** Why it failed, "" when it didn't. */
  readonly problem: string;
  /** JavaScript objects that couldn't be taken along. */
  readonly lost: readonly string[];
  /** The run never began, for the one before it only seemed to be over; both are undone. */
  readonly older: boolean;
}

/** What the pool needs of a frame; the tests have one without a browser. */
export interface Frame {
  spawn(mode: Mode, events: WorkerEvents): SpawnedWorker;
  /** Caps the memory, in MiB, of each worker that is spawned from now on. */
  limit(maxMemoryMb: number): void;
  /** Ends a worker; `patience` in ms > 0 when it may be busy. */
  end(id: number, patience: number): void;
  /**
   * Ends worker `from` and has worker `to` take over the state that it saved before its run of that number. When that fails, neither
   * is of any use.
   */
  swap(from: number, to: number, run: number, patience: number): Promise<Swapped>;
  /** The worker's runs up to that number stand. */
  release(id: number, run: number): void;
  /** Calls back after `ms`, also in a hidden page. The result cancels. */
  after(ms: number, callback: () => void): () => void;
  /** Resolves, with the reason, when the frame and all its workers are gone. Each worker's onFailed was called then. */
  readonly lost: Promise<string>;
}

export interface BootInfo {
  readonly isolated: boolean;
  readonly compileMs: number;
}

export class FrameLink implements Frame {
  readonly #control: MessagePort;
  readonly #workers = new Map<number, WorkerEvents>();
  readonly #alarms = new Map<number, () => void>();
  readonly #swaps = new Map<number, (swapped: Swapped) => void>();
  #nextId = 1;
  #booted: (info: BootInfo) => void = () => {};
  #fault: (message: string) => void = () => {};
  readonly lost: Promise<string>;
  #resolveLost: (reason: string) => void = () => {};
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #heard = 0;

  private constructor(control: MessagePort) {
    this.#control = control;
    control.onmessage = ({ data }: MessageEvent<FromFrame>) => this.#hear(data);
    this.lost = new Promise((resolve) => {
      this.#resolveLost = resolve;
    });
  }

  /** Puts the frame at `url` into the document and boots it. Rejects when that takes longer than a minute. */
  static async open(url: string, assets: Promise<Assets>): Promise<{ frame: FrameLink; info: BootInfo }> {
    const element = document.createElement("iframe");
    element.setAttribute("sandbox", "allow-scripts");
    element.allow = "cross-origin-isolated";
    element.style.cssText = STYLE;
    element.setAttribute("aria-hidden", "true");
    element.src = url;
    try {
      return await within(BOOT_TIMEOUT_MS, "the sandboxed frame didn't start", FrameLink.#boot(element, assets));
    } catch (error) {
      element.remove();
      throw error;
    }
  }

  static async #boot(
    element: HTMLIFrameElement,
    assets: Promise<Assets>,
  ): Promise<{ frame: FrameLink; info: BootInfo }> {
    const ready = new Promise<void>((resolve) => {
      const listen = (event: MessageEvent): void => {
        if (event.source !== element.contentWindow || event.data?.t !== "frame-ready") return;
        removeEventListener("message", listen);
        resolve();
      };
      addEventListener("message", listen);
    });
    document.documentElement.append(element);
    const [files] = await Promise.all([assets, ready]);
    const { port1, port2 } = new MessageChannel();
    const frame = new FrameLink(port1);
    element.contentWindow?.postMessage({ t: "connect" }, "*", [port2]);
    const info = await new Promise<BootInfo>((resolve, reject) => {
      frame.#booted = resolve;
      frame.#fault = (message) => reject(new Error(message));
      frame.#tell({ t: "boot", assets: files }, [files.wasm, files.stdlib]);
    });
    frame.#fault = (message) => console.error(`sandbox frame: ${message}`);
    frame.#watch(element);
    return { frame, info };
  }

  spawn(mode: Mode, events: WorkerEvents): SpawnedWorker {
    const id = this.#nextId++;
    const { port1, port2 } = new MessageChannel();
    this.#workers.set(id, events);
    this.#tell({ t: "spawn", id, mode }, [port2]);
    return { id, port: port1 };
  }

  limit(maxMemoryMb: number): void {
    this.#tell({ t: "limit", maxMemoryMb });
  }

  end(id: number, patience: number): void {
    if (this.#workers.delete(id)) this.#tell({ t: "end", id, patience });
  }

  swap(from: number, to: number, run: number, patience: number): Promise<Swapped> {
    if (!this.#workers.delete(from)) return Promise.resolve({ problem: "its worker is gone", lost: [], older: false });
    return new Promise((resolve) => {
      this.#swaps.set(to, resolve);
      this.#tell({ t: "swap", from, to, run, patience });
    });
  }

  release(id: number, run: number): void {
    this.#tell({ t: "release", id, run });
  }

  after(ms: number, callback: () => void): () => void {
    const id = this.#nextId++;
    this.#alarms.set(id, callback);
    this.#tell({ t: "alarm", id, ms: Math.min(ms, MAX_TIMER_MS) });
    return () => {
      if (this.#alarms.delete(id)) this.#tell({ t: "disarm", id });
    };
  }

  #watch(element: HTMLIFrameElement): void {
    this.#heard = performance.now();
    let last = this.#heard;
    this.#heartbeat = setInterval(() => {
      const now = performance.now();
      // The page itself may have been asleep or busy: only silence that it could have heard counts.
      if (now - last > 2 * HEARTBEAT_MS) this.#heard = now;
      last = now;
      if (now - this.#heard > SILENCE_MS) this.#lose(element);
      else this.after(0, () => {});
    }, HEARTBEAT_MS);
  }

  #lose(element: HTMLIFrameElement): void {
    clearInterval(this.#heartbeat);
    element.remove();
    this.#control.close();
    this.#alarms.clear();
    const reason = "the sandbox's process died";
    for (const events of [...this.#workers.values()]) events.onFailed(reason);
    this.#workers.clear();
    for (const resolve of this.#swaps.values()) resolve({ problem: reason, lost: [], older: false });
    this.#swaps.clear();
    this.#resolveLost(reason);
  }

  #tell(message: ToFrame, transfer: Transferable[] = []): void {
    this.#control.postMessage(message, transfer);
  }

  #hear(message: FromFrame): void {
    this.#heard = performance.now();
    switch (message.t) {
      case "booted":
        this.#booted(message);
        break;
      case "fault":
        this.#fault(message.message);
        break;
      case "alarm": {
        const callback = this.#alarms.get(message.id);
        this.#alarms.delete(message.id);
        callback?.();
        break;
      }
      case "base":
        this.#workers.get(message.id)?.onBase?.(message.bytes);
        break;
      case "failed":
        this.#workers.get(message.id)?.onFailed(message.message);
        break;
      case "swapped":
        this.#swaps.get(message.id)?.(message);
        this.#swaps.delete(message.id);
        break;
      case "forged":
        this.#workers.get(message.id)?.onForged();
    }
  }
}

function within<T>(ms: number, problem: string, promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${problem} within ${ms / 1000} s`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
