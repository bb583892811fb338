// How a snippet's source becomes code: top-level await and return, names that stay, lines and carets, refusals.
import { beforeAll, describe, expect, test } from "vitest";
import { lines, Sandbox } from "./sandbox";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await Sandbox.create();
  sandbox.bindIssues();
});

describe("values", () => {
  const cases: [name: string, code: string, value: string, stdout?: string][] = [
    ["return", "return 1", "1"],
    ["return without a value", "return", "null"],
    ["return in a loop", "for i in range(9):\n  if i == 4: return i", "4"],
    ["return in try/finally", "try:\n  return 1\nfinally:\n  print('finally')", "1", "finally\n"],
    ["return isn't an exception", "try:\n  return 1\nexcept BaseException as e:\n  print('caught', e)", "1"],
    ["return in with", "import contextlib\nwith contextlib.suppress(BaseException):\n  return 2\nreturn 3", "2"],
    ["last expression", "x = 20\nx + 1", "21"],
    ["last expression over lines", "(1 +\n 2\n)", "3"],
    ["last expression with a comment", "5  # five;", "5"],
    ["a string with a semicolon", "'a;b'", '"a;b"'],
    ["semicolon", "5;", "null"],
    ["semicolon and comment", "5 ; # five", "null"],
    ["semicolon after lines", "(1 +\n 2);", "null"],
    ["semicolon behind non-ASCII text", "'naïve 😀';", "null"],
    ["statements before a semicolon", "x = 1; x", "1"],
    ["a return elsewhere: the last expression isn't the value", "if False: return 1\n5", "null"],
    ["a return in a function doesn't count", "def f(): return 1\nf() + 1", "2"],
    ["an assignment last", "y = 7", "null"],
    ["nothing", "", "null"],
    ["only a comment", "# nothing", "null"],
    ["top-level await", "import asyncio\nawait asyncio.sleep(0, 'slept')", '"slept"'],
    ["await in a comprehension", "import asyncio\n[await asyncio.sleep(0, i) for i in range(3)]", "[0,1,2]"],
    [
      "async for and async with",
      lines(
        "import asyncio, contextlib",
        "@contextlib.asynccontextmanager",
        "async def m(): yield [1, 2]",
        "async def g():",
        "  for i in 3, 4: yield i",
        "out = []",
        "async with m() as a: out += a",
        "async for i in g(): out.append(i)",
        "out",
      ),
      "[1,2,3,4]",
    ],
    ["import *", "from os.path import *\njoin('a', 'b')", '"a/b"'],
    ["import * in a block", "if True:\n  from math import *\nfloor(2.5)", "2"],
    ["annotated assignment", "n: int = 5\nn", "5"],
    ["annotation without a value", "fresh_name: int\n'fresh_name' in globals()", "false"],
    ["annotated attribute", "class A: pass\na = A()\na.x: int = 3\na.x", "3"],
    ["future import", "from __future__ import annotations\ndef f(x: Nope): pass\nf.__annotations__", '{"x":"Nope"}'],
    ["future import after a docstring", '"""doc"""\nfrom __future__ import annotations\n1', "1"],
    ["module names", "[__name__, (lambda: 0).__qualname__, locals() is globals()]", '["__main__","<lambda>",true]'],
    [
      "names of functions and classes",
      "def f(): pass\nclass C:\n  def m(self): pass\n[f.__qualname__, C.m.__qualname__]",
      '["f","C.m"]',
    ],
    ["names of nested functions", "def f():\n  def g(): pass\n  return g\nf().__qualname__", '"f.<locals>.g"'],
    [
      "type parameters",
      "type T = list[int]\ndef f[S](x: S) -> S: return x\n[T.__name__, f(3), f.__qualname__]",
      '["T",3,"f"]',
    ],
    ["functions see later assignments", "v = 1\ndef f(): return v\nv = 2\nf()", "2"],
    ["a walrus in a comprehension", "[m := k for k in range(3)]\nm", "2"],
    ["match", "match {'a': [1, 2]}:\n  case {'a': [first, *rest], **other}: pass\n[first, rest, other]", "[1,[2],{}]"],
    ["exec makes globals", "exec('made = 1')\nmade", "1"],
    ["del", "gone = 1\ndel gone\n'gone' in globals()", "false"],
    ["an explicit global", "global g\ng = 4\ng", "4"],
    ["a deep chain of elif", `x = 150\n${elifChain(200)}\ny`, "150"],
    ["Windows line ends", "a = 1\r\nb = 2\r\na + b\r\n", "3"],
    ["a byte order mark", "\ufeff1 + 1", "2"],
    ["the previous value", "_ * 2", "42"],
  ];
  test.each(cases)("%s", async (_name, code, value, stdout = "") => {
    const result = await sandbox.run(code, { previous: "21", seed: true });
    expect(result.error).toBeUndefined();
    expect(result.valueText).toBe(value);
    expect(result.stdout).toBe(stdout);
  });

  test("names stay for the next run", async () => {
    await sandbox.run(
      "import collections as c\nkept = 1\ndef f(): return kept\nclass K: x = 5\nfor loop in range(3): pass",
    );
    const result = await sandbox.run("kept = 2\n[f(), K.x, loop, c.__name__]");
    expect(result.valueText).toBe('[2,5,2,"collections"]');
  });

  test("a name of a comprehension doesn't stay", async () => {
    expect((await sandbox.run("[only_here for only_here in [1]]\n'only_here' in globals()")).valueText).toBe("false");
  });

  test("warnings of the compiler come once", async () => {
    const { stderr } = await sandbox.run("x = 5\nx is 5;", { filename: "w.py" });
    expect(stderr.match(/SyntaxWarning/g)).toHaveLength(1);
    expect(stderr).toContain("w.py:2: SyntaxWarning");
  });
});

describe("syntax errors show the user's line", () => {
  const cases: [name: string, code: string, message: string, line: number, shown: string][] = [
    ["unclosed", "x = 1\ny = (2", "'(' was never closed (line 2)", 2, "    y = (2\n        ^\n"],
    ["indentation", "x = 1\n  y = 2", "unexpected indent (line 2)", 2, "    y = 2\n"],
    ["break", "break", "'break' outside loop (line 1)", 1, "    break\n    ^^^^^\n"],
    ["yield", "x = 1\nx = yield x", "'yield' outside function (line 2)", 2, "    x = yield x\n        ^^^^^^^\n"],
    [
      "yield in a loop",
      "for i in []:\n  yield i",
      "'yield' outside function (line 2)",
      2,
      "    yield i\n    ^^^^^^^\n",
    ],
    [
      "yield from",
      "yield from []",
      "'yield from' outside function (line 1)",
      1,
      "    yield from []\n    ^^^^^^^^^^^^^\n",
    ],
    ["yield in a default", "def f(x=(yield)): pass", "'yield' outside function (line 1)", 1, "             ^^^^^\n"],
    ["nonlocal", "nonlocal q", "no binding for nonlocal 'q' found (line 1)", 1, "    nonlocal q\n    ^^^^^^^^^^\n"],
    [
      "late global",
      "z = 1\nglobal z",
      "name 'z' is assigned to before global declaration (line 2)",
      2,
      "    global z\n",
    ],
    [
      "await in a plain function",
      "def f():\n  await g()",
      "'await' outside async function (line 2)",
      2,
      "    await g()\n",
    ],
    [
      "import * in a function",
      "def f():\n  from math import *",
      "import * only allowed at module level (line 2)",
      2,
      "    from math import *\n",
    ],
    [
      "late future import",
      "x = 1\nfrom __future__ import annotations",
      "from __future__ imports must occur at the beginning of the file (line 2)",
      2,
      "    from __future__ import annotations\n",
    ],
    [
      "non-ASCII columns",
      "ä = 'ö'; yield",
      "'yield' outside function (line 1)",
      1,
      "    ä = 'ö'; yield\n             ^^^^^\n",
    ],
  ];
  test.each(cases)("%s", async (_name, code, message, line, shown) => {
    const { ok, error } = await sandbox.run(code, { filename: "s.py" });
    expect(ok).toBe(false);
    expect(error?.type).toMatch(/^(Syntax|Indentation)Error$/);
    expect(error?.builtin).toBe("RuntimeError");
    expect(error?.message).toBe(message);
    expect(error?.traceback).toMatch(new RegExp(`^  File "s\\.py( \\(\\d+\\))?", line ${line}\n`));
    expect(error?.traceback).toContain(shown);
    expect(error?.traceback).not.toContain("<toolplane>");
  });

  test("a null character and a lone surrogate are syntax errors too", async () => {
    expect((await sandbox.run("x\0")).error?.message).toContain("null bytes");
    expect((await sandbox.run("'\ud800'")).error).toMatchObject({ type: "SyntaxError" });
  });

  test("no statement runs before the whole snippet is known to be right", async () => {
    expect((await sandbox.run("print('ran')\n)")).stdout).toBe("");
  });
});

describe("a Toolplane name can't be assigned to", () => {
  const refused: [code: string, line: number][] = [
    ["save_result = 1", 1],
    ["x = 1\nx, (issues, y) = 1, (2, 3)", 2],
    ["issues: int = 1", 1],
    ["issues += 1", 1],
    ["(issues := 1)", 1],
    ["[issues := k for k in [1]]", 1],
    ["for call_tool in []: pass", 1],
    ["import issues", 1],
    ["import os as issues_list", 1],
    ["from os import path as issues", 1],
    ["def load_result(): pass", 1],
    ["class ToolError: pass", 1],
    ["try: pass\nexcept OSError as issues: pass", 2],
    ["with open('x') as issues: pass", 1],
    ["match 1:\n  case issues: pass", 2],
    ["match {}:\n  case {**issues}: pass", 2],
    ["match []:\n  case [*issues]: pass", 2],
    ["del save_result", 1],
    ["def f():\n  global issues\n  issues = 1", 2],
    ["if True:\n  while True:\n    issues = 1", 3],
    ["type issues = int", 1],
  ];
  test.each(refused)("%j", async (code, line) => {
    const { error, log } = await sandbox.run(`print('ran')\n${code}`);
    expect(error).toMatchObject({ type: "BindingError", builtin: "RuntimeError" });
    expect(error?.message).toMatch(
      /^\w+ can't be assigned to, because Toolplane provides it; use another name, such as my_/,
    );
    expect(error?.message).toContain(`(line ${line + 1})`);
    expect(log).toEqual(["disarm"]);
  });

  const allowed = [
    "def f(issues): return issues\nf(1)",
    "def f():\n  issues = 1\n  return issues\nf()",
    "[issues for issues in [1]][0]",
    "(lambda issues: issues)(1)",
    "class C:\n  issues = 1\nC.issues",
    "inputs = 1\ninputs",
    "dict(issues=1)['issues']",
  ];
  test.each(allowed)("%j is fine", async (code) => {
    expect((await sandbox.run(code)).valueText).toBe("1");
  });

  test("the bindings are back in the next run", async () => {
    await sandbox.run("globals()['save_result'] = 1; globals().pop('issues')");
    expect((await sandbox.run("[callable(save_result), repr(issues)]")).valueText).toBe(
      '[true,"<tools of issues: get, list>"]',
    );
  });
});

describe("tracebacks", () => {
  test("have the user's lines with carets", async () => {
    const code = lines("def divide(a, b):", "    return a / b", "", "x = [", "  1,", "  divide(1, 0),", "]");
    const { error } = await sandbox.run(code, { filename: "a.py" });
    expect(error).toEqual({
      type: "ZeroDivisionError",
      builtin: "RuntimeError",
      message: "division by zero",
      traceback: lines(
        "Traceback (most recent call last):",
        '  File "a.py", line 6, in <module>',
        "    divide(1, 0),",
        "    ~~~~~~^^^^^^",
        '  File "a.py", line 2, in divide',
        "    return a / b",
        "           ~~^~~",
        "ZeroDivisionError: division by zero",
        "",
      ),
    });
  });

  test("a function of an earlier run keeps its own lines", async () => {
    await sandbox.run("def old():\n    raise ValueError('the old line')", { filename: "same.py" });
    const { error } = await sandbox.run("# another source\n\nold()", { filename: "same.py" });
    expect(error?.traceback).toContain('File "same.py (2)", line 3, in <module>\n    old()');
    expect(error?.traceback).toContain("File \"same.py\", line 2, in old\n    raise ValueError('the old line')");
  });

  test("the same source keeps its file name", async () => {
    for (let i = 0; i < 3; i++) {
      expect((await sandbox.run("1 / 0", { filename: "again.py" })).error?.traceback).toContain(
        'File "again.py", line 1',
      );
    }
  });

  test("a restored interpreter starts with fresh file names", async () => {
    await sandbox.run("1", { filename: "r.py" });
    expect((await sandbox.run("1 / 0", { filename: "r.py", seed: true })).error?.traceback).toContain(
      'File "r.py", line 1',
    );
  });
});

function elifChain(n: number): string {
  const branches = Array.from({ length: n }, (_, i) => `elif x == ${i}: y = ${i}`);
  return ["if x == -1: y = -1", ...branches].join("\n");
}
