/**
 * Saves the whole state of an interpreter, and makes a pristine one take it over: linear memory, stack pointer, the table of JavaScript
 * objects, files and descriptors. Both workers must come from the same base snapshot, which is checked by what would differ otherwise.
 * Only between runs, when no Python is on the stack.
 */

import type { EmscriptenModule } from "./emscripten.ts";
import { raiseEpoch } from "./epoch.ts";
import { listFiles, lostStreams, restoreFiles, type SavedFiles } from "./files.ts";
import type { Described, Relink } from "./relink.ts";

const PAGE_BYTES = 64 * 1024;
/** A new buffer costs several times what a copy does: make it larger than needed, and keep it. */
const SPARE = 1.25;
/** Slot of pyodide's map from objects to slots, and the first one of those that are never given back. */
const DEDUP_SLOT = 1;
const FIRST_IMMORTAL = 7;
/** What the plumbing of the next run needs, in bytes. */
const ROOM = 4 * 1024 * 1024;

/** Cloned from worker to frame, and on to another worker. */
export interface SavedState {
  /** The memory, then the bytes of files. */
  readonly buffer: ArrayBuffer | SharedArrayBuffer;
  readonly heapBytes: number;
  readonly stackPointer: number;
  readonly tableLength: number;
  readonly anchors: readonly number[];
  readonly objects: readonly Described[];
  readonly clones: readonly unknown[];
  readonly dedup: readonly (readonly [slot: number, value: unknown])[];
  readonly immortals: readonly unknown[];
  readonly files: SavedFiles;
}

export interface CheckpointOptions {
  /** Proxies of Python objects that stand at the same address in each worker. */
  readonly anchors: readonly unknown[];
  /** Shared memory isn't moved to the frame and back. */
  readonly shared: boolean;
  /** Why states of this interpreter fit no other one; "" if they do. */
  readonly unfit: string;
}

export class Checkpoint {
  readonly #module: EmscriptenModule;
  readonly #relink: Relink;
  readonly #options: CheckpointOptions;
  readonly #tableLength: number;
  readonly #anchors: readonly number[];
  readonly #immortals: readonly unknown[];
  #buffer: ArrayBuffer | SharedArrayBuffer | undefined;

  /** Of an interpreter that is pristine now. */
  constructor(module: EmscriptenModule, relink: Relink, options: CheckpointOptions) {
    this.#module = module;
    this.#relink = relink;
    this.#options = options;
    this.#tableLength = module.wasmTable.length;
    this.#anchors = options.anchors.map((proxy) => module.PyProxy_getAttrsQuiet(proxy).shared.ptr);
    this.#immortals = this.#listImmortals();
  }

  /** The state now. What the worker did with the buffer of the last one is over: it's used again, unless it was moved. */
  save(): SavedState {
    const { HEAPU8 } = this.#module;
    const heapBytes = this.#heapBytes();
    const files = listFiles(this.#module.FS);
    const buffer = this.#room(heapBytes + files.bytes);
    const bytes = new Uint8Array(buffer);
    bytes.set(HEAPU8.subarray(0, heapBytes));
    const clones: unknown[] = [];
    const slots = this.#listObjects();
    const at = new Map(slots.map((object, slot) => [object, slot]));
    const dedup = this.#dedup();
    return {
      buffer,
      heapBytes,
      stackPointer: this.#module.stackSave(),
      tableLength: this.#module.wasmTable.length,
      anchors: this.#anchors,
      objects: slots.map((object) => this.#relink.describe(object, clones)),
      clones,
      dedup: [...dedup].flatMap(([object, value]) =>
        at.has(object) ? [[at.get(object) as number, value] as const] : [],
      ),
      immortals: this.#listImmortals(),
      files: files.put(bytes, heapBytes),
    };
  }

  /** What has to move with a state that is posted. */
  transfer({ buffer }: SavedState): Transferable[] {
    if (!(buffer instanceof ArrayBuffer)) return [];
    this.#buffer = undefined;
    return [buffer];
  }

  /** A buffer that comes back. */
  reuse(buffer: ArrayBuffer | SharedArrayBuffer): void {
    this.#buffer = buffer;
  }

  /** Takes a state over, in an interpreter that is pristine. Returns what was lost. Throws when the state isn't of the same base. */
  restore(state: SavedState): string[] {
    const module = this.#module;
    if (state.tableLength !== this.#tableLength) throw new Error("its function table has another length");
    if (state.anchors.some((pointer, i) => pointer !== this.#anchors[i])) throw new Error("it comes from another base");
    if (this.#immortals.some((value, i) => value !== state.immortals[i])) throw new Error("its strings differ");
    raiseEpoch();
    if (module.HEAPU8.length < state.heapBytes && !module.growMemory(state.heapBytes)) {
      throw new Error("the memory can't grow to what it needs");
    }
    const saved = new Uint8Array(state.buffer);
    const { HEAPU8 } = module;
    HEAPU8.set(saved.subarray(0, state.heapBytes));
    HEAPU8.fill(0, state.heapBytes);
    this.#restoreObjects(state);
    module.stackRestore(state.stackPointer);
    restoreFiles(module.FS, state.files, saved);
    this.#buffer = state.buffer;
    return state.objects.flatMap((object) => (typeof object === "object" && "lost" in object ? [object.lost] : []));
  }

  /** Bytes of memory and files that a state would have now. */
  bytes(): number {
    return this.#heapBytes() + listFiles(this.#module.FS).bytes;
  }

  /** Why the state that the interpreter has now couldn't be restored elsewhere; "" if it could. */
  trouble(): string {
    if (this.#options.unfit !== "") return this.#options.unfit;
    if (this.#module.wasmTable.length !== this.#tableLength) return "it has loaded native code";
    if (this.#immortals.some((value, i) => value !== this.#immortal(FIRST_IMMORTAL + i)))
      return "pyodide's tables have changed";
    return lostStreams(this.#module.FS);
  }

  /** Whether another run would find the memory that its plumbing needs. */
  hasRoom(): boolean {
    const pointer = this.#module._malloc(ROOM);
    if (pointer === 0) return false;
    this.#module._free(pointer);
    return true;
  }

  #heapBytes(): number {
    const { HEAPU8, HEAPU32 } = this.#module;
    const top = HEAPU32[this.#module._emscripten_get_sbrk_ptr() >>> 2] ?? 0;
    return Math.min(HEAPU8.length, Math.ceil(top / PAGE_BYTES) * PAGE_BYTES);
  }

  #room(bytes: number): ArrayBuffer | SharedArrayBuffer {
    if (this.#buffer === undefined || this.#buffer.byteLength < bytes) {
      this.#buffer = undefined; // first, so that both needn't fit
      const size = Math.ceil((bytes * SPARE) / PAGE_BYTES) * PAGE_BYTES;
      this.#buffer = this.#options.shared ? new SharedArrayBuffer(size) : new ArrayBuffer(size);
    }
    return this.#buffer;
  }

  #dedup(): Map<unknown, unknown> {
    return this.#immortal(DEDUP_SLOT) as Map<unknown, unknown>;
  }

  #immortal(slot: number): unknown {
    try {
      return this.#module.__hiwire_immortal_get(slot);
    } catch {
      return END;
    }
  }

  #listImmortals(): unknown[] {
    return untilEnd((i) => this.#module.__hiwire_immortal_get(FIRST_IMMORTAL + i));
  }

  #listObjects(): unknown[] {
    return untilEnd((i) => this.#module.__hiwire_get(i));
  }

  #restoreObjects({ objects, clones, dedup, immortals }: SavedState): void {
    const module = this.#module;
    const found = objects.map((object) => this.#relink.find(object, clones));
    found.forEach((object, slot) => {
      if (module.__hiwire_set(slot, object) < 0) throw new Error("there is no room for its JavaScript objects");
    });
    for (let n = this.#listImmortals().length; n < immortals.length; n++) module.__hiwire_immortal_add(immortals[n]);
    const map = this.#dedup();
    map.clear();
    for (const [slot, value] of dedup) map.set(found[slot], value);
  }
}

const END = Symbol("end");

function untilEnd(get: (i: number) => unknown): unknown[] {
  const found: unknown[] = [];
  for (;;) {
    try {
      found.push(get(found.length));
    } catch {
      return found;
    }
  }
}
