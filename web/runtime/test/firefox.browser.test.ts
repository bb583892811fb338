/**
 * The runtime in Firefox: the same page, frame and workers. Where it isn't installed nothing runs here, and the output says so: .ci/setup.sh
 * installs it where it may, TOOLPLANE_FIREFOX names another one.
 */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFirefox, firefoxRig } from "./firefox.ts";
import type { Peer, RunOptions } from "./peer.ts";

const program = findFirefox();
if (program === undefined)
  console.warn("firefox.browser.test.ts: no Firefox is installed, so nothing of it was tested");

describe.runIf(program !== undefined)("in Firefox", () => {
  let peer: Peer;
  let rig: Awaited<ReturnType<typeof firefoxRig>>;

  beforeAll(async () => {
    const tools = (p: Peer): void => {
      p.tools.set("echo", (args) => args);
      p.tools.set(
        "never",
        (_args, { signal }) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("gone")))),
      );
    };
    rig = await firefoxRig(program ?? "", tools, { max_memory_mb: 128 });
    peer = rig.peer;
    peer.hits.length = 0;
  });
  afterAll(async () => {
    await rig?.close();
  });

  async function value(code: string, options: RunOptions = {}): Promise<string> {
    const result = await peer.run(code, options);
    expect(result.error).toBeNull();
    return result.value;
  }

  test("what it has", async () => {
    const version = await rig.evaluate("navigator.userAgent");
    const isolated = await rig.evaluate("crossOriginIsolated");
    const status = peer.statuses.at(-1);
    console.info(`${version}; crossOriginIsolated: ${isolated}; snapshot: ${status?.snapshot} ${status?.detail ?? ""}`);
    expect(status).toMatchObject({ ready: true, snapshot: "memory" });
  });

  test("fresh runs leave nothing for the next one", async () => {
    expect(await value("x = 20\nx + 1")).toBe("21");
    expect(await value("return 'x' in globals()")).toBe("false");
    const random = "import random\nreturn random.random()";
    expect(await value(random)).not.toBe(await value(random));
  });

  test("values arrive as they were sent", async () => {
    const exact = '{"a":9007199254740993,"b":1e40,"c":1.0,"d":-0.0,"e":"😀\\u0000"}';
    const inputs = `{"v":${exact}}`;
    const code = "import json\nr = await call_tool('echo', {'v': v})\nreturn r['v'] == v and json.dumps(r['v']['a'])";
    expect(await value(code, { inputs })).toBe('"9007199254740993"');
  });

  test("many calls at once are answered", async () => {
    const code =
      "import asyncio\nr = await asyncio.gather(*[call_tool('echo', {'i': i}) for i in range(20)])\nreturn sum(v['i'] for v in r)";
    expect(await value(code)).toBe("190");
  });

  test("output streams, and too much of it ends the run", async () => {
    const { stdout, stderr } = await peer.run("import sys\nprint('hé')\nprint('oops', file=sys.stderr)");
    expect({ stdout, stderr }).toEqual({ stdout: "hé\n", stderr: "oops\n" });
    const result = await peer.run("while True: print('x' * 99)", { maxOutput: 10_000 });
    expect(result).toMatchObject({ ok: false, output_truncated: true, error: { type: "OutputLimitError" } });
    expect(result.stdout.length).toBe(10_000);
  });

  const late: string[] = [];
  test.each([
    ["a loop", "while True: pass"],
    ["swallowed interrupts", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"],
    ["a loop in C", "sum(range(10**12))"],
    ["a regular expression", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')"],
    ["a big power", "10**10**8"],
    ["time.sleep", "import time\ntime.sleep(1e6)"],
    ["an await that never ends", "import asyncio\nawait asyncio.get_event_loop().create_future()"],
    ["a tool that never answers", "await call_tool('never')"],
  ])("time limits end %s, and the next run works", async (what, code) => {
    const timeout = 500;
    const { ok, error, duration_ms: took } = await peer.run(code, { timeout });
    expect(ok).toBe(false);
    expect(error).toMatchObject({ type: "RunTimeoutError", builtin: "TimeoutError" });
    late.push(`${Math.round(took - timeout)} ms ${what}`);
    expect(took).toBeLessThan(timeout + 2_000);
    expect(await value("return 1")).toBe("1");
  });
  afterAll(() => console.info(`Firefox, answered after the limit by: ${late.join(", ")}`));

  test("memory is capped, and the next run works", async () => {
    expect(await value("try:\n    bytearray(200 << 20)\nexcept MemoryError:\n    return 'caught'")).toBe('"caught"');
    const { error } = await peer.run("x = [bytearray(1 << 20) for _ in range(1000)]");
    expect(error).toMatchObject({ type: "MemoryError", message: expect.stringContaining("128 MiB") });
    expect(await value("return 1")).toBe("1");
  });

  test.each([
    ["in Python", "while True: pass"],
    ["in C", "sum(range(10**12))"],
    ["waiting", "import asyncio\nawait asyncio.get_event_loop().create_future()"],
  ])("a session is rolled back from a run that times out %s", async (what, code) => {
    const session = `ses_${what}`;
    await value("x = [1]\ndef f(): return len(x)\ngen = iter(x)", { session });
    const { error } = await peer.run(`x.append(2)\ny = 1\n${code}`, { session, timeout: 500 });
    expect(error).toMatchObject({ type: "RunTimeoutError" });
    expect(await value("return [x, f(), next(gen), 'y' in globals()]", { session })).toBe("[[1],1,1,false]");
    await peer.reset(session);
    expect(await value("return 'x' in globals()", { session })).toBe("false");
  });

  test("an interpreter that dies is told at once", async () => {
    const { error } = await peer.run("import ctypes\nctypes.string_at(0xFFFFFFF0)", { timeout: 20_000 });
    expect(error).toMatchObject({ type: "InterpreterError" });
    expect(await value("return 1")).toBe("1");
  });

  test.each([
    "import js\nawait js.fetch('<URL>')",
    "import js\nx = js.XMLHttpRequest.new()\nx.open('GET', '<URL>', False)\nx.send()",
    "import js, asyncio\njs.WebSocket.new('<URL>'.replace('http', 'ws'))\nawait asyncio.sleep(0.2)",
    "import js\njs.importScripts('<URL>')",
    "import js\njs.Worker.new('<URL>')",
    "import _toolplane_host as h\nawait h.send.constructor('u', 'return import(u)')('<URL>')",
    "import _toolplane_host as h\nawait h.send.constructor('u', 'return self.fetch(u)')('<URL>')",
    "import js\njs.eval(\"import('<URL>')\")",
    "import js, asyncio\njs.setTimeout(\"import('<URL>')\", 0)\nawait asyncio.sleep(0.2)",
    "import js\nawait js.FontFace.new('x', 'url(<URL>)').load()",
    "from pyodide.http import pyfetch\nawait pyfetch('<URL>')",
    "import js\njs.indexedDB.open('x')",
    "import js\nawait js.caches.open('x')",
    "import js\njs.BroadcastChannel.new('x')",
    "import js\nawait js.navigator.storage.getDirectory()",
  ])("the sandbox holds: %s", async (code) => {
    await peer.run(code.replaceAll("<URL>", `${peer.origin}/leak`), { timeout: 5000 });
    expect(peer.hits).toEqual([]);
    expect(await value("return 1")).toBe("1");
  });
});
