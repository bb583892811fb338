import type { FromWorker, Mode, ToWorker } from "../sandbox/messages.ts";
import type { Frame, Swapped } from "./frame-link.ts";
import { readWorkerMessage } from "./worker-messages.ts";

/** Hears a worker: its valid messages, and null for each one that no worker of ours sends. */
export type Listener = (message: FromWorker | null) => void;

/**
 * One worker from its start to its end: a pristine interpreter that is good for one run, or for those of one session. It belongs to the
 * pool until it's taken, then to the run or session that took it. Messages of the port belong to it alone, so they need no id that could be forged.
 */
export class Standby {
  readonly #frame: Frame;
  readonly #id: number;
  readonly #port: MessagePort;
  #onMessage: Listener = () => {};
  #onFailed: (message: string) => void = () => {};
  #ended = false;

  /** Starts a worker. `onBase` is called when mode "make" has made the base snapshot; the worker is of no more use then. */
  constructor(frame: Frame, mode: Mode, onBase: () => void) {
    this.#frame = frame;
    const { id, port } = frame.spawn(mode, {
      onBase,
      onFailed: (message) => this.#onFailed(message),
      onForged: () => this.#onMessage(null),
    });
    this.#id = id;
    this.#port = port;
    port.onmessage = ({ data, ports }) => this.#onMessage(readWorkerMessage(data, ports));
    port.onmessageerror = () => this.#onMessage(null);
  }

  /** Who hears the worker from now on, and who learns that it died. */
  listen(onMessage: Listener, onFailed: (message: string) => void): void {
    this.#onMessage = onMessage;
    this.#onFailed = onFailed;
  }

  send(message: ToWorker): void {
    if (!this.#ended) this.#port.postMessage(message);
  }

  /** Nothing that the worker still says is heard. */
  mute(): void {
    this.#port.onmessage = this.#port.onmessageerror = null;
    this.listen(
      () => {},
      () => {},
    );
  }

  /** The session's runs up to that number stand. */
  release(run: number): void {
    if (!this.#ended) this.#frame.release(this.#id, run);
  }

  /** Ends the worker, and has another one go on with the state that it saved before its run of that number. */
  handOver(to: Standby, run: number, patience: number): Promise<Swapped> {
    if (this.#ended) return Promise.resolve({ problem: "its worker has ended", lost: [], older: false });
    this.#ended = true;
    this.mute();
    this.#port.close();
    return this.#frame.swap(this.#id, to.#id, run, patience);
  }

  /** Ends the worker. `patience` in ms > 0 when it may be busy, see ToFrame. */
  end(patience: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.mute();
    this.#port.close();
    this.#frame.end(this.#id, patience);
  }
}
