// Capability calls that nobody awaited: found wherever they hide, and nothing else is.
import { beforeAll, describe, expect, test } from "vitest";
import { Sandbox } from "./sandbox";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await Sandbox.create();
  sandbox.bindIssues();
});

const never = () => new Promise<string>(() => {});

describe("a call that nobody awaited", () => {
  const cases: [name: string, code: string, text: string, line: number][] = [
    ["discarded", "x = 1\nissues_list(count=5)\nreturn x", "issues_list(count=5)", 2],
    ["the last expression", "issues_list()", "issues_list()", 1],
    ["returned", "return issues.list(count=5)", "issues.list(count=5)", 1],
    ["in a list", "return [1, [issues_list()]]", "issues_list()", 1],
    ["in a dict", "return {'a': issues_list()}", "issues_list()", 1],
    ["as a key", "return {issues_list(): 1}", "issues_list()", 1],
    ["in a set", "x = {issues_list()}", "issues_list()", 1],
    ["assigned", "x = issues_list()\nreturn 1", "issues_list()", 1],
    ["printed", "x = issues_list()\nprint(x)", "issues_list()", 1],
    ["formatted", "x = issues_list()\ny = f'{x}'", "issues_list()", 1],
    ["in an object", "class A: pass\na = A()\na.x = issues_list()", "issues_list()", 3],
    ["in a closure", "def f():\n  x = issues_list()\n  return lambda: x\ng = f()", "issues_list()", 2],
    ["from a comprehension", "x = [issues_get(id=i) for i in range(3)]", "issues_get(id=i)", 1],
    ["in a function", "def f():\n  issues_list()\nf()", "issues_list()", 2],
    ["compared", "x = issues_list() == 5", "issues_list()", 1],
    ["as a condition", "if issues_list(): pass", "issues_list()", 1],
    ["save_result", "save_result([1])", "save_result([1])", 1],
    ["load_result", "x = load_result('res_1')", "load_result('res_1')", 1],
    ["call_tool", "call_tool('plugin:issues/get', {'id': 1})", "call_tool('plugin:issues/get', {'id': 1})", 1],
    ["over lines", "x = issues_list(\n  count=5,\n)", "issues_list( count=5, )", 1],
    ["behind non-ASCII text", "x = 'é😀', issues_list()", "issues_list()", 1],
    ["with arguments that are refused", "issues_list(5)", "issues_list(5)", 1],
    [
      "gather",
      "import asyncio\nr = asyncio.gather(issues_list(), issues_get(id=1))",
      "asyncio.gather(issues_list(), issues_get(id=1))",
      2,
    ],
    [
      "gather, answered meanwhile",
      "import asyncio\nr = asyncio.gather(issues_list())\nawait asyncio.sleep(0.02)",
      "asyncio.gather(issues_list())",
      2,
    ],
    ["gather, returned", "import asyncio\nreturn asyncio.gather(issues_list())", "asyncio.gather(issues_list())", 2],
    [
      "gather of gather",
      "import asyncio\nr = asyncio.gather(asyncio.gather(issues_list()))",
      "asyncio.gather(asyncio.gather(issues_list()))",
      2,
    ],
    [
      "gather of answered calls",
      "import asyncio\nc = issues_list()\nawait asyncio.sleep(0.02)\nr = asyncio.gather(c)",
      "asyncio.gather(c)",
      4,
    ],
    ["asyncio.wait", "import asyncio\nr = asyncio.wait([issues_list()])\nr.close()", "issues_list()", 2],
  ];
  test.each(cases)("%s", async (_name, code, text, line) => {
    const { ok, error, stderr } = await sandbox.run(code, { filename: "u.py", answer: () => "[]" });
    expect(ok).toBe(false);
    const message = `${text} on line ${line} was called but never awaited, so its answer is lost; write: await ${text}`;
    expect(error).toMatchObject({ type: "UnawaitedToolCallError", builtin: "RuntimeError", message });
    expect(error?.traceback).toMatch(new RegExp(`^Traceback .*\n {2}File "u\\.py[^"]*", line ${line}, in `));
    expect(error?.traceback).toContain(`\nUnawaitedToolCallError: ${message}\n`);
    expect(error?.traceback).not.toContain("<toolplane>");
    expect(stderr).toBe("");
  });

  test("several calls", async () => {
    const { error } = await sandbox.run(
      "issues_list()\nx = 1\nissues_get(id=1)\nfor i in range(3):\n  issues_get(id=i)",
    );
    expect(error?.message).toBe(
      "issues_list() on line 1 was called but never awaited, so its answer is lost; write: await issues_list() (also on lines 3, 5)",
    );
  });

  test("prints as what it is", async () => {
    const { stdout } = await sandbox.run("x = issues_list()\nprint(x)\nawait x\nprint(x);", { answer: () => "1" });
    expect(stdout).toBe(
      "<not awaited: issues_list() on line 1; write: await issues_list()>\n<issues_list() on line 1, finished>\n",
    );
  });

  const used: [code: string, line: number][] = [
    ["x = issues_list()\nx['issues']", 2],
    ["x = issues_list()\nfor row in x: pass", 2],
    ["x = issues_list()\nlen(x)", 2],
    ["x = issues_list()\n'a' in x", 2],
    ["x = issues_list()\nx['a'] = 1", 2],
    ["x = issues_list()\nx.items()", 2],
    ["a, b = issues_list()", 1],
    ["await save_result(issues_list())", 1],
    ["await save_result({'rows': [issues_list()]})", 1],
    ["await issues_get(id=issues_list())", 1],
    ["await load_result(save_result([1]))", 1],
  ];
  test.each(used)("used as if it were its answer: %j", async (code, line) => {
    const { error } = await sandbox.run(code, { filename: "v.py" });
    expect(error).toMatchObject({ type: "UnawaitedToolCallError" });
    expect(error?.message).toMatch(/ on line 1 was called but never awaited, so its answer is lost; write: await /);
    expect(error?.traceback).toMatch(new RegExp(`^Traceback .*\n {2}File "v\\.py[^"]*", line ${line}, in <module>\n`));
    expect(error?.traceback).not.toContain("<toolplane>");
  });

  test("the snippet's own error wins, and says so if the call is behind it", async () => {
    const own = await sandbox.run("issues_list()\nraise KeyError('mine')");
    expect(own.error).toMatchObject({ type: "KeyError", message: "'mine'" });
    const behind = await sandbox.run("x = issues_list()\n1 + x");
    expect(behind.error?.type).toBe("TypeError");
    expect(behind.error?.message).toBe(
      "unsupported operand type(s) for +: 'int' and 'ToolCall'; " +
        "issues_list() on line 1 was called but never awaited, so its answer is lost; write: await issues_list()",
    );
  });

  test("hasattr and getattr with a default work as on anything else", async () => {
    const code =
      "x = issues_list()\ny = [hasattr(x, 'items'), getattr(x, 'items', 1), hasattr(x, '__len__'), bool(x)]\nawait x\ny";
    expect((await sandbox.run(code)).value).toEqual([false, 1, true, true]);
  });

  test("a call of an earlier run is that run's", async () => {
    expect((await sandbox.run("old = issues_list()", { answer: never })).error?.type).toBe("UnawaitedToolCallError");
    expect((await sandbox.run("return 1")).value).toBe(1);
    expect((await sandbox.run("await old")).error?.type).toBe("CancelledError");
  });
});

describe("is left alone", () => {
  const fine: [name: string, code: string][] = [
    ["gather", "await asyncio.gather(issues_list(), issues_list())"],
    ["gather, awaited later", "g = asyncio.gather(issues_list())\nawait asyncio.sleep(0.02)\nawait g"],
    ["gather that a gather waits for", "await asyncio.gather(asyncio.gather(issues_list()), issues_list())"],
    ["gather with a timeout", "await asyncio.wait_for(asyncio.gather(issues_list()), 5)"],
    ["children of a gather awaited one by one", "c = issues_list()\ng = asyncio.gather(c)\nawait c"],
    ["tasks", "a = asyncio.create_task(issues_list())\nb = asyncio.ensure_future(issues_list())\nawait a\nawait b"],
    ["a task group", "async with asyncio.TaskGroup() as g:\n  t = g.create_task(issues_list())\nt.result()"],
    ["wait", "done, rest = await asyncio.wait([issues_list(), issues_list()])\n[d.result() for d in done]"],
    ["as_completed", "for c in asyncio.as_completed([issues_list()]): await c"],
    ["shield", "await asyncio.shield(issues_list())"],
    ["timeout", "async with asyncio.timeout(5): await issues_list()"],
    ["awaited later", "c = issues_list()\nx = 1\nawait c"],
    ["awaited twice", "c = issues_list()\nawait c\nawait c"],
    ["polled", "c = issues_list()\nwhile not c.done(): await asyncio.sleep(0)\nc.result()"],
    ["a callback", "c = issues_list()\nc.add_done_callback(lambda f: None)"],
    ["a coroutine of the user's that nobody awaits", "async def f(): pass\nf()\nNone"],
    [
      "a task of the user's in the background",
      "async def f(): await issues_list()\nt = asyncio.create_task(f())\nNone",
    ],
    ["fire and forget", "asyncio.create_task(issues_list())\nasyncio.ensure_future(issues_list())\nNone"],
    ["a user's future", "asyncio.get_running_loop().create_future()\nNone"],
  ];
  test.each(fine)("%s", async (_name, code) => {
    const { error } = await sandbox.run(`import asyncio\n${code}\nreturn 1`, { answer: () => "[]" });
    expect(error).toBeUndefined();
  });
});
