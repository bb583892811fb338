package executor

import (
	"testing"
	"time"
)

// TestCallLimitsInPython makes more calls than a run may, in a real browser.
func TestCallLimitsInPython(t *testing.T) {
	f := newRealHost(t, func(o *Options) { o.MaxCalls, o.MaxCallsInFlight = 20, 5 })
	f.runAll(t, 10*time.Second, []hostileRun{
		{"too many", "for i in range(100): await demo.echo(x=i)", []string{"CallLimitError"}, "20 capability calls, the limit ([executor] max_calls)"},
		{"too many at once", "import asyncio\nawait asyncio.gather(*[demo.echo(x=i) for i in range(6)])", []string{"CallLimitError"}, "max_calls_in_flight"},
		{"as many as allowed", "import asyncio\nfor n in range(4): await asyncio.gather(*[demo.echo(x=i) for i in range(5)])\nreturn 'all'", nil, "all"},
		{"caught, and others answered", `
import asyncio
answers = await asyncio.gather(*[demo.echo(x=i) for i in range(8)], return_exceptions=True)
return [a["x"] if isinstance(a, dict) else type(a).__name__ for a in answers]
`, nil, `[0,1,2,3,4,"CallLimitError","CallLimitError","CallLimitError"]`},
	})
}

// TestNothingHangs tries in a real browser what ends or hangs an interpreter elsewhere.
func TestNothingHangs(t *testing.T) {
	f := newRealHost(t, nil)
	f.runAll(t, 5*time.Second, []hostileRun{
		{"input", "input('name? ')", []string{"UnavailableError"}, `inputs["name"]`},
		{"reading stdin", "import sys\nsys.stdin.read()", []string{"UnavailableError"}, "inputs"},
		{"reading descriptor 0", "import os\nos.read(0, 10)", []string{"OSError"}, ""},
		{"getpass", "import getpass\ngetpass.getpass()", []string{"EOFError"}, "line 2"},
		{"breakpoint", "breakpoint()", []string{"UnavailableError"}, "print what you want to see"},
		{"pdb", "import pdb\npdb.set_trace()", []string{"UnavailableError", "BdbQuit"}, ""},
		{"sys.exit", "import sys\nsys.exit(3)", []string{"SystemExit"}, "to end it early, return"},
		{"exit", "exit()", []string{"SystemExit", "NameError"}, ""},
		{"SystemExit in a task", "import asyncio, sys\nasync def f(): sys.exit(1)\nawait asyncio.gather(f())", []string{"SystemExit"}, "return"},
		{"os._exit", "import os\nos._exit(0)", []string{"UnavailableError"}, "to end the snippet early, return"},
		{"os.abort", "import os\nos.abort()", []string{"UnavailableError"}, "return"},
		{"posix._exit", "import posix\nposix._exit(0)", []string{"UnavailableError", "InterpreterError"}, ""},
		{"posix.abort", "import posix\nposix.abort()", []string{"UnavailableError", "InterpreterError"}, ""},
		{"abort from C", "import ctypes\nctypes.CDLL(None).abort()", []string{"InterpreterError", "OSError", "RuntimeError"}, ""},
		{"exit from C", "import ctypes\nctypes.CDLL(None).exit(0)", []string{"InterpreterError", "OSError", "RuntimeError"}, ""},
		{"a signal to oneself", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nreturn 'alive'", []string{"InterpreterError", "OSError", "PermissionError"}, ""},
		{"raise_signal", "import signal\nsignal.raise_signal(signal.SIGABRT)", []string{"InterpreterError", "OSError"}, ""},
		{"faulthandler", "import faulthandler\nfaulthandler._sigsegv()", []string{"InterpreterError", "AttributeError"}, ""},
		{"recursion", "def f(): f()\nf()", []string{"RecursionError"}, "recursion"},
		{"recursion, caught", "def f(n):\n    try: return f(n + 1)\n    except RecursionError: return n\nreturn f(0) > 100", nil, "true"},
		{"recursion without a limit", "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()", []string{"RecursionError", "InterpreterError"}, ""},
		{"recursion through C", "class A:\n    def __repr__(self): return repr(self)\nrepr(A())", []string{"RecursionError", "InterpreterError"}, ""},
		{"recursion through sort", "def f(x): return sorted([1, 2], key=f)\nf(1)", []string{"RecursionError", "InterpreterError"}, ""},
		{"deep nesting, printed", "x = []\nfor _ in range(100_000): x = [x]\nrepr(x)", []string{"RecursionError", "InterpreterError"}, ""},
		{"deep nesting, returned", "x = []\nfor _ in range(100_000): x = [x]\nreturn x", []string{"ReturnValueError"}, "levels"},
		{"deep nesting, freed", "x = []\nfor _ in range(1_000_000): x = [x]\ndel x", []string{"InterpreterError"}, "too deep"},
		{"deep source", "eval('(' * 10_000 + ')' * 10_000)", []string{"SyntaxError", "MemoryError", "RecursionError", "InterpreterError"}, ""},
		{"deep JSON", "import json\njson.loads('[' * 100_000)", []string{"RecursionError", "InterpreterError", "JSONDecodeError"}, ""},
		{"deep pattern", "import re\nre.compile('(' * 5000 + ')' * 5000)", []string{"RecursionError", "InterpreterError", "OverflowError", "error", "PatternError"}, ""},
		{"js", "import js\nreturn str(js.location)[:5]", nil, "blob:"},
		{"js.close", "import js\njs.close()", []string{"AttributeError"}, "close"},
		{"a loop in JavaScript", "import js\njs.RegExp.new('^(a+)+$').test('a' * 40 + 'b')", []string{"RunTimeoutError"}, "5 s"},
		{"a script in JavaScript", "import js\njs.eval('for(;;);')", []string{"JsException"}, "unsafe-eval"},
		{"an error in JavaScript", "import js\njs.decodeURIComponent('%')", []string{"JsException"}, "URI"},
		{"pyodide_js", "import pyodide_js\nreturn pyodide_js.version", nil, "314"},
		{"loading packages", "import pyodide_js\nawait pyodide_js.loadPackage('numpy')", []string{"JsException", "TypeError", "ValueError", "Error"}, ""},
		{"a package that isn't there", "import numpy", []string{"ModuleNotFoundError"}, "numpy"},
		{"micropip", "import micropip", []string{"ModuleNotFoundError"}, "micropip"},
		{"ctypes reads nowhere", "import ctypes\nctypes.string_at(0xFFFFFFF0)", []string{"InterpreterError"}, "out of bounds"},
		{"ctypes writes nowhere", "import ctypes\nctypes.memset(0, 1, 2**31)", []string{"InterpreterError"}, ""},
		{"ctypes calls nowhere", "import ctypes\nctypes.CFUNCTYPE(None)(123456789)()", []string{"InterpreterError", "OSError", "RuntimeError"}, ""},
		{"threads", "import threading\nthreading.Thread(target=print).start()", []string{"RuntimeError"}, "thread"},
		{"a thread pool", "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor(1).submit(print).result()", []string{"RuntimeError"}, "thread"},
		{"asyncio.to_thread", "import asyncio\nreturn await asyncio.to_thread(sum, [1, 2])", nil, "3"},
		{"a lock taken twice", "import threading\nl = threading.Lock()\nl.acquire()\nreturn l.acquire(timeout=0.1)", nil, "false"},
		{"a lock waited for", "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()", []string{"RunTimeoutError", "RuntimeError"}, ""},
		{"a queue waited for", "import queue\nqueue.Queue().get()", []string{"RunTimeoutError", "RuntimeError"}, ""},
		{"multiprocessing", "import multiprocessing\nmultiprocessing.Process(target=print).start()", []string{"ImportError", "ModuleNotFoundError", "OSError", "AttributeError"}, ""},
		{"subprocess", "import subprocess\nsubprocess.run(['ls'])", []string{"OSError", "PermissionError"}, ""},
		{"os.system", "import os\nreturn os.system('ls')", nil, "-1"},
		{"os.fork", "import os\nos.fork()", []string{"OSError", "AttributeError", "BlockingIOError"}, ""},
		{"os.exec", "import os\nos.execv('/bin/ls', ['ls'])", []string{"OSError", "AttributeError"}, ""},
		{"a socket", "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)", []string{"OSError", "BlockingIOError", "ConnectionError", "HostUnreachable", "TimeoutError"}, ""},
		{"a listening socket", "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\ns.accept()", []string{"OSError", "BlockingIOError", "ConnectionError"}, ""},
		{"select", "import select\nselect.select([0], [], [], 0.1)\nreturn 'back'", nil, "back"},
		{"asyncio.run", "import asyncio\nasync def f(): pass\nasyncio.run(f())", []string{"RuntimeError"}, "await f()"},
		{"a loop of its own", "import asyncio\nasyncio.new_event_loop().run_forever()\nreturn 'back'", nil, "back"},
		{"stopping the loop", "import asyncio\nasyncio.get_event_loop().stop()\nawait asyncio.sleep(0.01)\nreturn 'still here'", nil, "still here"},
		{"closing the loop", "import asyncio\nasyncio.get_event_loop().close()\nawait asyncio.sleep(0.01)\nreturn 'still here'", nil, "still here"},
		{"cancelling every task", "import asyncio\nfor t in asyncio.all_tasks(): t.cancel()\nawait asyncio.sleep(1)", []string{"CancelledError"}, ""},
		{"cancelling its own task for ever", "import asyncio\nwhile True:\n    try:\n        asyncio.current_task().cancel()\n        await asyncio.sleep(0)\n    except asyncio.CancelledError: pass", []string{"RunTimeoutError", "CancelledError"}, ""},
		{"an exit handler", "import atexit\natexit.register(lambda: 1 / 0)\nreturn 'fine'", nil, "fine"},
		{"a hostile trace function", "import sys\ndef f(*a): raise SystemExit\nsys.settrace(f)\nsys.setprofile(f)\nreturn 1", []string{"SystemExit"}, ""},
		{"no builtins", "import builtins\nbuiltins.__dict__.clear()", []string{"MemoryError", "InterpreterError"}, ""},
		{"no modules", "import sys\nsys.modules.clear()\nreturn 1", nil, ""},
		{"removing the library", "import shutil, sys\nshutil.rmtree('/lib', ignore_errors=True)\nsys.path.clear()\nreturn 'fine'", nil, "fine"},
		{"the garbage collector off and on", "import gc\ngc.disable()\ngc.freeze()\ngc.set_threshold(1)\nreturn gc.collect() >= 0", nil, "true"},
		{"a huge file", "with open('/tmp/x', 'wb') as f:\n    for _ in range(200): f.write(bytes(50 << 20))", []string{"OSError"}, "512 MiB ([executor] max_memory_mb)"},
		{"many files", "for i in range(10_000):\n    with open(f'/tmp/{i}', 'wb') as f: f.write(bytes(1 << 20))", []string{"OSError"}, "kept in memory"},
		{"a file that comes and goes", "import os\nfor _ in range(30):\n    with open('/tmp/x', 'wb') as f: f.write(bytes(50 << 20))\n    os.remove('/tmp/x')\nreturn 'fine'", nil, "fine"},
		{"a sparse file", "with open('/tmp/x', 'wb') as f: f.truncate(1 << 40)", []string{"OSError"}, "kept in memory"},
		{"yield", "yield 1", []string{"SyntaxError"}, ""},
		{"a null byte", "x = '\x00'", []string{"SyntaxError", "ValueError"}, ""},
		{"nothing at all", "", nil, "null"},
	})
}
