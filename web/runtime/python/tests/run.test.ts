// A run from start to finish: what it's given, how it ends, what it leaves behind.
import { beforeAll, describe, expect, test } from "vitest";
import { lines, Sandbox } from "./sandbox";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await Sandbox.create();
  sandbox.bindIssues();
});

const never = () => new Promise<string>(() => {});

describe("inputs", () => {
  test("are in `inputs`, and globals where the name is free", async () => {
    const inputs = '{"rows":[1,2],"two words":3,"list":4,"issues":5,"class":6,"_n":7}';
    const code = lines(
      "taken = [list is type([]), repr(issues)[:6]]",
      "return [rows, _n, taken, inputs['two words'], inputs['list'], inputs['issues'], inputs['class']]",
    );
    expect((await sandbox.run(code, { inputs })).value).toEqual([[1, 2], 7, [true, "<tools"], 3, 4, 5, 6]);
  });

  test("leave no trace in the namespace", async () => {
    await sandbox.run("mine = 'before'");
    await sandbox.run("x = [given, mine]\nkept = given\nassigned = 'by the snippet'", {
      inputs: '{"given":[1],"mine":2,"assigned":3}',
    });
    const code = "['given' in globals(), 'inputs' in globals(), mine, kept, assigned]";
    expect((await sandbox.run(code)).value).toEqual([false, true, "before", [1], "by the snippet"]);
  });

  test("without any, `inputs` is an empty dict", async () => {
    expect((await sandbox.run("inputs")).value).toEqual({});
  });

  test("don't outlive their run", async () => {
    const count = "import gc\nreturn sum(o == [5, 6, 7] for o in gc.get_objects() if type(o) is list)";
    expect((await sandbox.run(count, { inputs: '{"big":[5,6,7]}' })).value).toBe(1);
    expect((await sandbox.run(count)).value).toBe(0);
  });

  test("may be deleted by the snippet", async () => {
    expect((await sandbox.run("del gone, none\nreturn 1", { inputs: '{"gone":[1],"none":null}' })).value).toBe(1);
  });

  test("leave no trace when the run fails either", async () => {
    await sandbox.run("1 / 0", { inputs: '{"failing":[1]}' });
    expect((await sandbox.run("'failing' in globals()")).value).toBe(false);
  });
});

describe("the previous value", () => {
  test("is `_`, and None without one", async () => {
    expect((await sandbox.run("_", { seed: true, previous: '{"a":1.0}' })).valueText).toBe('{"a":1.0}');
    expect((await sandbox.run("_", { seed: true })).value).toBe(null);
  });

  test("is the last one that was returned, the very object, where runs share a namespace", async () => {
    await sandbox.run("shared = [1]\nshared", { seed: true, previous: "5" });
    await sandbox.run("for _ in range(3): pass\n1 / 0");
    expect((await sandbox.run("return [_, _ is shared]", { previous: "6" })).value).toEqual([[1], true]);
    expect((await sandbox.run("return _[1]")).value).toBe(true);
  });
});

describe("a run that fails", () => {
  const cases: [name: string, code: string, expected: object][] = [
    ["an exception", "raise ValueError('v')", { type: "ValueError", builtin: "ValueError", message: "v" }],
    ["a KeyError", "{}['k']", { type: "KeyError", builtin: "LookupError", message: "'k'" }],
    ["a file that isn't there", "open('/nope')", { type: "FileNotFoundError", builtin: "RuntimeError" }],
    ["a subclass of a builtin", "import json\njson.loads('{')", { type: "JSONDecodeError", builtin: "ValueError" }],
    [
      "no text: the line instead",
      "x = 1\nassert x == 2",
      { type: "AssertionError", message: "AssertionError on line 2: assert x == 2" },
    ],
    [
      "a class of the user's",
      "class Mine(Exception): pass\nraise Mine('m')",
      { type: "Mine", builtin: "RuntimeError", message: "m" },
    ],
    [
      "a BaseException of the user's",
      "class Mine(BaseException): pass\nraise Mine('m')",
      { type: "Mine", builtin: "RuntimeError" },
    ],
    [
      "sys.exit()",
      "import sys\nsys.exit()",
      { type: "SystemExit", message: "the snippet called sys.exit(); to end it early, return" },
    ],
    [
      "sys.exit('why')",
      "import sys\nsys.exit('why')",
      { type: "SystemExit", message: "the snippet called sys.exit('why'); to end it early, return" },
    ],
    ["exit()", "exit(2)", { type: "SystemExit", builtin: "RuntimeError" }],
    [
      "sys.exit() in a task",
      "import asyncio, sys\nasync def f(): sys.exit(3)\nawait asyncio.gather(f(), asyncio.sleep(60))",
      { type: "SystemExit" },
    ],
    [
      "KeyboardInterrupt",
      "raise KeyboardInterrupt",
      { type: "KeyboardInterrupt", message: "the snippet was interrupted" },
    ],
    ["GeneratorExit", "raise GeneratorExit", { type: "GeneratorExit", builtin: "RuntimeError" }],
    ["StopIteration", "next(iter([]))", { type: "RuntimeError", message: "coroutine raised StopIteration" }],
    [
      "its own cancellation",
      "import asyncio\nasyncio.current_task().cancel()\nawait asyncio.sleep(60)",
      { type: "CancelledError" },
    ],
    [
      "a MemoryError",
      "raise MemoryError",
      { type: "MemoryError", builtin: "MemoryError", message: /ran out of memory/ },
    ],
    [
      "endless recursion",
      "def f(): return f()\nf()",
      { type: "RecursionError", message: "maximum recursion depth exceeded" },
    ],
    [
      "an error without a text of its own",
      "class Mine(Exception):\n  def __str__(self): raise OSError\nraise Mine",
      { message: "(the error's own text could not be made)" },
    ],
    ["a lone surrogate in the text", "raise ValueError('a\\ud800b')", { message: "a\\ud800b" }],
    [
      "a group",
      "raise ExceptionGroup('g', [ValueError('a')])",
      { type: "ExceptionGroup", message: "g (1 sub-exception)" },
    ],
    [
      "input()",
      "input('name? ')",
      { type: "UnavailableError", message: /^input\(\) has nobody to ask.*inputs\["name"\]$/ },
    ],
    ["sys.stdin", "import sys\nfor line in sys.stdin: pass", { type: "UnavailableError" }],
    ["breakpoint()", "breakpoint()", { type: "UnavailableError", message: /^breakpoint\(\) has no debugger/ }],
    ["pdb", "import pdb\npdb.set_trace()", { type: "UnavailableError" }],
    [
      "os._exit()",
      "import os\nos._exit(1)",
      { type: "UnavailableError", message: /to end the snippet early, return$/ },
    ],
    ["os.abort()", "import os\nos.abort()", { type: "UnavailableError" }],
    [
      "asyncio.run()",
      "import asyncio\nasync def main(): pass\nasyncio.run(main())",
      { type: "RuntimeError", message: /write: await main\(\)$/ },
    ],
    [
      "asyncio.run() of a call",
      "import asyncio\nasyncio.run(issues_list())",
      { type: "RuntimeError", message: /write: await issues_list\(\)$/ },
    ],
    [
      "run_until_complete()",
      "import asyncio\nasync def main(): pass\nasyncio.get_event_loop().run_until_complete(main())",
      { message: /write: await main\(\)$/ },
    ],
  ];
  test.each(cases)("%s", async (_name, code, expected) => {
    const { ok, error, log } = await sandbox.run(code);
    expect(ok).toBe(false);
    const matchers = Object.entries(expected).map(([key, value]) => [
      key,
      value instanceof RegExp ? expect.stringMatching(value) : value,
    ]);
    expect(error).toMatchObject(Object.fromEntries(matchers));
    expect(error?.traceback).not.toMatch(/<toolplane>|python314|pyodide/);
    expect(log.filter((line) => line === "disarm")).toHaveLength(1);
  });

  test("sys.exit() in a background task ends the run", async () => {
    const code =
      "import asyncio, sys\nasync def f(): sys.exit(3)\nt = asyncio.create_task(f())\nawait asyncio.sleep(60)";
    expect((await sandbox.run(code)).error).toMatchObject({ type: "SystemExit" });
  });

  test("a huge message and traceback are cut in the middle", async () => {
    const { error } = await sandbox.run("raise ValueError('a' + 'x' * 10**6 + 'z')");
    expect(error?.message).toMatch(/^ax+\n… 934,466 characters left out …\nx+z$/);
    expect(error?.message.length).toBeLessThan(70_000);
    expect(error?.traceback).toMatch(/characters left out/);
    expect(error?.traceback.length).toBeLessThan(140_000);
  });

  test("the standard library's frames aren't shown, the user's modules are", async () => {
    const code = lines(
      "import pathlib, sys, json",
      "pathlib.Path('my_mod.py').write_text('import json\\ndef parse(x):\\n    return json.loads(x)\\n')",
      "sys.path.insert(0, '')",
      "import my_mod",
      "try:",
      "  my_mod.parse('{')",
      "finally:",
      "  sys.path.pop(0)",
    );
    const { error } = await sandbox.run(code);
    expect(error?.traceback.match(/File ".*"/g)).toEqual([
      expect.stringContaining("<snippet>"),
      'File "/home/pyodide/my_mod.py"',
    ]);
    expect(error?.traceback).toContain("    return json.loads(x)\n           ~~~~~~~~~~^^^\n");
  });

  test("a TimeoutError has no cause from within asyncio", async () => {
    const { error } = await sandbox.run("import asyncio\nawait asyncio.wait_for(asyncio.sleep(9), 0.01)", {
      filename: "t.py",
    });
    expect(error).toMatchObject({ type: "TimeoutError", builtin: "TimeoutError" });
    expect(error?.traceback).toMatch(
      /^Traceback \(most recent call last\):\n {2}File "t\.py", line 2[\s\S]*\nTimeoutError\n$/,
    );
    expect(error?.traceback).not.toContain("CancelledError");
  });

  test("notes, causes and contexts of the user's own stay", async () => {
    const code = lines(
      "try:",
      "  {}['k']",
      "except KeyError as e:",
      "  new = ValueError('v')",
      "  new.add_note('a note')",
      "  raise new from e",
    );
    const { error } = await sandbox.run(code);
    expect(error?.traceback).toMatch(
      /KeyError: 'k'\n\nThe above exception was the direct cause[\s\S]*ValueError: v\na note\n$/,
    );
  });

  test("code of the user's in the standard library's place doesn't matter", async () => {
    const patches = lines(
      "import json, time, traceback",
      "kept = json.dumps, json.loads, json.JSONEncoder.default, time.monotonic",
      "json.dumps = json.loads = json.JSONEncoder.default = lambda *a, **k: 1 / 0",
      "time.monotonic = lambda: 0",
      "raise ValueError('mine')",
    );
    expect((await sandbox.run(patches)).error).toMatchObject({ type: "ValueError", message: "mine" });
    const restore = "json.dumps, json.loads, json.JSONEncoder.default, time.monotonic = kept\nreturn {'a': 1}";
    expect((await sandbox.run(restore)).value).toEqual({ a: 1 });
  });

  test("a request that isn't one fails the run, not the interpreter", async () => {
    expect((await sandbox.raw("{")).error?.type).toBe("JSONDecodeError");
    expect((await sandbox.raw('{"filename":"x"}')).error?.type).toBe("KeyError");
    expect((await sandbox.run("1")).value).toBe(1);
  });
});

describe("interrupts", () => {
  const interrupted: [name: string, code: string][] = [
    ["a loop", "while True: pass"],
    ["a loop in a task", "import asyncio\nasync def f():\n  while True: pass\nawait asyncio.gather(f())"],
    [
      "a loop in a background task",
      "import asyncio\nasync def f():\n  while True: pass\nt = asyncio.create_task(f())\nawait asyncio.sleep(60)",
    ],
    [
      "a loop in a left-over task",
      "import asyncio\nasync def f():\n  try: await asyncio.sleep(60)\n  finally:\n    while True: pass\nt = asyncio.create_task(f())\nawait asyncio.sleep(0)",
    ],
    [
      "a loop in a callback",
      "import asyncio\ndef f():\n  while True: pass\nasyncio.get_running_loop().call_soon(f)\nawait asyncio.sleep(60)",
    ],
    ["regular expressions", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')"],
  ];
  test.each(interrupted)("end %s", async (_name, code) => {
    const { error, log } = await sandbox.run(code, { interruptAfter: 100 });
    expect(error).toMatchObject({ type: "KeyboardInterrupt", builtin: "RuntimeError" });
    expect(log).toEqual(["disarm"]);
    expect((await sandbox.run("1")).value).toBe(1);
  });
});

describe("what a run leaves behind", () => {
  test("tasks are cancelled, and their clean-up runs", async () => {
    const code = lines(
      "import asyncio",
      "async def f():",
      "  try: await asyncio.sleep(60)",
      "  finally: print('cleaned up')",
      "t = asyncio.create_task(f())",
      "await asyncio.sleep(0)",
      "return 1",
    );
    expect(await sandbox.run(code)).toMatchObject({ value: 1, stdout: "cleaned up\n" });
    expect((await sandbox.run("t.cancelled()")).value).toBe(true);
  });

  test("a task that refuses to end holds up the result for a bounded time", async () => {
    const code = lines(
      "import asyncio",
      "stop = False",
      "async def f():",
      "  while not stop:",
      "    try: await asyncio.sleep(0.01)",
      "    except asyncio.CancelledError: pass",
      "t = asyncio.create_task(f())",
      "await asyncio.sleep(0)",
      "return 1",
    );
    const began = performance.now();
    expect((await sandbox.run(code)).value).toBe(1);
    expect(performance.now() - began).toBeLessThan(2_000);
    expect((await sandbox.run("stop = True\nawait t\nreturn 2")).value).toBe(2);
  });

  test("a task that cancels the run's own task doesn't stop the result", async () => {
    const code = lines(
      "import asyncio",
      "everyone = asyncio.all_tasks()",
      "async def f():",
      "  for _ in range(50):",
      "    try: await asyncio.sleep(0.001)",
      "    except asyncio.CancelledError: pass",
      "    for task in everyone: task.cancel()",
      "t = asyncio.create_task(f())",
      "await asyncio.sleep(0)",
      "return 1",
    );
    expect((await sandbox.run(code)).value).toBe(1);
  });

  test("calls in flight are given up, and a late answer is dropped", async () => {
    let settle: (json: string) => void = () => {};
    const answer = () => new Promise<string>((resolve) => (settle = resolve));
    const code = "import asyncio\nt = asyncio.create_task(issues_list())\nawait asyncio.sleep(0)\nreturn 1";
    const first = await sandbox.run(code, { answer });
    expect(first.log).toEqual(["send plugin:issues/list {}", expect.stringMatching(/^cancel \d+$/), "disarm"]);
    settle('"late"');
    expect((await sandbox.run("await issues_list()", { answer: () => '"new"' })).value).toBe("new");
  });

  test("a call made after its run has ended is refused", async () => {
    await sandbox.run(
      "import asyncio\nlate = []\nasyncio.get_running_loop().call_later(0.05, lambda: late.append(issues_list()))",
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { error, log } = await sandbox.run("await late[0]");
    expect(error).toMatchObject({ type: "RunOverError", message: "issues_list was called after its run had ended" });
    expect(log).toEqual(["disarm"]);
  });

  test("each run finishes once, whatever happens", async () => {
    const before = sandbox.finishes;
    for (const code of [
      "1",
      "1 / 0",
      ")",
      "issues_list()",
      "import sys; sys.exit()",
      "{1}",
      "raise KeyboardInterrupt",
    ]) {
      await sandbox.run(code, { answer: never });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(sandbox.finishes - before).toBe(7);
  });
});

describe("output", () => {
  const cases: [name: string, code: string, stdout: string, stderr?: string][] = [
    ["print", "print('a', 1)", "a 1\n"],
    ["no newline", "print('a', end='')", "a"],
    ["stderr", "import sys\nprint('e', file=sys.stderr)", "", "e\n"],
    ["bytes", "import sys\nsys.stdout.buffer.write(b'\\xe2\\x82\\xac');", "€"],
    ["a lone surrogate", "print('a\\ud800b')", "a\\ud800b\n"],
    ["stdout set to None", "import sys\nprint('before')\nsys.stdout = None\nprint('after')", "before\n"],
    ["stdout closed", "import sys\nprint('before', end='')\nsys.stdout.close()", "before"],
    ["stdout detached", "import sys\nprint('before', end='')\nsys.stdout.detach()\nNone", "before"],
    [
      "stdout replaced",
      "import io, sys\nsys.stdout = io.StringIO()\nprint('kept')\nprint(sys.stdout.getvalue(), file=sys.stderr)",
      "",
      "kept\n\n",
    ],
    [
      "redirected",
      "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as f: print('x')\nprint(f.getvalue().upper(), end='')",
      "X\n",
    ],
    [
      "a stream that can't be flushed",
      "import sys\nclass S:\n  def write(self, t): pass\n  def flush(self): raise BaseException\nsys.stdout = S()\nprint(1)",
      "",
    ],
    ["all at once", "import sys\nsys.stdout.write('x' * 100_000);", "x".repeat(100_000)],
  ];
  test.each(cases)("%s", async (_name, code, stdout, stderr = "") => {
    expect(await sandbox.run(code)).toMatchObject({ ok: true, stdout, stderr });
    expect(await sandbox.run("print('next')")).toMatchObject({ stdout: "next\n", stderr: "" });
  });

  test("what was printed before an error is there", async () => {
    expect(await sandbox.run("print('a', end='')\n1 / 0")).toMatchObject({ ok: false, stdout: "a" });
  });
});
