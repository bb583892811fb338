/**
 * The sandboxed frame: opaque origin, no network, no storage. Compiles pyodide once, keeps the base snapshot, starts and ends workers, and
 * keeps time for the page. Its script is inline and allowed by hash, because a policy that names a URL lets Python send data in its query.
 */

import type { SavedState } from "./checkpoint.ts";
import type { FromFrame, Init, Mode, ToFrame, ToSessionWorker, WorkerToFrame } from "./messages.ts";
import { capMemory } from "./wasm-memory.ts";

interface Running {
  readonly worker: Worker;
  readonly flags: Int32Array<SharedArrayBuffer> | undefined;
  readonly mode: Mode;
  stopped: boolean;
  onStopped: () => void;
  forged: number;
  /** What a session's worker saved before its run of that number. */
  saved: { readonly run: number; readonly state: SavedState; readonly saves: number } | undefined;
  onSaved: () => void;
  onRestored: (lost: readonly string[], problem: string) => void;
}

type WorkerParts = Pick<Init, "stdlib" | "asmUrl" | "loaderUrl" | "python" | "lockInfo"> & {
  workerUrl: string;
  wasm: ArrayBuffer;
};

/** pyodide, compiled with a cap on its memory. */
type Compiled = Pick<Init, "module" | "maxMemoryMb">;

/** Until the host says which. */
const DEFAULT_MEMORY_MB = 512;

const MAX_WORKERS = 64;
const MAX_FORGED = 100;

let control: MessagePort;
let parts: WorkerParts | undefined;
let compiled: Promise<Compiled> | undefined;
let base: ArrayBuffer | undefined;
const workers = new Map<number, Running>();

function tell(message: FromFrame): void {
  control.postMessage(message);
}

function blobUrl(source: string): string {
  return URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
}

// Timers of a hidden page and its frames are held back to 1 s, those of workers aren't.
const CLOCK = `
const timers = new Map();
onmessage = ({ data: [id, ms] }) => {
  clearTimeout(timers.get(id));
  timers.delete(id);
  if (ms >= 0) timers.set(id, setTimeout(() => { timers.delete(id); postMessage(id); }, ms));
};`;
const clock = new Worker(blobUrl(CLOCK));
const alarms = new Map<number, () => void>();
clock.onmessage = ({ data }: MessageEvent<number>) => {
  const ring = alarms.get(data);
  alarms.delete(data);
  ring?.();
};
function alarm(id: number, ms: number, ring: () => void): void {
  alarms.set(id, ring);
  clock.postMessage([id, ms]);
}
function disarm(id: number): void {
  alarms.delete(id);
  clock.postMessage([id, -1]);
}

async function boot({ assets }: ToFrame & { t: "boot" }): Promise<void> {
  const started = performance.now();
  parts = {
    wasm: assets.wasm,
    stdlib: assets.stdlib,
    python: assets.python,
    lockInfo: assets.lockInfo,
    asmUrl: blobUrl(assets.asm),
    loaderUrl: blobUrl(assets.loader),
    workerUrl: blobUrl(assets.worker),
  };
  compiled = compile(assets.wasm, DEFAULT_MEMORY_MB);
  await compiled;
  tell({ t: "booted", isolated: self.crossOriginIsolated, compileMs: performance.now() - started });
}

/** Compiles pyodide with a cap. The bytes are kept as they came: a later cap may be higher. */
async function compile(wasm: ArrayBuffer, maxMemoryMb: number): Promise<Compiled> {
  const capped = new Uint8Array(wasm.slice(0));
  capMemory(capped, maxMemoryMb);
  return { module: await WebAssembly.compile(capped), maxMemoryMb };
}

/** Takes 50 ms or so, once, and nothing when the cap is what it was. Workers that are started meanwhile wait for it. */
async function limit({ maxMemoryMb }: ToFrame & { t: "limit" }): Promise<void> {
  if (parts === undefined || compiled === undefined) throw new Error("limit before boot");
  const { wasm } = parts;
  const before = compiled;
  compiled = before.then((current) => (current.maxMemoryMb === maxMemoryMb ? current : compile(wasm, maxMemoryMb)));
  await compiled;
}

function spawn({ id, mode }: ToFrame & { t: "spawn" }, port: MessagePort | undefined): void {
  if (parts === undefined || compiled === undefined || port === undefined) throw new Error("spawn before boot");
  if (workers.size >= MAX_WORKERS) return tell({ t: "failed", id, message: `more than ${MAX_WORKERS} workers` });
  if (mode === "restore" && base === undefined) return tell({ t: "failed", id, message: "there is no base snapshot" });
  const { workerUrl, wasm: _, ...init } = parts;
  const worker = new Worker(workerUrl);
  const flags = self.crossOriginIsolated ? new Int32Array(new SharedArrayBuffer(8)) : undefined;
  const running: Running = {
    worker,
    flags,
    mode,
    stopped: false,
    onStopped: () => {},
    forged: 0,
    saved: undefined,
    onSaved: () => {},
    onRestored: () => {},
  };
  workers.set(id, running);
  worker.onerror = (event) => {
    event.preventDefault();
    tell({ t: "failed", id, message: event.message || "the worker's script failed" });
  };
  worker.onmessage = ({ data }) => hear(id, running, data);
  compiled.then(
    (capped) => {
      if (workers.get(id) !== running) return; // it was ended meanwhile
      // A base snapshot that workers shared could be poisoned by one for all others: each gets a copy of its own.
      const own = mode === "restore" ? base?.slice(0) : undefined;
      const message: Init = {
        ...init,
        ...capped,
        t: "init",
        mode,
        port,
        ...(flags === undefined ? {} : { flags: flags.buffer }),
        ...(own === undefined ? {} : { base: own }),
      };
      worker.postMessage(message, own === undefined ? [port] : [port, own]);
    },
    (error) => tell({ t: "failed", id, message: `pyodide can't be compiled: ${error?.message ?? error}` }),
  );
}

/** A worker's message. It may say anything, so only what harms nobody but itself is acted on. */
function hear(id: number, running: Running, message: unknown): void {
  const data = (typeof message === "object" && message !== null ? message : {}) as Partial<Record<string, unknown>>;
  const kind = data.t as WorkerToFrame["t"] | undefined;
  if (kind === "stopped") {
    running.stopped = true;
    running.onStopped();
  } else if (kind === "failed" && typeof data.message === "string") {
    running.onRestored([], data.message.slice(0, 2000));
    tell({ t: "failed", id, message: data.message.slice(0, 2000) });
  } else if (kind === "state" && isState(data.state) && typeof data.run === "number") {
    running.saved = { run: data.run, state: data.state, saves: Number(data.saves) };
    running.onSaved();
  } else if (kind === "restored" && Array.isArray(data.lost) && typeof data.problem === "string") {
    running.onRestored(data.lost.map(String), data.problem.slice(0, 2000));
  } else if (kind === "base" && running.mode === "make" && base === undefined && data.base instanceof ArrayBuffer) {
    base = data.base; // made before any snippet ran
    tell({ t: "base", id, bytes: base.byteLength });
  } else if (++running.forged > MAX_FORGED) {
    // It could keep this thread busy for as long as it likes.
    workers.delete(id);
    kill(running);
    tell({ t: "failed", id, message: "the worker flooded its frame with messages" });
  } else tell({ t: "forged", id });
}

function kill({ worker }: Running): void {
  worker.onmessage = worker.onerror = null;
  worker.terminate();
}

async function end({ id, patience }: ToFrame & { t: "end" }): Promise<void> {
  const running = workers.get(id);
  if (running === undefined) return;
  workers.delete(id);
  if (patience > 0 && running.flags !== undefined && !running.stopped) {
    Atomics.store(running.flags, 0, 1);
    await new Promise<void>((resolve) => {
      running.onStopped = resolve;
      alarm(-id, patience, resolve);
    });
    disarm(-id);
  }
  kill(running);
}

/** Enough to hand it on: a worker that takes it over trusts it as little as the one that it's from. */
function isState(state: unknown): state is SavedState {
  const { buffer } = (typeof state === "object" && state !== null ? state : {}) as Partial<SavedState>;
  return (
    buffer instanceof ArrayBuffer || (typeof SharedArrayBuffer === "function" && buffer instanceof SharedArrayBuffer)
  );
}

/** How long a state may be on its way here, and how long a worker may take to take it over. */
const SAVE_PATIENCE_MS = 500;
const RESTORE_PATIENCE_MS = 20_000;

async function swap({ from, to, run, patience }: ToFrame & { t: "swap" }): Promise<void> {
  let older = false;
  const answer = (problem: string, lost: readonly string[] = []): void =>
    tell({ t: "swapped", id: to, lost, problem, older });
  const old = workers.get(from);
  const next = workers.get(to);
  if (old === undefined || next === undefined) return answer("its worker is gone");
  if (old.saved?.run !== run) {
    await new Promise<void>((resolve) => {
      old.onSaved = resolve;
      alarm(-to, SAVE_PATIENCE_MS, resolve);
    });
    disarm(-to);
  }
  const { saved } = old;
  await end({ t: "end", id: from, patience });
  if (saved === undefined) return answer("its state was never saved");
  if (old.flags !== undefined && Atomics.load(old.flags, 1) !== saved.saves)
    return answer("its worker ended while it saved its state");
  older = saved.run !== run;
  const { state } = saved;
  const message: ToSessionWorker = { t: "restore", state };
  await new Promise<void>((resolve) => {
    next.onRestored = (lost, problem) => {
      answer(problem, lost);
      resolve();
    };
    alarm(-to, RESTORE_PATIENCE_MS, () => next.onRestored([], "the worker that was to take it over doesn't answer"));
    next.worker.postMessage(message, state.buffer instanceof ArrayBuffer ? [state.buffer] : []);
  });
  disarm(-to);
  next.onRestored = () => {};
}

function release({ id, run }: ToFrame & { t: "release" }): void {
  const running = workers.get(id);
  if (running?.saved === undefined || running.saved.run > run) return;
  const { buffer } = running.saved.state;
  if (!(buffer instanceof ArrayBuffer)) return; // nothing to give back: it's kept until there's a newer one
  running.saved = undefined;
  const message: ToSessionWorker = { t: "buffer", buffer };
  running.worker.postMessage(message, [buffer]);
}

async function obey(message: ToFrame, ports: readonly MessagePort[]): Promise<void> {
  switch (message.t) {
    case "boot":
      return boot(message);
    case "limit":
      return limit(message);
    case "spawn":
      return spawn(message, ports[0]);
    case "end":
      return end(message);
    case "swap":
      return swap(message);
    case "release":
      return release(message);
    case "alarm":
      return alarm(message.id, message.ms, () => tell({ t: "alarm", id: message.id }));
    case "disarm":
      return disarm(message.id);
  }
}

function connect(event: MessageEvent<{ t?: string } | null>): void {
  const port = event.ports[0];
  if (event.source !== parent || event.data?.t !== "connect" || port === undefined) return;
  removeEventListener("message", connect);
  control = port;
  control.onmessage = ({ data, ports }: MessageEvent<ToFrame>) => {
    obey(data, ports).catch((error) =>
      tell({ t: "fault", message: `${data.t}: ${error?.stack ?? error}`.slice(0, 2000) }),
    );
  };
}
addEventListener("message", connect);
parent.postMessage({ t: "frame-ready" }, "*");
