/** The worker's part in a session: saves the state before each run, and takes over the state of a worker that was ended. */

import type { PythonEntry } from "../python/install.ts";
import { Checkpoint } from "./checkpoint.ts";
import type { EmscriptenModule } from "./emscripten.ts";
import type { FromWorker, Init, SessionRun, ToSessionWorker, WorkerToFrame } from "./messages.ts";
import type { Pyodide, WasmImports } from "./pyodide.ts";
import { Relink } from "./relink.ts";

interface Parts {
  readonly pyodide: Pyodide;
  readonly entry: PythonEntry;
  /** Python's module `_toolplane_host`. */
  readonly host: object;
  readonly init: Init;
  toFrame(message: WorkerToFrame, transfer?: Transferable[]): void;
}

const UNFIT = "Python was loaded without a snapshot, so that no other interpreter is like it";
const MIB = 2 ** 20;
const REAL_TIME = 0;
const SPARE = 1.2;

export class Keeper {
  #parts: Parts | undefined;
  #checkpoint: Checkpoint | undefined;
  #used = false;
  #maxBytes = 0;

  /** Once the interpreter is there, and everything that no snippet may have was taken away. */
  start(parts: Parts): void {
    this.#parts = parts;
  }

  /**
   * Refuses memory beyond what the session may have; the cap of the module itself may be higher. And bases Python's monotonic clocks on
   * one that all workers share, so that they don't jump back when another one takes over.
   */
  watch({ env, wasi_snapshot_preview1: wasi }: WasmImports): void {
    const grow = env.emscripten_resize_heap;
    env.emscripten_resize_heap = (wanted) => {
      const module = this.#module();
      if (this.#maxBytes === 0 || module === undefined) return grow(wanted);
      const bytes = wanted >>> 0;
      if (bytes > this.#maxBytes) return 0;
      // More than asked for, as emscripten does it, so that growing is rare; but never beyond the limit.
      const more = Math.min(this.#maxBytes, Math.max(bytes, module.HEAPU8.length * SPARE));
      return module.growMemory(more) ?? module.growMemory(bytes) ?? 0;
    };
    const read = wasi.clock_time_get;
    wasi.clock_time_get = (clock, precision, result) => {
      const module = this.#module();
      if (clock === REAL_TIME || module === undefined) return read(clock, precision, result);
      const nanoseconds = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6));
      new DataView(module.HEAPU8.buffer).setBigInt64(result >>> 0, nanoseconds, true);
      return 0;
    };
  }

  #module(): EmscriptenModule | undefined {
    return this.#parts?.pyodide._module as EmscriptenModule | undefined;
  }

  /** What a run may use, in MiB. */
  memoryLimit(capMb: number): number {
    return this.#maxBytes > 0 ? Math.min(capMb, Math.floor(this.#maxBytes / MIB)) : capMb;
  }

  /** A run begins. In a session, everything as it's now is saved first. */
  begin(session: SessionRun | undefined): void {
    if (session !== undefined && this.#parts !== undefined) {
      this.#maxBytes = session.maxBytes;
      const checkpoint = this.#open(this.#parts);
      this.#countSave();
      const state = checkpoint.save();
      const saves = this.#countSave();
      this.#parts.toFrame({ t: "state", run: session.run, state, saves }, checkpoint.transfer(state));
    }
    this.#used = true;
  }

  #countSave(): number {
    const flags = this.#parts?.init.flags;
    return flags === undefined ? 0 : Atomics.add(new Int32Array(flags), 1, 1) + 1;
  }

  /** A run in a session is over: what the page has to know of the state. */
  report(): FromWorker & { t: "session" } {
    const checkpoint = this.#checkpoint as Checkpoint;
    return { t: "session", bytes: checkpoint.bytes(), trouble: checkpoint.trouble(), room: checkpoint.hasRoom() };
  }

  hear(message: ToSessionWorker): void {
    if (this.#parts === undefined) return;
    if (message.t === "buffer") this.#checkpoint?.reuse(message.buffer);
    else if (!this.#used) {
      this.#used = true;
      this.#parts.toFrame(this.#restore(this.#parts, message));
    }
  }

  #restore(parts: Parts, { state }: ToSessionWorker & { t: "restore" }): WorkerToFrame {
    try {
      const checkpoint = this.#open(parts);
      if (parts.init.mode !== "restore") throw new Error(UNFIT);
      return { t: "restored", lost: checkpoint.restore(state), problem: "" };
    } catch (error) {
      return { t: "restored", lost: [], problem: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Late: fresh runs need none of it. The interpreter is still pristine then. */
  #open({ pyodide, entry, host, init }: Parts): Checkpoint {
    if (this.#checkpoint === undefined) {
      const { _api: api } = pyodide;
      const own: Record<string, unknown> = {
        "js.globals": api.config.jsglobals,
        pyodide: api.public_api,
        api,
        schedule: api.scheduleCallback,
        abort: api.abortSignalAny,
        host,
      };
      for (const [name, member] of Object.entries(host)) own[`host.${name}`] = member;
      this.#checkpoint = new Checkpoint(pyodide._module as EmscriptenModule, new Relink(own, globalThis), {
        anchors: [entry.start, entry.settle, entry.bind],
        shared: init.flags !== undefined,
        unfit: init.mode === "restore" ? "" : UNFIT,
      });
    }
    return this.#checkpoint;
  }
}
