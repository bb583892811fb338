package tests

// The escapes of TestSandboxReachesNothing.

var networkEscapes = []escape{
	{"fetch", `from js import fetch; r = await fetch(BASE); return "reached " + str(r.status)`},
	{"fetch no-cors", `
from js import fetch, Object
from pyodide.ffi import to_js
await fetch(BASE, to_js({"mode": "no-cors", "keepalive": True}, dict_converter=Object.fromEntries))
return "reached"`},
	{"fetch of the prototype", `import js; await js.Object.getPrototypeOf(js.Object.getPrototypeOf(js.globalThis)).fetch(BASE); return "reached"`},
	{"fetchLater", `import js; js.fetchLater(BASE); return "reached"`},
	{"XMLHttpRequest", `from js import XMLHttpRequest; x = XMLHttpRequest.new(); x.open("GET", BASE, False); x.send(); return "reached " + str(x.status)`},
	{"WebSocket", `
from js import WebSocket
import asyncio
w = WebSocket.new(BASE.replace("http", "ws"))
await asyncio.sleep(.3)
return "reached" if w.readyState == 1 else "blocked: state " + str(w.readyState)`},
	{"WebSocketStream", `import js; await js.WebSocketStream.new(BASE.replace("http", "ws")).opened; return "reached"`},
	{"WebTransport", `import js; await js.WebTransport.new(BASE.replace("http", "https")).ready; return "reached"`},
	{"EventSource", `
from js import EventSource
import asyncio
e = EventSource.new(BASE)
await asyncio.sleep(.3)
return "reached" if e.readyState == 1 else "blocked: state " + str(e.readyState)`},
	{"WebRTC", `import js; js.RTCPeerConnection.new(); return "reached"`},
	{"sendBeacon", `from js import navigator; return "reached" if navigator.sendBeacon(BASE, "x") else "blocked: refused"`},
	{"a font", `import js; await js.FontFace.new("x", "url(" + BASE + ")").load(); return "reached"`},
	{"wasm from an address", `import js; await js.WebAssembly.compileStreaming(js.fetch(BASE)); return "reached"`},
	{"a notification's icon", `
import js
from pyodide.ffi import to_js
js.Notification.new("x", to_js({"icon": BASE}, dict_converter=js.Object.fromEntries))
return "reached"`},
	{"moving away", `
import js
before = js.location.href
js.location.href = BASE
return "blocked: still there" if js.location.href == before else "reached"`},
	{"socket", `
import socket
s = socket.create_connection(("127.0.0.1", int(BASE.split(":")[2].split("/")[0])), timeout=1)
s.send(b"GET /socket HTTP/1.0\r\n\r\n")
return "reached"`},
	{"asyncio's streams", `
import asyncio
reader, writer = await asyncio.open_connection("127.0.0.1", int(BASE.split(":")[2].split("/")[0]))
writer.write(b"GET /streams HTTP/1.0\r\n\r\n")
return "reached"`},
	{"urllib", `import urllib.request; return "reached " + urllib.request.urlopen(BASE).read().decode()`},
	{"http.client", `import http.client; c = http.client.HTTPConnection(BASE.split("/")[2]); c.request("GET", "/"); return "reached"`},
	{"pyfetch", `from pyodide.http import pyfetch; await pyfetch(BASE); return "reached"`},
	{"open_url", `from pyodide.http import open_url; open_url(BASE); return "reached"`},
	{"a wheel", `import pyodide_js; await pyodide_js.loadPackage(BASE + "/x-1.0-py3-none-any.whl"); return "blocked: if the server saw nothing"`},
	{"pyodide's loader", `import pyodide_js; await pyodide_js._api.loadBinaryFile(BASE); return "reached"`},
	{"emscripten's loader", `
import pyodide_js
await pyodide_js._module.readAsync(BASE)
return "reached"`},
	{"emscripten's wget", `
import ctypes, asyncio
ctypes.CDLL(None).emscripten_async_wget(BASE.encode(), b"/tmp/x", 0, 0)
await asyncio.sleep(.2)
return "blocked: if the server saw nothing"`},
}

var scriptEscapes = []escape{
	{"importScripts", `from js import importScripts; importScripts(BASE); return "reached"`},
	{"a worker", `from js import Worker; Worker.new(BASE); return "reached"`},
	{"a worker made by Reflect", `import js; js.Reflect.construct(js.Reflect.get(js.globalThis, "Worker"), [BASE]); return "reached"`},
	{"a shared worker", `import js; js.SharedWorker.new(BASE); return "reached"`},
	{"a worker from a blob", `
import js, asyncio
from pyodide.ffi import to_js
u = js.URL.createObjectURL(js.Blob.new(to_js(["fetch('" + BASE + "'); importScripts('" + BASE + "')"])))
js.Worker.new(u)
await asyncio.sleep(.3)
return "reached"`},
	{"a worker from a data address", `import js; js.Worker.new("data:text/javascript,fetch('" + BASE + "')"); return "reached"`},
	{"a service worker", `from js import navigator; await navigator.serviceWorker.register(BASE); return "reached"`},
	{"eval", `import js; js.eval("import('" + BASE + "')"); return "reached"`},
	{"eval of another realm", `import js; js.Reflect.get(js.globalThis, "eval")("fetch('" + BASE + "')"); return "reached"`},
	{"Function", `import js; await js.Function.new("return import('" + BASE + "')")(); return "reached"`},
	{"the constructor of a function", `import _toolplane_host as h; await h.send.constructor("u", "return import(u)")(BASE); return "reached"`},
	{"the constructor, with fetch", `import _toolplane_host as h; await h.send.constructor("u", "return self.fetch(u)")(BASE); return "reached"`},
	{"the constructor of async functions", `
import js, pyodide_js
c = js.Object.getPrototypeOf(pyodide_js.loadPackage).constructor
await c("u", "return await import(u)")(BASE)
return "reached"`},
	{"a timer with text", `
import js, asyncio
js.setTimeout("import('" + BASE + "')", 0)
js.setInterval("import('" + BASE + "')", 1)
await asyncio.sleep(.2)
return "blocked: nothing came of it"`},
	{"run_js", `from pyodide.code import run_js; await run_js("import('" + BASE + "')"); return "reached"`},
	{"emscripten's script", `
import ctypes
ctypes.CDLL(None).emscripten_run_script(("import('" + BASE + "')").encode())
return "reached"`},
	{"a module from a blob", `
import js
from pyodide.ffi import to_js
u = js.URL.createObjectURL(js.Blob.new(to_js(["import('" + BASE + "')"])))
import _toolplane_host as h
await h.send.constructor("u", "return import(u)")(u)
return "reached"`},
	{"ShadowRealm", `import js; await js.ShadowRealm.new().importValue(BASE, "x"); return "reached"`},
	{"a wasm module with imports", `
import js
m = js.WebAssembly.Module.new(js.Uint8Array.new(0))
return "reached"`},
	{"trusted types", `import js; p = js.trustedTypes.createPolicy("default", js.Object.new()); js.eval(p.createScript("import('" + BASE + "')")); return "reached"`},
}

var storageEscapes = []escape{
	{"indexedDB", `from js import indexedDB; indexedDB.open("left"); return "reached"`},
	{"indexedDB by its class", `import js; js.IDBFactory.prototype.open.call(js.globalThis.indexedDB, "left"); return "reached"`},
	{"caches", `from js import caches; c = await caches.open("left"); await c.add(BASE); return "reached"`},
	{"localStorage", `from js import localStorage; localStorage.setItem("left", "1"); return "reached"`},
	{"sessionStorage", `from js import sessionStorage; sessionStorage.setItem("left", "1"); return "reached"`},
	{"cookies", `from js import cookieStore; await cookieStore.set("left", "1"); return "reached"`},
	{"the private file system", `from js import navigator; await navigator.storage.getDirectory(); return "reached"`},
	{"the private file system by its class", `import js; await js.StorageManager.prototype.getDirectory.call(js.navigator.storage); return "reached"`},
	{"a file picker", `import js; await js.showOpenFilePicker(); return "reached"`},
	{"IDBFS", `
import pyodide_js, os
fs = pyodide_js.FS
os.mkdir("/tmp/idb")
fs.mount(fs.filesystems.IDBFS, {}, "/tmp/idb")
import js, asyncio
from pyodide.ffi import create_once_callable
done = asyncio.Future()
fs.syncfs(False, create_once_callable(lambda error=None: done.set_result(error)))
error = await asyncio.wait_for(done, 1)
return "blocked: " + str(error) if error else "reached"`},
	{"NODEFS", `
import pyodide_js, os
fs = pyodide_js.FS
os.mkdir("/tmp/node")
fs.mount(fs.filesystems.NODEFS, {"root": "/"}, "/tmp/node")
return "reached " + repr(os.listdir("/tmp/node"))`},
	{"a native folder", `import pyodide_js; await pyodide_js.mountNativeFS("/tmp/native", None); return "reached"`},
	{"the host's files", `
import os
names = [p for p in ("/etc/passwd", "/proc/self/environ", "/sys", "/root/.ssh", "/home/pyodide/../../etc/shadow") if os.path.exists(p)]
return "reached " + repr(names) if names else "blocked: no such files"`},
	{"the environment", `
import os
names = [n for n in os.environ if n not in ("HOME", "LANG", "LOGNAME", "PATH", "PWD", "USER", "_", "PYTHONHOME", "PYTHONINSPECT", "PYTHONPATH", "PYTHONBREAKPOINT", "PYTHONHASHSEED", "LD_LIBRARY_PATH")]
return "reached " + repr(names) if names else "blocked: nothing of the host's"`},
	{"a file for the next run", `open("/tmp/left", "w").write("x"); return "blocked: see the run after"`},
}

var otherEscapes = []escape{
	{"BroadcastChannel", `from js import BroadcastChannel; BroadcastChannel.new("x").postMessage("x"); return "reached"`},
	{"locks", `from js import navigator; await navigator.locks.request("x", lambda l: None); return "reached"`},
	{"locks by their class", `import js; await js.LockManager.prototype.query.call(js.navigator.locks); return "reached"`},
	{"the document", `from js import document; return "reached " + str(document)`},
	{"the window", `from js import window; return "reached " + str(window)`},
	{"the parent", `from js import parent; return "reached " + str(parent)`},
	{"the top", `from js import top; return "reached " + str(top)`},
	{"the opener", `from js import opener; return "reached " + str(opener)`},
	{"other frames", `from js import frames; return "reached " + str(frames)`},
	{"the page's toolplane", `from js import toolplane; return "reached " + str(toolplane)`},
	{"an extension", `import js; return "reached " + str(getattr(js, "chrome", None) or js.browser.runtime)`},
	{"the frame, by postMessage", `from js import postMessage; postMessage("x"); return "reached"`},
	{"the frame, by a prototype", `import js; js.DedicatedWorkerGlobalScope.prototype.postMessage.call(js.globalThis, "x"); return "reached"`},
	{"an init message made up", `
import js, asyncio
from pyodide.ffi import to_js
e = js.MessageEvent.new("message", to_js({"data": {"t": "init"}}, dict_converter=js.Object.fromEntries))
js.globalThis.dispatchEvent(e)
await asyncio.sleep(.1)
return "blocked: not heard"`},
	{"ending the worker", `from js import close; close(); return "reached"`},
	{"the token in globals", `import js; names = [n for n in dir(js) if "token" in n.lower()]; return "reached " + repr(names) if names else "blocked: no such name"`},
	{"the token in an address", `from js import location; text = str(location.href); return "reached " + text if "token" in text or "?" in text else "blocked: " + text`},
	{"what the browser loaded", `
import js
names = [e.name for e in js.performance.getEntries()]
return "reached " + repr(names) if any("token" in n or "127.0.0.1" in n for n in names) else "blocked: " + repr(names)`},
	{"memory of the whole browser", `import js; await js.performance.measureUserAgentSpecificMemory(); return "reached"`},
	{"devices", `from js import navigator; return "reached " + str(navigator.usb or navigator.serial or navigator.hid or navigator.gpu)`},
}

var interpreterEscapes = []escape{
	{"the base snapshot", `import pyodide_js; return "reached" if hasattr(pyodide_js._api.config, "_loadSnapshot") else "blocked: gone"`},
	{"more memory than the cap", `
import pyodide_js
m = pyodide_js._module
before = m.HEAPU8.length
m.growMemory(1 << 30)
return "blocked: refused" if m.HEAPU8.length == before else f"reached {m.HEAPU8.length}"`},
	{"compiling the module anew", `
import pyodide_js
return "reached " + str(pyodide_js._module.wasmModule or pyodide_js._module.wasmBinary)`},
	{"builtins for the next run", `import builtins; builtins.left = 1; return "blocked: see the run after"`},
	{"a poisoned library", `import json; json.loads = lambda text: "poisoned"; return "blocked: see the run after"`},
	{"Object.prototype", `import js; js.Object.prototype.left = "x"; js.Object.prototype.t = "result"; return "blocked: see the run after"`},
	{"Array.prototype", `import js; js.Array.prototype.push = None; js.Array.prototype.map = None; return "blocked: see the run after"`},
	{"String.prototype", `import js; js.String.prototype.isWellFormed = lambda *a: True; js.String.prototype.slice = None; return "blocked: see the run after"`},
	{"JSON", `import js; js.JSON.parse = None; js.JSON.stringify = None; return "blocked: see the run after"`},
	{"promises", `import js; js.Promise.prototype.then = None; js.Promise.resolve = None; return "blocked: see the run after"`},
	{"MessagePort.prototype", `import js; js.MessagePort.prototype.left = "x"; js.MessagePort.prototype.close = None; return "blocked: see the run after"`},
	{"the typed arrays", `import js; js.Uint8Array.prototype.subarray = None; js.TextDecoder.prototype.decode = None; print("x"); return "blocked: see the run after"`},
	{"globalThis", `import js; js.globalThis.left = "x"; return "blocked: see the run after"`},
	{"the clock, stopped", `
import js
js.performance.now = lambda: 0
js.Date.now = lambda: 0
while True: pass`},
	{"the stop flag", `
import js
js.Atomics.load = lambda *a: 0
js.performance.now = lambda: 0
import time
time.sleep(1e6)`},
	{"the host's functions", `
import _toolplane_host as h
h.send = h.finish = h.disarm = lambda *a: None
return "blocked: see the run after"`},
	{"Toolplane's modules", `
import sys
for name in list(sys.modules):
    if name.startswith("_toolplane"): del sys.modules[name]
return "blocked: see the run after"`},
	{"a fatal error of pyodide", `import pyodide_js; pyodide_js._api.fatal_error(pyodide_js._api); return "blocked: see the run after"`},
	{"overwriting the heap", `import pyodide_js; pyodide_js._module.HEAPU8.fill(0); return "blocked: see the run after"`},
	{"freeing memory twice", `import pyodide_js; pyodide_js._module._free(16); pyodide_js._module._free(16); return "blocked: see the run after"`},
	{"mounting over the library", `import pyodide_js; pyodide_js.FS.mount(pyodide_js.FS.filesystems.MEMFS, None, "/lib"); return "blocked: see the run after"`},
	{"the function table", `
import pyodide_js
t = pyodide_js._module.wasmTable
for i in range(1, t.length): t.set(i, None)
return "blocked: see the run after"`},
}
