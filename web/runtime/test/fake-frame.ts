/** A frame without a browser: workers are what the test makes of them, messages arrive at once, and time passes when the test says so. */

import type { Frame, SpawnedWorker, Swapped, WorkerEvents } from "../page/frame-link.ts";
import { ANSWER_FIRST_MS } from "../page/run.ts";
import type { FromWorker, Mode, ToWorker } from "../sandbox/messages.ts";

export class FakeWorker {
  readonly id: number;
  readonly mode: Mode;
  readonly events: WorkerEvents;
  /** What the page sent, in order. */
  readonly received: ToWorker[] = [];
  /** The patience with which it was ended, or null while it runs. */
  ended: number | null = null;
  /** Called for each message of the page. */
  onMessage: (message: ToWorker) => void = () => {};
  readonly port: FakePort;

  constructor(id: number, mode: Mode, events: WorkerEvents) {
    this.id = id;
    this.mode = mode;
    this.events = events;
    this.port = new FakePort((message) => {
      this.received.push(message);
      this.onMessage(message);
    });
  }

  /** Sends anything to the page. */
  says(data: unknown, ports: readonly { close(): void }[] = []): void {
    this.port.onmessage?.({ data, ports });
  }

  /** Loads as a real worker does: is ready, and answers pings. */
  load(): void {
    this.onMessage = (message) => {
      if (message.t === "ping") this.says({ t: "pong" } satisfies FromWorker);
    };
    this.says({ t: "ready", loadMs: 1 } satisfies FromWorker);
  }

  last<T extends ToWorker["t"]>(kind: T): ToWorker & { t: T } {
    const found = this.received.findLast((message) => message.t === kind);
    if (found === undefined) throw new Error(`the page sent no ${kind}`);
    return found as ToWorker & { t: T };
  }
}

class FakePort {
  onmessage: ((event: { data: unknown; ports: readonly { close(): void }[] }) => void) | null = null;
  onmessageerror: (() => void) | null = null;
  closed = false;
  readonly #sent: (message: ToWorker) => void;

  constructor(sent: (message: ToWorker) => void) {
    this.#sent = sent;
  }

  postMessage(message: ToWorker): void {
    this.#sent(structuredClone(message));
  }

  close(): void {
    this.closed = true;
  }
}

export class FakeFrame implements Frame {
  readonly workers: FakeWorker[] = [];
  /** Called for each new worker, once the page can hear it. */
  onSpawn: (worker: FakeWorker) => void = () => {};
  readonly #alarms = new Map<number, { ms: number; callback: () => void }>();
  readonly lost: Promise<string>;
  #resolveLost: (reason: string) => void = () => {};
  #next = 1;
  #onEnded: (() => void)[] = [];

  constructor() {
    this.lost = new Promise((resolve) => {
      this.#resolveLost = resolve;
    });
  }

  /** The frame's process dies. */
  die(): void {
    for (const worker of this.alive()) worker.events.onFailed("the sandbox's process died");
    this.#resolveLost("the sandbox's process died");
  }

  spawn(mode: Mode, events: WorkerEvents): SpawnedWorker {
    const worker = new FakeWorker(this.#next++, mode, events);
    this.workers.push(worker);
    queueMicrotask(() => this.onSpawn(worker));
    return { id: worker.id, port: worker.port as unknown as MessagePort };
  }

  /** Caps on memory that the page asked for. */
  readonly limits: number[] = [];
  limit(maxMemoryMb: number): void {
    this.limits.push(maxMemoryMb);
  }

  end(id: number, patience: number): void {
    const worker = this.workers.find((w) => w.id === id);
    if (worker !== undefined) worker.ended ??= patience;
    for (const wake of this.#onEnded.splice(0)) wake();
  }

  /** What became of swaps, in order; success when there's nothing. */
  readonly outcomes: (Swapped | Promise<Swapped>)[] = [];
  readonly swaps: { from: number; to: number; run: number; patience: number }[] = [];
  async swap(from: number, to: number, run: number, patience: number): Promise<Swapped> {
    this.swaps.push({ from, to, run, patience });
    this.end(from, patience);
    return this.outcomes.shift() ?? { problem: "", lost: [], older: false };
  }

  readonly released: { id: number; run: number }[] = [];
  release(id: number, run: number): void {
    this.released.push({ id, run });
  }

  after(ms: number, callback: () => void): () => void {
    const id = this.#next++;
    this.#alarms.set(id, { ms, callback });
    if (ms === ANSWER_FIRST_MS) setImmediate(() => this.ring(ms));
    return () => this.#alarms.delete(id);
  }

  /** Lets all alarms of `ms` ring and returns how many those were. */
  ring(ms: number): number {
    const due = [...this.#alarms].filter(([, alarm]) => alarm.ms === ms);
    for (const [id, { callback }] of due) {
      this.#alarms.delete(id);
      callback();
    }
    return due.length;
  }

  get pendingAlarms(): number {
    return this.#alarms.size;
  }

  /** Resolves once `worker` was ended. */
  async hasEnded(worker: FakeWorker): Promise<void> {
    while (worker.ended === null) await new Promise<void>((resolve) => this.#onEnded.push(resolve));
  }

  alive(): FakeWorker[] {
    return this.workers.filter(({ ended }) => ended === null);
  }
}
