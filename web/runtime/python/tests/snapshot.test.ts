// The bootstrap in a memory snapshot: the worker takes one after loading it, and every run starts from a restored one.
import { loadPyodide } from "pyodide";
import { beforeAll, expect, test } from "vitest";
import { installPython } from "../install";
import { pythonSources, Sandbox } from "./sandbox";

let snapshot: Uint8Array;

beforeAll(async () => {
  const py = await loadPyodide({ _makeSnapshot: true });
  const host = { send: () => {}, finish: () => {}, disarm: () => {} };
  installPython(py, host, pythonSources());
  const serializer = (object: unknown) => {
    // The host module is all of JavaScript that Python holds.
    if (object !== host)
      throw new Error(`the bootstrap holds a JavaScript object: ${Object.prototype.toString.call(object)}`);
    return "host";
  };
  snapshot = py.makeMemorySnapshot({ serializer });
});

test("runs, calls and fails like a plain load", async () => {
  const sandbox = await Sandbox.create(snapshot);
  sandbox.bindIssues();
  expect((await sandbox.run("return 1", { seed: true })).value).toBe(1);
  expect((await sandbox.run("await issues_list(count=1)", { answer: (_, json) => json })).value).toEqual({ count: 1 });
  expect((await sandbox.run("1 / 0")).error).toMatchObject({ type: "ZeroDivisionError" });
  expect((await sandbox.run("issues_list()")).error).toMatchObject({ type: "UnawaitedToolCallError" });
});

test("random repeats unless it's reseeded", async () => {
  const draw = async (seed: boolean) => {
    const sandbox = await Sandbox.create(snapshot);
    return (await sandbox.run("import random\nrandom.random()", { seed })).value;
  };
  expect(await draw(false)).toBe(await draw(false));
  expect(await draw(true)).not.toBe(await draw(true));
});
