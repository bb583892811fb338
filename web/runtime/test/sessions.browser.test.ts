// Sessions in a real browser: what they keep, what they roll back, and what they keep apart.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Rig, type RigOptions, rig } from "./browser.ts";
import type { Peer, RunOptions, RunResult } from "./peer.ts";

let r: Rig;
let peer: Peer;
let sessions = 0;

beforeAll(async () => {
  r = await rig();
  peer = r.peer;
  peer.tools.set("echo", (args) => args);
  peer.tools.set("never", (_args, { signal }) => {
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("gone"))));
  });
});
afterAll(async () => {
  await r?.close();
  expect(r?.console).toEqual([]);
});

/** Runs snippets in a session of their own. */
class Notebook {
  readonly key = `ses_${++sessions}`;
  readonly #peer: Peer | undefined;

  constructor(other?: Peer) {
    this.#peer = other;
  }

  run(code: string, options: RunOptions = {}): Promise<RunResult> {
    return (this.#peer ?? peer).run(code, { session: this.key, ...options });
  }

  /** The value's raw text, of a snippet that has to succeed. */
  async value(code: string, options: RunOptions = {}): Promise<string> {
    const { error, value } = await this.run(code, options);
    expect(error).toBeNull();
    return value;
  }
}

describe("a session", () => {
  test("keeps what runs did, as a notebook does", async () => {
    const book = new Notebook();
    const first = await book.run("import math as m\nx = [1]\ndef f(n): return n + len(x)\nclass C:\n    z = 3\nx");
    expect(first).toMatchObject({ ok: true, value: "[1]", session: "new" });
    expect(first.session_note).toBeUndefined();
    const second = await book.run("x.append(2)\nreturn [f(1), C.z, m.floor(2.5), _ is x]");
    expect(second).toMatchObject({ ok: true, value: "[3,3,2,true]", session: "kept" });
  });

  test("keeps what a run did that raises", async () => {
    const book = new Notebook();
    await book.run("x = 1");
    const failed = await book.run("x = 2\n1 / 0");
    expect(failed).toMatchObject({ ok: false, session: "kept", error: { type: "ZeroDivisionError" } });
    expect(await book.value("x")).toBe("2");
  });

  test("isn't touched by fresh runs, and doesn't touch them", async () => {
    const book = new Notebook();
    await book.run("x = 1");
    const fresh = await peer.run("y = 'x' in globals()\ny");
    expect(fresh).toMatchObject({ value: "false", session: "fresh" });
    expect(await book.value("return [x, 'y' in globals()]")).toBe("[1,false]");
  });

  test("shares nothing with another one", async () => {
    const one = new Notebook();
    const two = new Notebook();
    await one.run("import builtins, json, os\nx = 1\nbuiltins.x = json.x = 1\nopen('/tmp/x', 'w').close()");
    const seen = "import json, os\nreturn ['x' in globals(), hasattr(json, 'x'), os.path.exists('/tmp/x')]";
    expect(await two.value(seen)).toBe("[false,false,false]");
    expect(await one.value(seen)).toBe("[true,true,true]");
  });

  test("has inputs for their run only", async () => {
    const book = new Notebook();
    await book.run("x = given", { inputs: '{"given":[1]}' });
    expect(await book.value("return [x, 'given' in globals(), inputs]")).toBe("[[1],false,{}]");
  });

  test("runs one snippet at a time", async () => {
    const book = new Notebook();
    const long = book.run("await call_tool('never')", { timeout: 300 });
    await expect(book.run("1")).rejects.toThrow("runs a snippet already");
    expect((await long).session).toBe("rolled_back");
  });

  test("doesn't hear the clock of earlier runs", async () => {
    const book = new Notebook();
    await book.run("1", { timeout: 200 });
    const run = await book.run("import asyncio\nawait asyncio.sleep(0.4)", { timeout: 5000 });
    expect(run).toMatchObject({ ok: true, tampered: false, session: "kept" });
  });

  test("sees capabilities that came later", async () => {
    const book = new Notebook();
    await book.run("1");
    const binding = { name: "echo", flat: "late_echo", params: [], call: "await late_echo()" };
    await peer.connection?.notify("catalog.changed", JSON.stringify({ revision: 2, bindings: [binding] }));
    expect(await book.value("await late_echo(a=1)")).toBe('{"a":1}');
    await peer.connection?.notify("catalog.changed", '{"revision":3,"bindings":[]}');
    expect(await book.value("'late_echo' in globals()")).toBe("false");
  });
});

describe("reset", () => {
  test("by the snippet: when its run is over", async () => {
    const book = new Notebook();
    await book.run("x = 1");
    const run = await book.run("await reset_session()\nx");
    expect(run).toMatchObject({ ok: true, value: "1", session: "reset" });
    expect(await book.run("'x' in globals()")).toMatchObject({ value: "false", session: "new" });
  });

  test("has no meaning in a fresh run", async () => {
    const { error } = await peer.run("await reset_session()");
    expect(error).toMatchObject({ type: "SessionError", builtin: "ValueError" });
  });

  test("by the host", async () => {
    const book = new Notebook();
    await book.run("x = 1");
    await book.run("y = 1");
    expect(await peer.reset(book.key)).toBe(2);
    expect(await peer.reset(book.key)).toBe(0);
    expect(await book.run("'x' in globals()")).toMatchObject({ value: "false", session: "new" });
  });

  test("by the host stops the run that is under way", async () => {
    const book = new Notebook();
    const run = book.run("await call_tool('never')");
    await expect.poll(() => peer.reset(book.key)).toBe(0);
    expect(await run).toMatchObject({ ok: false, session: "reset", error: { type: "RunCancelledError" } });
  });
});

// Everything that a namespace may hold, changed by a run that then can't end.
const SETUP = `
import json, re, datetime, decimal, asyncio, time, os, tempfile, sqlite3, random, io
from dataclasses import dataclass
from js import console, JSON as jsJSON, Object
from pyodide.ffi import to_js
plain = to_js([1, [2, 3]])
x = [1, 2, 3]
def f(n): return n + len(x)
def mk():
    n = 0
    def inc():
        nonlocal n
        n += 1
        return n
    return inc
inc = mk(); inc(); inc()
class C:
    z = 1
    def __init__(self): self.v = 10
    def m(self): return self.v + C.z
c = C()
def g():
    for i in range(1000): yield i
gen = g(); next(gen); next(gen)
async def ag():
    for i in range(100): yield i
agen = ag(); await agen.__anext__(); await agen.__anext__()
big = {i: 'v' * 64 + str(i) for i in range(80_000)}
dt = datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc)
rx = re.compile(r'(a)(b+)')
fh = open('/tmp/a.txt', 'w+'); fh.write('hello'); fh.flush()
fd2 = os.dup(fh.fileno())
tmp = tempfile.TemporaryFile(); tmp.write(b'orphan'); tmp.flush()
os.makedirs('/home/pyodide/dd', exist_ok=True)
with open('/home/pyodide/dd/q.txt', 'w') as q: q.write('Q')
os.symlink('q.txt', '/home/pyodide/dd/link')
os.chmod('/home/pyodide/dd/q.txt', 0o400)
os.utime('/home/pyodide/dd/q.txt', (1000, 2000))
os.chdir('/home/pyodide/dd')
os.environ['ZZ'] = '1'
random.seed(5)
ev = asyncio.Event()
db = sqlite3.connect(':memory:'); db.execute('create table t(a)'); db.execute('insert into t values (1)')
fdb = sqlite3.connect('/tmp/f.db'); fdb.execute('create table t(a)'); fdb.execute('insert into t values (7)'); fdb.commit()
@dataclass
class P:
    a: int
mono = time.monotonic()
`;
const CHECK = `
def chk():
    tmp.seek(0)
    return [x, f(1), inc.__closure__[0].cell_contents, c.m(), C.z, gen.gi_frame.f_locals['i'], agen.ag_frame.f_locals['i'], len(big), big[79_999], str(dt),
      rx.match('abbb').groups(), open('/tmp/a.txt').read(), fh.tell(), os.lseek(fd2, 0, os.SEEK_CUR), os.fstat(fd2).st_ino == os.stat('/tmp/a.txt').st_ino, tmp.read(),
      sorted(os.listdir('.')), os.readlink('link'), os.getcwd(), open('q.txt').read(), oct(os.stat('q.txt').st_mode), os.stat('q.txt').st_mtime, os.environ['ZZ'], hash(random.getstate()),
      ev.is_set(), sorted(k for k in globals() if not k.startswith('_') and k not in ('chk', 'mono', 'now_ok')), sorted(os.listdir('/tmp')), sorted(os.listdir('/')), plain.to_py(), jsJSON.stringify(plain),
      repr(P(3)), db.execute('select * from t').fetchall(), fdb.execute('select * from t').fetchall(), sorted(k for k in __import__('sys').modules if 'xml' in k)]
console.log # a method of a global
v = await call_tool('echo', {'q': 1})
now_ok = time.monotonic() >= mono; mono = time.monotonic()
return repr(chk()) + repr(v) + repr(now_ok)
`;
const TRASH = `
x.append(99); C.z = 7; c.v = -1; inc(); next(gen); newvar = 1; big.clear(); big2 = [bytes(1000) for _i in range(20000)]
def f(n): return 0
fh.write(' world' * 100); fh.flush(); fh.close(); os.close(fd2); tmp.close()
os.remove('/home/pyodide/dd/link'); os.chmod('q.txt', 0o600); os.remove('q.txt')
with open('new.txt', 'w') as n: n.write('n')
os.chdir('/tmp'); os.rename('/home/pyodide/dd', '/home/pyodide/ee'); os.mkdir('/other')
random.random(); os.environ['ZZ'] = '2'; ev.set(); await agen.__anext__()
import xml.dom.minidom, csv, html.parser
objs = [to_js([i]) for i in range(300)]
del console, jsJSON, dt
db.execute('insert into t values (2)'); fdb.execute('delete from t'); fdb.commit(); fdb.close()
`;
const ENDLESS = {
  "swallowed interrupts": "while True:\n  try:\n    while True: pass\n  except: pass",
  "a C loop": "sum(range(10**12))",
  "an endless await": "await asyncio.get_event_loop().create_future()",
  "a call without an answer": "await call_tool('never')",
  "time.sleep": "time.sleep(100)",
  "a grown memory":
    "b = [bytearray(20_000_000) for _i in range(5)]\nwhile True:\n  try:\n    while True: pass\n  except: pass",
};

describe("a run that doesn't end", () => {
  const book = new Notebook();
  let before = "";
  beforeAll(async () => {
    await book.value(SETUP);
    before = await book.value(CHECK);
    expect(before).toContain("True");
  });

  test.each(Object.entries(ENDLESS))("is rolled back: %s", async (_name, code) => {
    const run = await book.run(TRASH + code, { timeout: 500 });
    expect(run).toMatchObject({ ok: false, session: "rolled_back", error: { type: "RunTimeoutError" } });
    expect(run.error?.message).toContain("the session's namespace was rolled back");
    expect(run.error?.message).toContain("what it did on the host (calls, saved results) stands");
    expect(run.session_note).toBeUndefined();
    expect(await book.value(CHECK)).toBe(before);
  });

  test("is rolled back when it's stopped", async () => {
    const controller = new AbortController();
    peer.tools.set("started", () => {
      controller.abort();
      return "1";
    });
    const run = book.run(`${TRASH}\nawait call_tool('started')\nwhile True: pass`, { signal: controller.signal });
    await expect(run).rejects.toThrow("cancelled");
    await expect.poll(() => book.value(CHECK).catch(String), { timeout: 5000 }).toBe(before); // until then it's busy
  });

  test("is rolled back when its interpreter dies", async () => {
    const run = await book.run(`${TRASH}\nimport _pyodide_core\n_pyodide_core.trigger_fatal_error()`);
    expect(run).toMatchObject({ ok: false, session: "rolled_back", error: { type: "InterpreterError" } });
    expect(r.console.splice(0).join()).toContain("intentionally triggered");
    expect(await book.value(CHECK)).toBe(before);
  });

  test("goes on working after all that", async () => {
    const more =
      "x.append(4)\nfh.write('more'); fh.flush()\nfdb.execute('insert into t values (8)'); fdb.commit()\n" +
      "return [x, inc(), next(gen), await agen.__anext__(), open('/tmp/a.txt').read(), fdb.execute('select * from t').fetchall(), await call_tool('echo', {'a': 5})]";
    expect(await book.value(more)).toBe('[[1,2,3,4],3,2,2,"hellomore",[[7],[8]],{"a":5}]');
  });
});

describe("what can't be restored", () => {
  const spin = "while True: pass";

  test("is a tombstone, and the rest is there", async () => {
    const book = new Notebook();
    await book.value(
      "import js\ncontroller = js.AbortController.new()\nm = js.Map.new()\nm.set('a', 1)\nshared = js.Array.new(m)\nnow = js.performance.now\n1",
    );
    const run = await book.run(spin, { timeout: 200 });
    const next = await book.run("1"); // tells what a slow rollback couldn't tell in time
    expect([run.session, next.session]).toEqual(["rolled_back", "kept"]);
    expect(run.session_note ?? next.session_note).toBe(
      "lost JavaScript objects, which raise an error when they're used: AbortController",
    );
    expect(await book.value("return [m.get('a'), shared[0].get('a'), now() > 0]")).toBe("[1,1,true]");
    for (const use of ["controller.signal", "controller.abort()", "controller.x = 1", "dir(controller)"]) {
      const { error } = await book.run(use);
      expect(error?.message).toContain(
        "this JavaScript object (AbortController) was lost when the session was rolled back",
      );
    }
    expect(await book.value("del controller\n2")).toBe("2");
  });

  test("is said before it's lost", async () => {
    const book = new Notebook();
    const run = await book.run("import os\nends = os.pipe()");
    expect(run).toMatchObject({
      session: "new",
      session_note: "a run that times out or is stopped would lose this session, because a pipe or socket is open",
    });
    const closed = await book.run("for end in ends: os.close(end)");
    expect(closed).toMatchObject({ session: "kept" });
    expect(closed.session_note).toBeUndefined();
    await book.run("ends = os.pipe()");
    expect(await book.run(spin, { timeout: 200 })).toMatchObject({
      session: "lost",
      error: { message: expect.stringContaining("the session couldn't be restored (a pipe or socket is open)") },
    });
    expect(await book.run("'os' in globals()")).toMatchObject({ value: "false", session: "new" });
  });

  test("a run that only says that it's over is undone with the next one", async () => {
    const book = new Notebook();
    await book.value("x = 1");
    const forged = 'import _toolplane_host\nx = 2\n_toolplane_host.finish(\'{"ok":true,"value":5}\')\nwhile True: pass';
    expect(await book.run(forged)).toMatchObject({ ok: true, value: "5", session: "kept" });
    expect(await book.run("x = 3", { timeout: 200 })).toMatchObject({ session: "rolled_back" });
    expect(await book.value("x")).toBe("1");
  });
});

/** A page of its own, with sessions in it. */
async function elsewhere(options: RigOptions, use: (book: Notebook) => Promise<void>): Promise<void> {
  const other = await rig(options);
  try {
    await use(new Notebook(other.peer));
    expect(other.console).toEqual([]);
  } finally {
    await other.close();
  }
}

test("without a snapshot sessions are kept, and a run that doesn't end loses them", async () => {
  await elsewhere({ connect: { snapshot: false, pool: 1 } }, async (book) => {
    expect(await book.run("x = 1")).toMatchObject({
      session: "new",
      session_note: expect.stringContaining("Python was loaded without a snapshot"),
    });
    expect(await book.run("x")).toMatchObject({ value: "1", session: "kept" });
    expect(await book.run("while True: pass", { timeout: 200 })).toMatchObject({ session: "lost" });
    expect(await book.run("'x' in globals()")).toMatchObject({ value: "false", session: "new" });
  });
}, 60_000);

test("without shared memory states are moved", async () => {
  const prepare = (other: Peer): void => {
    other.isolated = false;
  };
  await elsewhere({ prepare }, async (book) => {
    await book.value(SETUP);
    const check = CHECK.replace("await call_tool('echo', {'q': 1})", "1");
    const before = await book.value(check);
    for (const code of ["sum(range(10**12))", "await asyncio.Event().wait()", "while True: pass"]) {
      expect(await book.run(TRASH + code, { timeout: 300 })).toMatchObject({ session: "rolled_back" });
      expect(await book.value(check)).toBe(before);
    }
  });
}, 60_000);
