/** Fetches what the sandbox needs. The digests come from the build, so that browsers may keep the files for good. */

import type { PythonSources } from "../python/install.ts";
import type { Assets } from "../sandbox/messages.ts";

/** Set by web/build.mjs: digest by file name, and pyodide's lock file info. */
declare const DIGESTS: Readonly<Record<string, string>>;
declare const LOCK_INFO: Readonly<Record<string, string>>;

/** Address of a built file, relative to the page. */
export function assetUrl(name: string): string {
  const digest = DIGESTS[name];
  return digest === undefined ? name : `${name}?v=${digest.slice(0, 16)}`;
}

export async function fetchAssets(): Promise<Assets> {
  const [wasm, stdlib, asm, loader, worker, python] = await Promise.all([
    get("pyodide/pyodide.asm.wasm").then((r) => r.arrayBuffer()),
    get("pyodide/python_stdlib.zip").then((r) => r.arrayBuffer()),
    get("pyodide/pyodide.asm.mjs").then((r) => r.text()),
    get("pyodide/pyodide.mjs").then((r) => r.text()),
    get("worker.js").then((r) => r.text()),
    get("python.json").then((r) => r.json() as Promise<PythonSources>),
  ]);
  return { wasm, stdlib, asm, loader, worker, python, lockInfo: LOCK_INFO };
}

async function get(name: string): Promise<Response> {
  const response = await fetch(assetUrl(name));
  if (!response.ok) throw new Error(`${name}: the host answered ${response.status}`);
  return response;
}
