/** Runs what the host asks for: takes a standby for each run, bounds how many run at once, and refills the pool behind them. */

import { Code, RpcError } from "../wire/errors.ts";
import type { RunRequest } from "../wire/methods.ts";
import type { Frame } from "./frame-link.ts";
import { Pool, type PoolOptions, type PoolStatus } from "./pool.ts";
import { execute, later, type RunHost, type RunOutcome } from "./run.ts";

/** Runs at once, each with a worker of 50 to 100 MB, whatever the host asks for. */
const MAX_RUNS = 16;

export class Executor {
  readonly #frame: Frame;
  readonly #pool: Pool;
  #running = 0;

  constructor(frame: Frame, options: PoolOptions) {
    this.#frame = frame;
    this.#pool = new Pool(frame, options);
  }

  get status(): PoolStatus {
    return this.#pool.status;
  }

  /** Makes the base snapshot; start() then fills the pool. */
  prepare(): void {
    this.#pool.prepare();
  }

  start(catalog: string): void {
    this.#pool.start(catalog);
  }

  bind(catalog: string): void {
    this.#pool.bind(catalog);
  }

  close(): void {
    this.#pool.close();
  }

  /** Runs one snippet in a pristine interpreter. Rejects only when it can't start: too many runs, no worker, or `signal` aborted first. */
  async run(request: RunRequest, host: RunHost, signal: AbortSignal): Promise<RunOutcome> {
    if (this.#running >= MAX_RUNS) {
      const message = `this page runs ${MAX_RUNS} snippets already, its limit: wait for one to end`;
      throw RpcError.of(Code.busy, "RuntimeError", "BusyError", message);
    }
    this.#running++;
    try {
      const standby = await this.#pool.take(signal);
      return await execute(standby, request, host, this.#frame, signal);
    } finally {
      this.#running--;
      later(() => this.#pool.refill()); // after the answer
    }
  }
}
