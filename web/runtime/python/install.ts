// Loads the Python side into a pyodide instance: once, before the base snapshot is taken.
import type { PyodideInterface } from "pyodide";

/** What Python calls. It's the JavaScript module `_toolplane_host`. */
export interface PythonHost {
  /** A capability call starts. Answered later by `settle(callId, …)`; a throw fails that call only. */
  send(callId: number, name: string, argumentsJson: string): void;
  /** The run is over. Called exactly once for each `start`. */
  finish(resultJson: string): void;
  /** No user code runs any more: stop interrupting. */
  disarm(): void;
  /** The snippet gave up on a call (time limit of its own, cancelled task, end of the run). Optional. */
  cancel?(callId: number): void;
  /** Cap on the interpreter's memory, in MiB. Optional. */
  memory_limit?(): number;
  /** Whether the run printed more than it may, so that writes fail. Optional. */
  output_full?(): boolean;
  /** From now on, until the next run, writes beyond the limit seem to succeed. Optional. */
  drop_output?(): void;
}

/** What Python offers. The proxies stay valid for the interpreter's life. */
export interface PythonEntry {
  start(requestJson: string, seed: boolean): void;
  settle(callId: number, ok: boolean, payloadJson: string): void;
  bind(catalogJson: string): void;
}

export interface PythonSources {
  /** Text of the manifest's `loader`. */
  loader: string;
  /** Module name and source, in the manifest's order. */
  modules: ReadonlyArray<readonly [name: string, source: string]>;
}

/** Registers the host module and runs the bootstrap. Leaves nothing in the snippet's globals. */
export function installPython(py: PyodideInterface, host: PythonHost, sources: PythonSources): void {
  py.registerJsModule("_toolplane_host", host);
  const scope = py.toPy({});
  try {
    const load = py.runPython(sources.loader, { globals: scope });
    load(JSON.stringify(sources.modules));
    load.destroy();
  } finally {
    scope.destroy();
  }
}

/** The entry points, after `installPython` or after a snapshot that holds it was restored. */
export function pythonEntry(py: PyodideInterface): PythonEntry {
  const module = py.pyimport("_toolplane.run");
  const entry: PythonEntry = { start: module.start.copy(), settle: module.settle.copy(), bind: module.bind.copy() };
  module.destroy();
  return entry;
}
