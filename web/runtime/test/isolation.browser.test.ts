/** What a snippet can reach: nothing. Each attempt runs against a server that must see no request, and must not change the page. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Rig, rig } from "./browser.ts";
import type { Peer } from "./peer.ts";

let r: Rig;
let peer: Peer;

beforeAll(async () => {
  r = await rig();
  peer = r.peer;
  peer.tools.set("echo", (args) => args);
  await peer.ready(2);
  peer.hits.length = 0;
});
afterAll(async () => {
  await r?.close();
});

/** Runs a snippet that may end in any way, and returns its value or its error as text. <URL> and <WS> stand for addresses of the server. */
async function attempt(code: string): Promise<string> {
  const text = code
    .replaceAll("<URL>", `${peer.origin}/leak`)
    .replaceAll("<WS>", `${peer.origin.replace("http", "ws")}/leak`);
  const { ok, value, error } = await peer.run(text, { timeout: 5000 });
  return ok ? value : `${error?.type}: ${error?.message}`;
}

/** Nothing reached the server. */
function nothingLeft(): void {
  expect(peer.hits).toEqual([]);
}

/** Nothing reached the server, and the next run is as if nothing had been. */
async function nothingHappened(): Promise<void> {
  nothingLeft();
  expect((await peer.run("return 1")).value).toBe("1");
}

describe("the network", () => {
  test.each([
    ["fetch", "import js\nawait js.fetch('<URL>')"],
    ["pyfetch", "from pyodide.http import pyfetch\nawait pyfetch('<URL>')"],
    ["open_url", "from pyodide.http import open_url\nopen_url('<URL>')"],
    ["XMLHttpRequest", "import js\nx = js.XMLHttpRequest.new()\nx.open('GET', '<URL>', False)\nx.send()"],
    ["WebSocket", "import js, asyncio\nw = js.WebSocket.new('<WS>')\nawait asyncio.sleep(0.2)"],
    ["EventSource", "import js, asyncio\nw = js.EventSource.new('<URL>')\nawait asyncio.sleep(0.2)"],
    ["WebTransport", "import js\nw = js.WebTransport.new('<URL>')\nawait w.ready"],
    ["importScripts", "import js\njs.importScripts('<URL>')"],
    ["Worker", "import js, asyncio\njs.Worker.new('<URL>')\nawait asyncio.sleep(0.2)"],
    ["SharedWorker", "import js, asyncio\njs.SharedWorker.new('<URL>')\nawait asyncio.sleep(0.2)"],
    ["sendBeacon", "import js\njs.navigator.sendBeacon('<URL>', 'x')"],
    ["a font", "import js\nawait js.FontFace.new('x', 'url(<URL>)').load()"],
    ["a reporting endpoint", "import js\njs.fetch('<URL>', {'method': 'POST', 'keepalive': True})"],
    ["urllib", "import urllib.request\nurllib.request.urlopen('<URL>')"],
    ["http.client", "import http.client\nhttp.client.HTTPConnection('127.0.0.1', 80).request('GET', '/')"],
    ["socket", "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)"],
    ["loadPackage", "import pyodide_js\nawait pyodide_js.loadPackage('<URL>.whl')"],
    ["micropip's way", "import pyodide_js\nawait pyodide_js._api.loadBinaryFile('<URL>')"],
    ["run_js", "from pyodide.code import run_js\nawait run_js(\"fetch('<URL>')\")"],
    ["eval", "import js\njs.eval(\"import('<URL>')\")"],
    ["Function", "import js\nawait js.Function.new(\"return import('<URL>')\")()"],
    ["the constructor trick", "import _toolplane_host as h\nawait h.send.constructor(\"return import('<URL>')\")()"],
    ["a timer with text", "import js, asyncio\njs.setTimeout(\"import('<URL>')\", 0)\nawait asyncio.sleep(0.2)"],
    [
      "a script in a blob",
      "import js, asyncio\nfrom pyodide.ffi import to_js\nu = js.URL.createObjectURL(js.Blob.new(to_js([\"import('<URL>');fetch('<URL>')\"])))\n" +
        "js.Worker.new(u)\nawait asyncio.sleep(0.3)",
    ],
    [
      "wasm with imports",
      "import js\nreturn str(js.WebAssembly.Module.imports(js.WebAssembly.Module.new(js.Uint8Array.new(0))))",
    ],
  ])("isn't reached by %s", async (_what, code) => {
    await attempt(code);
    nothingLeft();
  });
});

test.each([
  "import js\nawait js.fetch('https://example.com')",
  "import js\njs.XMLHttpRequest.new()",
  "import js\njs.WebSocket.new('ws://example.com')",
  "from pyodide.http import pyfetch\nawait pyfetch('https://example.com')",
  "from pyodide.http import open_url\nopen_url('https://example.com')",
])("who tries the network is told what to do instead: %s", async (code) => {
  expect(await attempt(code)).toContain("call a capability of the host instead");
});

describe("storage and other windows", () => {
  test.each([
    "indexedDB",
    "caches",
    "BroadcastChannel",
    "navigator",
    "Worker",
    "SharedWorker",
    "importScripts",
    "postMessage",
    "close",
    "cookieStore",
    "localStorage",
    "sessionStorage",
    "document",
    "parent",
    "opener",
    "top",
    "toolplane",
    "chrome",
    "browser",
  ])("%s isn't there", async (name) => {
    expect(await attempt(`import js\nreturn getattr(js.globalThis, '${name}', None) is None`)).toBe("true");
    expect(await attempt(`import js\nreturn js.Reflect.get(js.globalThis, '${name}') is None`)).toBe("true");
  });

  test("one run hears nothing of another by way of their common origin", async () => {
    const listen =
      "import js, asyncio\nfrom pyodide.ffi import create_proxy\nheard = []\nc = js.BroadcastChannel.new('x')\n" +
      "c.onmessage = create_proxy(lambda e: heard.append(e.data))\nawait asyncio.sleep(0.5)\nreturn heard";
    const speak =
      "import js, asyncio\nc = js.BroadcastChannel.new('x')\nfor i in range(20):\n    c.postMessage(i)\n    await asyncio.sleep(0.02)";
    const [heard] = await Promise.all([attempt(listen), attempt(speak)]);
    expect(heard).toMatch(/^AttributeError/);
  });

  test("files of one run are gone in the next", async () => {
    await attempt("import os\nfor d in ['/tmp', '/home/pyodide', '/lib']: open(d + '/leak', 'w').close()");
    expect(
      await attempt("import os\nreturn [os.path.exists(d + '/leak') for d in ['/tmp', '/home/pyodide', '/lib']]"),
    ).toBe("[false,false,false]");
  });
});

describe("the token", () => {
  test("is nowhere that a snippet can look", async () => {
    const code = `
import js, sys, gc, os
seen = set()
def walk(o, depth):
    if depth == 0: return
    try: names = [k for k in dir(o) if not k.startswith('__')]
    except BaseException: return
    for k in names:
        try: v = getattr(o, k)
        except BaseException: continue
        if isinstance(v, str): seen.add(v)
        elif type(v).__name__ == 'JsProxy': walk(v, depth - 1)
import pyodide_js, _toolplane_host
walk(js.globalThis, 2); walk(pyodide_js._api, 2); walk(_toolplane_host, 2)
return ['a-token-of-the-tests' in s for s in seen].count(True), 'a-token-of-the-tests' in str(os.environ)`;
    expect(await attempt(code)).toBe("[0,false]");
  });
});

describe("the interpreter's own machinery", () => {
  test("a poisoned host module harms its own run only", async () => {
    await attempt("import _toolplane_host as h\nh.send = lambda *a: None\nh.finish = lambda *a: None\nreturn 1");
    await nothingHappened();
  });

  test("polluted prototypes harm their own run only", async () => {
    const code =
      "import js\nfor p in [js.Object.prototype, js.Array.prototype, js.MessagePort.prototype, js.String.prototype]:\n" +
      "    p.t = 'result'\n    p.toString = None\n    p.postMessage = None\nreturn 1";
    await attempt(code);
    await nothingHappened();
  });

  test("the base snapshot can't be reached to poison the workers that come", async () => {
    expect(await attempt("import pyodide_js\nreturn hasattr(pyodide_js._api.config, '_loadSnapshot')")).toBe("false");
  });

  test.each([
    ["a fatal error of pyodide", "import pyodide_js\npyodide_js._api.fatal_error(pyodide_js._api)"],
    ["freeing memory twice", "import pyodide_js\npyodide_js._module._free(1)\npyodide_js._module._free(1)"],
    ["overwriting the heap", "import pyodide_js\npyodide_js._module.HEAPU8.fill(0)"],
    ["mounting a file system", "import pyodide_js\npyodide_js.FS.mount(pyodide_js.FS.filesystems.MEMFS, None, '/lib')"],
    ["endless recursion in C", "import json\nx = []\nfor i in range(100_000): x = [x]\nrepr(x)"],
    ["a segmentation fault", "import ctypes\nctypes.string_at(0xFFFFFFFF)"],
  ])("%s ends its own run only", async (_what, code) => {
    const { tampered } = await peer.run(code, { timeout: 1500 });
    expect(tampered).toBe(false);
    await nothingHappened();
  });
});

test("an exception in a callback is printed, and the run goes on", async () => {
  const code =
    "import js, asyncio\nfrom pyodide.ffi import create_once_callable\ndef f(*a): raise ValueError('stray')\n" +
    "js.setTimeout(create_once_callable(f), 0)\nawait asyncio.sleep(0.1)\nreturn 1";
  const result = await peer.run(code);
  expect(result).toMatchObject({ ok: true, value: "1" });
  expect(result.stderr).toContain("ValueError: stray");
});

test.each([
  ["deep recursion in C", "x = []\nfor i in range(100_000): x = [x]\nreturn repr(x)", "too deep"],
  ["a segmentation fault", "import ctypes\nctypes.string_at(0xFFFFFFFF)", "out of bounds"],
])("%s is told at once, not by the time limit", async (_what, code, words) => {
  const { error } = await peer.run(code, { timeout: 20_000 });
  expect(error).toMatchObject({ type: "InterpreterError", builtin: "RuntimeError" });
  expect(error?.message).toContain(words);
});

describe("a hostile worker", () => {
  /** Gets hold of the worker's own port to the page, by catching it when it's used. */
  const PORT = `
import js
from pyodide.ffi import create_proxy, to_js
import _toolplane_host as h
caught = []
real = js.MessagePort.prototype.postMessage
def spy(this, *args):
    caught.append(this)
js.MessagePort.prototype.postMessage = create_proxy(spy, capture_this=True)
h.send(999_001, 'x', '{}')
js.MessagePort.prototype.postMessage = real
port = caught[0]
def forge(**fields):
    port.postMessage(to_js(fields, dict_converter=js.Object.fromEntries))
`;

  test("can forge an end of its own run, which then has that end", async () => {
    expect(
      await attempt(
        `${PORT}\nforge(t='result', json='{"ok":true,"value":"forged"}', truncated=False)\nimport asyncio\nawait asyncio.sleep(5)`,
      ),
    ).toBe('"forged"');
  });

  test.each([
    ["another run's id", "forge(t='call', id=1, name='echo', arguments='{}', run_id='run_1')"],
    ["an unknown kind", "forge(t='shutdown')"],
    ["a control message of the frame", "forge(t='end', id=1, patience=0)"],
    ["broken JSON", "forge(t='call', id=1000, name='echo', arguments='{}},{')"],
    [
      "text that isn't Unicode",
      "js.eval if False else forge(t='output', stream='stdout', text=js.String.fromCharCode(0xd800))",
    ],
    [
      "a port",
      "c = js.MessageChannel.new()\nport.postMessage(to_js({'t': 'idle'}, dict_converter=js.Object.fromEntries), to_js([c.port2]))",
    ],
  ])("that forges %s is flagged, and goes on", async (_what, code) => {
    const result = await peer.run(
      `${PORT}\n${code}\nimport asyncio\nawait asyncio.sleep(0.05)\nreturn (await call_tool('echo', {'n': 1}))['n']`,
    );
    expect(result).toMatchObject({ ok: true, value: "1", tampered: true });
    await nothingHappened();
  });

  test("that floods the page is ended soon, and others go on meanwhile", async () => {
    const flood = peer.run(`${PORT}\nwhile True: forge(t='?')`, { timeout: 20_000 });
    const other = await peer.run("import asyncio\nfor _ in range(10): await call_tool('echo')\nreturn 2");
    expect(other).toMatchObject({ ok: true, value: "2", tampered: false });
    const { ok, duration_ms: took, tampered } = await flood;
    expect({ ok, tampered }).toEqual({ ok: false, tampered: true });
    expect(took).toBeLessThan(5000);
    await nothingHappened();
  });

  test("can't make calls without end", async () => {
    const code = `${PORT}\nfor i in range(1000, 1200): forge(t='call', id=i, name='echo', arguments='{}')\nimport asyncio\nawait asyncio.sleep(0.3)\nreturn 1`;
    let calls = 0;
    peer.tools.set("echo", (args) => {
      calls++;
      return args;
    });
    await peer.run(code, { maxCalls: 50 });
    expect(calls).toBeLessThanOrEqual(50);
  });
});
