/** Runs what the host asks for: takes a standby for each run, bounds how many run at once, and refills the pool behind them. */

import { Code, RpcError } from "../wire/errors.ts";
import type { RunRequest } from "../wire/methods.ts";
import type { Frame } from "./frame-link.ts";
import { Pool, type PoolOptions, type PoolStatus } from "./pool.ts";
import { ANSWER_FIRST_MS, execute, later, type RunHost, type RunOutcome } from "./run.ts";
import { Sessions } from "./sessions.ts";

/** Runs at once, each with a worker of 50 to 100 MB, whatever the host asks for. */
export const MAX_RUNS = 16;

/** Frames that died one after the other, without a run that ended, before no new one is tried. */
const MAX_LOST = 3;

interface Opened {
  readonly frame: Frame;
  readonly pool: Pool;
}

export class Executor {
  readonly #openFrame: () => Promise<Frame>;
  #opened: Promise<Opened>;
  #pool: Pool | undefined;
  #options: PoolOptions | undefined;
  #onStatus: (status: PoolStatus) => void = () => {};
  #broken: PoolStatus | undefined;
  #running = 0;
  #lost = 0;
  readonly sessions = new Sessions({
    take: async (signal) => {
      const { frame, pool } = await this.#opened;
      return { frame, standby: await pool.take(signal), catalog: this.#options?.catalog ?? "" };
    },
    refill: () => later(() => this.#pool?.refill()),
    catalog: () => this.#options?.catalog ?? "",
  });

  /** Opens a frame and makes the base snapshot at once; start() then fills the pool. A frame that dies is replaced by a new one. */
  constructor(openFrame: () => Promise<Frame>) {
    this.#openFrame = openFrame;
    this.#opened = this.#open();
  }

  /** Fills the pool, and tells `onStatus` how it is, now and later. */
  start(options: PoolOptions, onStatus: (status: PoolStatus) => void): void {
    this.#options = options;
    this.#onStatus = onStatus;
    if (this.#broken !== undefined) onStatus(this.#broken);
    else if (this.#pool?.status.ready) onStatus(this.#pool.status);
    this.#pool?.start(options);
  }

  bind(catalog: string): void {
    if (this.#options !== undefined) this.#options = { ...this.#options, catalog };
    this.#pool?.bind(catalog);
  }

  #open(): Promise<Opened> {
    const opened = this.#openFrame().then((frame) => {
      const pool = new Pool(frame, (status) => this.#onStatus(status));
      this.#pool = pool;
      if (this.#options === undefined) pool.prepare();
      else pool.start(this.#options);
      void frame.lost.then((reason) => this.#replace(pool, reason));
      return { frame, pool };
    });
    opened.catch((error) => this.#break(reasonOf(error)));
    return opened;
  }

  #replace(pool: Pool, reason: string): void {
    this.#pool = undefined;
    pool.close(reason);
    if (++this.#lost >= MAX_LOST) {
      this.#opened = Promise.reject(new Error(reason));
      this.#opened.catch(() => this.#break(`${reason}, ${MAX_LOST} times in a row`));
      return;
    }
    this.#onStatus({ ready: false, pool: 0, snapshot: "none", detail: `${reason}: starting a new one` });
    this.#opened = this.#open();
  }

  #break(detail: string): void {
    this.#broken = { ready: false, pool: 0, snapshot: "none", detail };
    this.#onStatus(this.#broken);
  }

  /** Runs one snippet, in a pristine interpreter or in the session that it names. Rejects only when it can't start: too many runs, no worker, or `signal` aborted first. */
  async run(request: RunRequest, host: RunHost, signal: AbortSignal): Promise<RunOutcome> {
    if (this.#running >= MAX_RUNS) {
      const message = `this page runs ${MAX_RUNS} snippets already, its limit: wait for one to end`;
      throw RpcError.of(Code.busy, "RuntimeError", "BusyError", message);
    }
    this.#running++;
    try {
      const outcome = await (request.session
        ? this.sessions.run(request.session, request, host, signal)
        : this.#runFresh(request, host, signal));
      if (outcome.ok) this.#lost = 0;
      return outcome;
    } finally {
      this.#running--;
      this.#refillAfterAnswer();
    }
  }

  /** The answer leaves first: loading a worker takes a busy machine long. */
  #refillAfterAnswer(): void {
    void this.#opened.then(({ frame, pool }) => frame.after(ANSWER_FIRST_MS, () => pool.refill())).catch(() => {}); // a sandbox that can't open has said so
  }

  async #runFresh(request: RunRequest, host: RunHost, signal: AbortSignal): Promise<RunOutcome> {
    const { frame, pool } = await this.#opened;
    const standby = await pool.take(signal);
    return execute(standby, request, host, frame, signal);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
