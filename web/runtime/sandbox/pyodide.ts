/** What is used of pyodide beyond its public types. Names with an underscore aren't public: the version is pinned, and a plain load is the way back. */

import type { PyodideInterface } from "pyodide";

export interface Pyodide extends PyodideInterface {
  makeMemorySnapshot(options: { serializer(object: unknown): unknown }): Uint8Array<ArrayBuffer>;
  readonly _api: {
    config: { _loadSnapshot?: unknown; jsglobals?: unknown };
    /** What Python has as pyodide_js. */
    public_api: unknown;
    scheduleCallback?: unknown;
    abortSignalAny?: unknown;
  };
  /** See emscripten.ts. */
  readonly _module: unknown;
}

export interface LoadOptions {
  indexURL: string;
  stdLibURL: string;
  packageBaseUrl: string;
  lockFileContents: { info: Readonly<Record<string, string>>; packages: Record<string, never> };
  createPyodideModule(settings: unknown): Promise<unknown>;
  _makeSnapshot: boolean;
  _loadSnapshot?: ArrayBuffer;
  _snapshotDeserializer(data: unknown): unknown;
}

/** pyodide.mjs */
export interface LoaderModule {
  loadPyodide(options: LoadOptions): Promise<Pyodide>;
}

/** pyodide.asm.mjs */
export interface AsmModule {
  default(settings: unknown): Promise<unknown>;
}

/** The imports of pyodide's wasm that are replaced. */
export interface WasmImports {
  env: {
    _Py_CheckEmscriptenSignals_Helper(): number;
    emscripten_get_now?(): number;
    /** 0 when the memory can't grow to that many bytes. */
    emscripten_resize_heap(bytes: number): number | boolean;
  };
  wasi_snapshot_preview1: {
    clock_time_get(clock: number, precision: bigint, result: number): number;
  };
}
