/**
 * Gets an interpreter: from pyodide's files as bytes, by one of three ways (see Mode). All three end in the same state, so that a
 * run can't tell them apart but by time.
 */

import { installPython, type PythonHost } from "../python/install.ts";
import { remove } from "./harden.ts";
import type { Init } from "./messages.ts";
import type { AsmModule, LoaderModule, Pyodide, WasmImports } from "./pyodide.ts";

/** What Python sees as module `_toolplane_host`. */
export type HostModule = Required<PythonHost>;

// Names nothing that exists: the files come as bytes, and an attempt to get others must fail, not leave the machine.
const NOWHERE = "https://pyodide.invalid/";

/** Loads or restores pyodide. `wrap` may replace imports of the wasm module before it's instantiated. */
export async function load(init: Init, host: HostModule, wrap: (imports: WasmImports) => void): Promise<Pyodide> {
  const restoreGlobals = provideFiles(init, wrap);
  try {
    const [asm, loader] = (await Promise.all([import(init.asmUrl), import(init.loaderUrl)])) as [
      AsmModule,
      LoaderModule,
    ];
    const pyodide = await loader.loadPyodide({
      indexURL: NOWHERE,
      packageBaseUrl: NOWHERE,
      stdLibURL: `${NOWHERE}python_stdlib.zip`,
      lockFileContents: { info: init.lockInfo, packages: {} },
      createPyodideModule: (settings) => asm.default(settings),
      _makeSnapshot: init.mode === "make",
      ...(init.mode === "restore" && init.base !== undefined ? { _loadSnapshot: init.base } : {}),
      _snapshotDeserializer: (name) => (name === "" ? host : host[name as keyof HostModule]),
    });
    delete pyodide._api.config._loadSnapshot; // a copy of the heap that Python would reach, and memory that nobody needs
    if (init.mode !== "restore") installPython(pyodide, host, init.python);
    return pyodide;
  } finally {
    restoreGlobals();
  }
}

/** The base snapshot. Throws when Python holds a JavaScript object other than the host module and its functions. */
export function makeBase(pyodide: Pyodide, host: HostModule): ArrayBuffer {
  const names = new Map<unknown, string>(Object.entries(host).map(([name, fn]) => [fn, name]));
  names.set(host, "");
  const snapshot = pyodide.makeMemorySnapshot({
    serializer: (object) => {
      const name = names.get(object);
      if (name === undefined) throw new Error(`the base snapshot would hold ${Object.prototype.toString.call(object)}`);
      return name;
    },
  });
  const { buffer, byteOffset, byteLength } = snapshot;
  return byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength);
}

/** pyodide has no option for a compiled module or for files as bytes: for the time of the load, fetch and the compiler hand them out. */
function provideFiles(init: Init, wrap: (imports: WasmImports) => void): () => void {
  const { fetch, WebAssembly } = globalThis;
  const { instantiateStreaming } = WebAssembly;
  // pyodide refuses classic workers, which it tells by trying this. It needs import() only, and that works in ours.
  remove(globalThis, "importScripts");
  globalThis.fetch = async (input) => {
    const url = String(input);
    if (url.endsWith(".wasm")) return new Response(""); // the compiled module stands in for it below
    if (url.endsWith("python_stdlib.zip")) return new Response(init.stdlib);
    throw new TypeError(`the sandbox has no network: ${url}`);
  };
  WebAssembly.instantiateStreaming = async (_source, imports) => {
    wrap(imports as unknown as WasmImports);
    return { instance: await WebAssembly.instantiate(init.module, imports), module: init.module };
  };
  return () => {
    globalThis.fetch = fetch;
    WebAssembly.instantiateStreaming = instantiateStreaming;
  };
}
