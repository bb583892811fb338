/**
 * A classic blob worker with one interpreter, for one run or for those of one session. Talks to the page through its own port and to the frame through `self`.
 * Python reaches every global here: nothing that this file sends is believed by anyone, and nothing in here is secret.
 */

import { pythonEntry } from "../python/install.ts";
import { guardFinalizers } from "./epoch.ts";
import { type CappedFileSystem, FileCap } from "./file-cap.ts";
import { harden } from "./harden.ts";
import { Keeper } from "./keeper.ts";
import { type HostModule, load, makeBase } from "./load.ts";
import type { FromWorker, Init, ToSessionWorker, ToWorker, WorkerToFrame } from "./messages.ts";
import { Output } from "./output.ts";
import { Stop } from "./stop.ts";

interface Scope {
  postMessage(message: WorkerToFrame, transfer?: Transferable[]): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
}
const scope = globalThis as unknown as Scope;
const toFrame: Scope["postMessage"] = scope.postMessage.bind(scope);

const WARM_UP = JSON.stringify({
  code: "pass",
  filename: "<warm-up>",
  inputs: {},
  limits: { max_depth: 512, max_calls: 1, max_calls_in_flight: 1 },
});

function fail(error: unknown): void {
  toFrame({
    t: "failed",
    message: String(error instanceof Error ? (error.stack ?? error) : error).slice(0, 2000),
  });
}

async function main(init: Init, keeper: Keeper): Promise<void> {
  const started = performance.now();
  const { port } = init;
  const post = (message: FromWorker): void => port.postMessage(message);
  const stop = new Stop(init.flags === undefined ? null : new Int32Array(init.flags), () => {
    output.flush();
    port.onmessage = null; // this interpreter is no more: a message that waits already must not find it
    toFrame({ t: "stopped" });
  });
  const output = new Output((stream, text) => post({ t: "output", stream, text }));

  let finished: (json: string) => void = () => {};
  const host: HostModule = {
    send: (id, name, args) => post({ t: "call", id, name, arguments: args }),
    finish: (json) => finished(json),
    disarm: () => stop.disarm(),
    cancel: (id) => post({ t: "cancel", id }),
    memory_limit: () => keeper.memoryLimit(init.maxMemoryMb),
    output_full: () => output.truncated,
    drop_output: () => output.drop(),
  };

  const pyodide = await load(init, host, (imports) => {
    const { env } = imports;
    keeper.watch(imports);
    env._Py_CheckEmscriptenSignals_Helper = () => stop.signal();
    const now = env.emscripten_get_now;
    if (now !== undefined) {
      // time.sleep spins on the clock: here it can be stopped, too.
      env.emscripten_get_now = () => {
        stop.check();
        return now();
      };
    }
  });
  if (init.mode === "make") {
    const base = makeBase(pyodide, host);
    toFrame({ t: "base", base }, [base]);
    return;
  }

  const files = new FileCap(pyodide.FS as unknown as CappedFileSystem, init.maxMemoryMb * 2 ** 20);
  pyodide.setStdout(output.writer("stdout"));
  pyodide.setStderr(output.writer("stderr"));
  // Turns on CPython's question for signals. The replaced import answers it; pyodide's own helper, which reads the buffer, isn't called.
  pyodide.setInterruptBuffer(new Uint8Array(1));
  const entry = pythonEntry(pyodide);
  harden(globalThis);

  const onStray = (event: Event): void => {
    event.preventDefault();
    if (stop.resting) return;
    const { reason, error = reason, message } = event as PromiseRejectionEvent & ErrorEvent;
    // An exception in a callback is the snippet's own; all else comes from an interpreter that dies.
    if (error?.name === "PythonError") output.print("stderr", `${error.message}\n`);
    else fail(error ?? message);
  };
  scope.addEventListener("error", onStray);
  scope.addEventListener("unhandledrejection", onStray);

  // One empty run, so that the first real one doesn't pay for cold code.
  await new Promise<void>((resolve) => {
    finished = () => resolve();
    entry.start(WARM_UP, false);
  });

  keeper.start({ pyodide, entry, host, init, toFrame });
  let inSession = false;
  let idle: ReturnType<typeof setTimeout> | undefined;
  finished = (json) => {
    stop.rest();
    clearTimeout(idle);
    output.flush();
    if (inSession) post(keeper.report());
    post({ t: "result", json, truncated: output.truncated });
  };
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => {
    switch (data.t) {
      case "ping":
        post({ t: "pong" });
        break;
      case "bind":
        entry.bind(data.catalog);
        break;
      case "settle":
        entry.settle(data.id, data.ok, data.payload);
        break;
      case "run":
        output.reset(data.maxOutput);
        inSession = data.session !== undefined;
        try {
          keeper.begin(data.session);
        } catch (error) {
          return fail(error);
        }
        files.recount();
        stop.arm(data.timeout, data.grace);
        // Runs only while Python waits for something; then there's no loop that a signal could reach.
        idle = setTimeout(
          () => {
            if (!stop.resting) post({ t: "idle" });
          },
          Math.min(data.timeout, 2 ** 31 - 1),
        );
        entry.start(data.request, data.session?.first ?? true);
    }
  };
  post({ t: "ready", loadMs: performance.now() - started });
}

let keeper: Keeper | undefined;
guardFinalizers(globalThis);
// With it, runs that are ended the hard way leave stray errors.
Reflect.deleteProperty(WebAssembly, "Suspending");

scope.addEventListener("message", (event) => {
  const { data, isTrusted } = event as MessageEvent<Init | ToSessionWorker>;
  if (!isTrusted) return; // a snippet made it up
  if (data.t !== "init") return keeper?.hear(data);
  keeper = new Keeper();
  main(data, keeper).catch(fail);
});
