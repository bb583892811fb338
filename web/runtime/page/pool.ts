/**
 * Keeps workers ready. They are restored from a base snapshot that is made once, or loaded plainly (slower, otherwise the same) where a
 * snapshot can't be made or read.
 */

import type { Mode } from "../sandbox/messages.ts";
import type { Frame } from "./frame-link.ts";
import { Standby } from "./standby.ts";

const LOAD_TIMEOUT_MS = 60_000;
const LOADING_AT_ONCE = 2;
/** Failures one after the other, before a snapshot is given up or loading altogether. */
const MAX_FAILURES = 3;

export interface PoolStatus {
  /** Runs can be taken; false before the first standby is loaded and when loading fails. */
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
  /** Cap on the memory of each interpreter, in MiB; the sandbox's own when missing. */
  readonly maxMemoryMb?: number | undefined;
  /** What Python's bind() takes: bound in every standby. */
  readonly catalog: string;
}

interface Waiter {
  resolve(standby: Standby): void;
  reject(error: Error): void;
}

export class Pool {
  readonly #frame: Frame;
  readonly #onStatus: (status: PoolStatus) => void;
  #options: PoolOptions | undefined;
  #mode: Mode = "make";
  #detail: string | undefined;
  /** With what cancels each one's time limit. */
  readonly #loading = new Map<Standby, () => void>();
  #ready: Standby[] = [];
  #waiting: Waiter[] = [];
  #failures = 0;
  #able = false;
  #closed = false;
  #reported = "";

  /** `onStatus` hears when the pool becomes ready, full, slower or unable; not of each standby that is taken and replaced. */
  constructor(frame: Frame, onStatus: (status: PoolStatus) => void) {
    this.#frame = frame;
    this.#onStatus = onStatus;
  }

  /** Makes the base snapshot, ahead of start(). */
  prepare(): void {
    if (this.#mode === "make" && this.#loading.size === 0) this.#load();
  }

  /** Starts to fill, or goes on with other options. */
  start(options: PoolOptions): void {
    this.#options = options;
    if (options.maxMemoryMb !== undefined) this.#frame.limit(options.maxMemoryMb);
    if (!options.snapshot && this.#mode !== "plain") {
      this.#mode = "plain";
      this.#detail = "snapshots are turned off";
      for (const standby of this.#loading.keys()) this.#drop(standby);
    }
    this.bind(options.catalog);
    this.refill();
  }

  /** New bindings, for the standbys that are there and for all later ones. */
  bind(catalog: string): void {
    if (this.#options !== undefined) this.#options = { ...this.#options, catalog };
    for (const standby of this.#ready) standby.send({ t: "bind", catalog });
  }

  get status(): PoolStatus {
    const pool = this.#ready.length;
    const snapshot = this.#mode === "plain" ? "none" : "memory";
    return { ready: this.#able, pool, snapshot, ...(this.#detail === undefined ? {} : { detail: this.#detail }) };
  }

  /**
   * A ready standby, now or when the next one is loaded, first come first served. Doesn't refill: the caller answers first, then calls
   * refill(). Rejects when `signal` aborts and when workers can't be loaded.
   */
  take(signal: AbortSignal): Promise<Standby> {
    const cancelled = new Error("cancelled while it waited for an interpreter");
    if (signal.aborted) return Promise.reject(cancelled);
    if (this.#closed) return Promise.reject(new Error("the pool is closed"));
    const standby = this.#ready.shift();
    if (standby !== undefined) return Promise.resolve(standby);
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
        reject(cancelled);
      };
      signal.addEventListener("abort", giveUp);
      this.#waiting.push(waiter);
      if (this.#failures >= MAX_FAILURES) this.#failures = 0; // somebody asks: try again
      this.refill();
    });
  }

  /** Starts as many workers as are missing. */
  refill(): void {
    if (this.#closed || this.#options === undefined || this.#failures >= MAX_FAILURES) return;
    const wanted = this.#options.size + this.#waiting.length;
    // The base comes first: workers that load beside it would only slow it down.
    const atOnce = this.#mode === "make" ? 1 : Math.max(LOADING_AT_ONCE, this.#options.size);
    while (this.#loading.size < atOnce && this.#ready.length + this.#loading.size < wanted) this.#load();
  }

  /** Ends all standbys, refuses who waits with `reason`, and is of no more use. */
  close(reason: string): void {
    this.#closed = true;
    for (const standby of this.#loading.keys()) this.#drop(standby);
    for (const standby of this.#ready.splice(0)) standby.end(0);
    this.#refuse(reason);
  }

  #refuse(reason: string): void {
    for (const waiter of this.#waiting.splice(0)) waiter.reject(new Error(reason));
  }

  #load(): void {
    const mode = this.#mode;
    const standby = new Standby(this.#frame, mode, () => {
      this.#drop(standby);
      if (this.#mode === "make") this.#mode = "restore";
      this.#failures = 0;
      this.refill();
    });
    const fail = (message: string): void => {
      this.#drop(standby);
      this.#failed(mode, message);
    };
    const late = (): void => fail(`no answer within ${LOAD_TIMEOUT_MS / 1000} s`);
    this.#loading.set(standby, this.#frame.after(LOAD_TIMEOUT_MS, late));
    let bound = "";
    const bind = (): void => {
      bound = this.#options?.catalog ?? "";
      if (bound !== "") standby.send({ t: "bind", catalog: bound });
      // The answer tells that it's bound, and warms the way that a run's messages take.
      standby.send({ t: "ping" });
    };
    standby.listen((message) => {
      if (message?.t === "ready") bind();
      else if (message?.t === "pong" && bound !== this.#options?.catalog) bind();
      else if (message?.t === "pong") {
        this.#arrived(standby);
        this.#failures = 0;
        this.#welcome(standby);
      }
    }, fail);
  }

  #arrived(standby: Standby): void {
    this.#loading.get(standby)?.();
    this.#loading.delete(standby);
  }

  #drop(standby: Standby): void {
    this.#arrived(standby);
    standby.end(0);
  }

  #welcome(standby: Standby): void {
    const leave = (): void => {
      this.#ready = this.#ready.filter((other) => other !== standby);
      standby.end(0);
      this.refill();
    };
    standby.listen(() => {}, leave);
    this.#able = true;
    const waiter = this.#waiting.shift();
    if (waiter !== undefined) waiter.resolve(standby);
    else this.#ready.push(standby);
    this.#report();
    this.refill();
  }

  #failed(mode: Mode, trace: string): void {
    const message = gist(trace);
    this.#failures++;
    if (mode === "plain") this.#detail = `loading Python failed: ${message}`;
    else if (mode === this.#mode && (mode === "make" || this.#failures >= MAX_FAILURES)) {
      // Underscore APIs of pyodide, or a browser that can't: everything still works without, only slower.
      this.#detail = `${mode === "make" ? "making" : "reading"} the base snapshot failed: ${message}`;
      this.#mode = "plain";
      this.#failures = 0;
    }
    if (this.#failures >= MAX_FAILURES) {
      this.#able = false;
      this.#refuse(this.#detail ?? message);
      this.#report();
    } else this.refill();
  }

  #report(): void {
    const { status } = this;
    const key = JSON.stringify([
      status.ready,
      status.snapshot,
      status.detail,
      status.pool >= (this.#options?.size ?? 0),
    ]);
    if (key === this.#reported) return;
    this.#reported = key;
    this.#onStatus(status);
  }
}

/** What happened, in one line: of a Python error that's the line below its traceback. */
export function gist(trace: string): string {
  const [first = "", ...rest] = trace.split("\n");
  if (!first.endsWith("(most recent call last):")) return first;
  return rest.find((line) => /^\S/.test(line)) ?? first;
}
