/** Runs what the host asks for: takes a standby for each run, bounds how many run at once, and refills the pool behind them. */

import { Code, RpcError } from "../wire/errors.ts";
import type { RunRequest } from "../wire/methods.ts";
import type { Frame } from "./frame-link.ts";
import { Pool, type PoolOptions, type PoolStatus } from "./pool.ts";
import { execute, later, type RunHost, type RunOutcome } from "./run.ts";

/** Runs at once, each with a worker of 50 to 100 MB, whatever the host asks for. */
const MAX_RUNS = 16;

export class Executor {
  readonly #opened: Promise<{ frame: Frame; pool: Pool }>;
  #onStatus: (status: PoolStatus) => void = () => {};
  #pool: Pool | undefined;
  #broken: PoolStatus | undefined;
  #running = 0;

  /** Makes the base snapshot as soon as the frame is there. start() then fills the pool. */
  constructor(frame: Promise<Frame>) {
    this.#opened = frame.then((opened) => {
      const pool = new Pool(opened, (status) => this.#onStatus(status));
      this.#pool = pool;
      pool.prepare();
      return { frame: opened, pool };
    });
    this.#opened.catch((error) => {
      this.#broken = { ready: false, pool: 0, snapshot: "none", detail: reasonOf(error) };
      this.#onStatus(this.#broken);
    });
  }

  /** Fills the pool, and tells `onStatus` how it is, now and later. */
  start(options: PoolOptions, onStatus: (status: PoolStatus) => void): void {
    this.#onStatus = onStatus;
    if (this.#broken !== undefined) onStatus(this.#broken);
    else if (this.#pool?.status.ready) onStatus(this.#pool.status);
    this.#opened.then(
      ({ pool }) => pool.start(options),
      () => {}, // told by onStatus
    );
  }

  bind(catalog: string): void {
    this.#pool?.bind(catalog);
  }

  /** Runs one snippet in a pristine interpreter. Rejects only when it can't start: too many runs, no worker, or `signal` aborted first. */
  async run(request: RunRequest, host: RunHost, signal: AbortSignal): Promise<RunOutcome> {
    if (this.#running >= MAX_RUNS) {
      const message = `this page runs ${MAX_RUNS} snippets already, its limit: wait for one to end`;
      throw RpcError.of(Code.busy, "RuntimeError", "BusyError", message);
    }
    this.#running++;
    try {
      const { frame, pool } = await this.#opened;
      const standby = await pool.take(signal);
      return await execute(standby, request, host, frame, signal);
    } finally {
      this.#running--;
      later(() => this.#pool?.refill()); // after the answer
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
