/**
 * Standbys: workers with a pristine interpreter, each good for one run. The pool keeps `size` of them ready, restored from a base snapshot
 * that is made once, and loads them plainly (slower, otherwise the same) where a snapshot can't be made or read.
 */

import type { FromWorker, Mode, ToWorker } from "../sandbox/messages.ts";
import type { Frame } from "./frame-link.ts";
import { readWorkerMessage } from "./worker-messages.ts";

const LOAD_TIMEOUT_MS = 60_000;
const LOADING_AT_ONCE = 2;
const MAX_FAILURES = 3;

export interface PoolStatus {
  readonly ready: boolean;
  /** Standbys that are ready now. */
  readonly pool: number;
  readonly snapshot: "memory" | "none";
  /** Why it isn't ready, or slower than it could be. */
  readonly detail?: string;
}

export interface PoolOptions {
  /** Standbys to keep ready, at least 1. */
  readonly size: number;
  /** false loads every worker plainly. */
  readonly snapshot: boolean;
  onStatus(status: PoolStatus): void;
}

/** One worker, from its start to its end. It belongs to the pool until it's taken, then to the run that took it. */
export class Standby {
  readonly id: number;
  readonly port: MessagePort;
  readonly #frame: Frame;
  #onMessage: (message: FromWorker | null) => void = () => {};
  #onFailed: (message: string) => void = () => {};
  #ended = false;

  constructor(frame: Frame, mode: Mode, onBase?: (bytes: number) => void) {
    this.#frame = frame;
    const { id, port } = frame.spawn(mode, {
      ...(onBase === undefined ? {} : { onBase }),
      onFailed: (message) => this.#onFailed(message),
      onForged: () => this.#onMessage(null),
    });
    this.id = id;
    this.port = port;
    port.onmessage = ({ data, ports }) => this.#onMessage(readWorkerMessage(data, ports));
    port.onmessageerror = () => this.#onMessage(null);
  }

  /** Who hears the worker from now on: valid messages, null for each forged one, and its failure. */
  listen(onMessage: (message: FromWorker | null) => void, onFailed: (message: string) => void): void {
    this.#onMessage = onMessage;
    this.#onFailed = onFailed;
  }

  send(message: ToWorker): void {
    if (!this.#ended) this.port.postMessage(message);
  }

  /** Ends the worker; what it still sends is dropped. `patience` in ms > 0 when it may be busy. */
  end(patience: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.port.onmessage = this.port.onmessageerror = null;
    this.port.close();
    this.listen(
      () => {},
      () => {},
    );
    this.#frame.end(this.id, patience);
  }
}

interface Waiter {
  resolve(standby: Standby): void;
  reject(error: Error): void;
}

export class Pool {
  readonly #frame: Frame;
  readonly #options: PoolOptions;
  #mode: Mode;
  #detail: string | undefined;
  #catalog: string | undefined;
  #loading = new Set<Standby>();
  #ready: Standby[] = [];
  #waiting: Waiter[] = [];
  #failures = 0;
  #closed = false;
  #reported = "";

  constructor(frame: Frame, options: PoolOptions) {
    this.#frame = frame;
    this.#options = options;
    this.#mode = options.snapshot ? "make" : "plain";
    if (!options.snapshot) this.#detail = "snapshots are turned off";
  }

  /** Starts to fill. `catalog` is bound in every standby. */
  start(catalog: string): void {
    this.#catalog = catalog;
    this.refill();
  }

  /** Makes the base snapshot ahead of start(), while the page still waits for its orders. */
  prepare(): void {
    if (this.#mode === "make" && this.#loading.size === 0) this.#load();
  }

  /** New bindings, for the standbys that are there and for all later ones. */
  bind(catalog: string): void {
    this.#catalog = catalog;
    for (const standby of [...this.#ready, ...this.#loading]) standby.send({ t: "bind", catalog });
  }

  get status(): PoolStatus {
    const ready = this.#failures < MAX_FAILURES && this.#ready.length > 0;
    const snapshot = this.#mode === "plain" ? "none" : "memory";
    const detail = this.#detail === undefined ? {} : { detail: this.#detail };
    return { ready, pool: this.#ready.length, snapshot, ...detail };
  }

  /**
   * A ready standby, now or when the next one is loaded, first come first served. Doesn't refill: the caller answers first, then calls refill().
   * Rejects when `signal` aborts and when workers can't be loaded.
   */
  take(signal: AbortSignal): Promise<Standby> {
    const standby = this.#ready.shift();
    if (standby !== undefined) return Promise.resolve(standby);
    if (this.#closed) return Promise.reject(new Error("the pool is closed"));
    return new Promise<Standby>((resolve, reject) => {
      const waiter: Waiter = {
        resolve: (taken) => {
          signal.removeEventListener("abort", giveUp);
          resolve(taken);
        },
        reject: (error) => {
          signal.removeEventListener("abort", giveUp);
          reject(error);
        },
      };
      const giveUp = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(new Error("cancelled while waiting for a worker"));
      };
      signal.addEventListener("abort", giveUp);
      this.#waiting.push(waiter);
      if (this.#failures >= MAX_FAILURES) this.#failures = 0; // somebody asks: try again
      this.refill();
    });
  }

  /** Starts as many workers as are missing. */
  refill(): void {
    if (this.#closed || this.#catalog === undefined || this.#failures >= MAX_FAILURES) return;
    const wanted = this.#options.size + this.#waiting.length;
    // The base comes first: workers that load beside it would only slow it down.
    const atOnce = this.#mode === "make" ? 1 : Math.max(LOADING_AT_ONCE, this.#options.size);
    while (this.#loading.size < atOnce && this.#ready.length + this.#loading.size < wanted) this.#load();
  }

  /** Ends all standbys and refuses those who wait. */
  close(): void {
    this.#closed = true;
    for (const standby of [...this.#ready, ...this.#loading]) standby.end(0);
    this.#ready = [];
    this.#loading.clear();
    this.#refuse("the pool is closed");
  }

  #load(): void {
    const mode = this.#mode;
    const done = (): void => {
      cancelTimeout();
      this.#loading.delete(standby);
    };
    const standby = new Standby(this.#frame, mode, () => {
      done();
      standby.end(0);
      if (this.#mode === "make") this.#mode = "restore";
      this.refill();
    });
    const fail = (message: string): void => {
      done();
      standby.end(0);
      this.#failed(mode, message);
    };
    const cancelTimeout = this.#frame.after(LOAD_TIMEOUT_MS, () =>
      fail(`no answer within ${LOAD_TIMEOUT_MS / 1000} s`),
    );
    this.#loading.add(standby);
    standby.listen((message) => {
      // After its load it answers one ping, which warms the way that a run's messages take.
      if (message?.t === "ready") {
        if (this.#catalog !== undefined) standby.send({ t: "bind", catalog: this.#catalog });
        standby.send({ t: "ping" });
      } else if (message?.t === "pong") {
        done();
        this.#failures = 0;
        this.#welcome(standby);
      }
    }, fail);
  }

  #welcome(standby: Standby): void {
    standby.listen(
      () => {},
      () => {
        this.#ready = this.#ready.filter((other) => other !== standby);
        standby.end(0);
        this.refill();
      },
    );
    const waiter = this.#waiting.shift();
    if (waiter !== undefined) waiter.resolve(standby);
    else this.#ready.push(standby);
    this.#report();
    this.refill();
  }

  #failed(mode: Mode, message: string): void {
    if (mode !== "plain") {
      // Underscore APIs of pyodide, or a browser that can't: everything still works without, only slower.
      if (this.#mode !== "plain")
        this.#detail = `${mode === "make" ? "making" : "reading"} the base snapshot failed: ${message}`;
      this.#mode = "plain";
      this.refill();
      return;
    }
    this.#failures++;
    this.#detail = `loading Python failed: ${message}`;
    if (this.#failures < MAX_FAILURES) {
      this.refill();
      return;
    }
    this.#refuse(this.#detail);
    this.#report();
  }

  #refuse(reason: string): void {
    for (const waiter of this.#waiting.splice(0)) waiter.reject(new Error(reason));
  }

  /** Tells when it became ready or stopped being so; not each time that a standby is taken and replaced. */
  #report(): void {
    const status = this.status;
    const key = JSON.stringify([status.ready, status.snapshot, status.detail]);
    if (key === this.#reported && status.pool !== this.#options.size) return;
    this.#reported = key;
    this.#options.onStatus(status);
  }
}
