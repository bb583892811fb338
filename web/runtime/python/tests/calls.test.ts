// Capability calls: names and arguments, answers and errors, limits.
import { beforeAll, describe, expect, test } from "vitest";
import { HostError, lines, Sandbox } from "./sandbox";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await Sandbox.create();
  sandbox.bindIssues();
});

const echo = (name: string, json: string) => `{"name":${JSON.stringify(name)},"arguments":${json}}`;
const never = () => new Promise<string>(() => {});

describe("what is sent", () => {
  const cases: [call: string, sent: string][] = [
    ["call_tool('plugin:issues/get')", "plugin:issues/get {}"],
    ["call_tool('plugin:issues/get', {'id': 9007199254740993})", 'plugin:issues/get {"id":9007199254740993}'],
    ["call_tool('a:b', {})", "a:b {}"],
    ["call_tool('a:b', None)", "a:b {}"],
    ["call_tool('a:b', name=1, args=2, self=3)", 'a:b {"name":1,"args":2,"self":3}'],
    ["call_tool('a:b', {'odd key': (1, 2)})", 'a:b {"odd key":[1,2]}'],
    ["issues_list()", "plugin:issues/list {}"],
    ["issues_list(count=5, state='open')", 'plugin:issues/list {"count":5,"state":"open"}'],
    ["issues_get(id=10**20)", 'plugin:issues/get {"id":100000000000000000000}'],
    ["issues.list(count=1)", 'plugin:issues/list {"count":1}'],
    ["issues.get(unknown=1)", 'plugin:issues/get {"unknown":1}'],
    ["save_result([1.0])", 'toolplane:results/save {"value":[1.0]}'],
    ["save_result(None, 'ünï')", 'toolplane:results/save {"value":null,"label":"ünï"}'],
    ["save_result(value={}, label=None)", 'toolplane:results/save {"value":{}}'],
    ["load_result('res_1')", 'toolplane:results/load {"handle":"res_1"}'],
    ["reset_session()", "toolplane:session/reset {}"],
  ];
  test.each(cases)("%s", async (call, sent) => {
    const { error, log } = await sandbox.run(`await ${call};`, { answer: () => '{"handle":"res_1"}' });
    expect(error).toBeUndefined();
    expect(log).toEqual([`send ${sent}`, "disarm"]);
  });

  test("answers", async () => {
    const code = lines(
      "a = await call_tool('a:b', x=1)",
      "h = await save_result(a)",
      "return [a, h, await load_result(h)]",
    );
    const answer = (name: string, json: string) =>
      name.endsWith("/save") ? '{"handle":"res_x","bytes":3}' : name.endsWith("/load") ? "[1]" : echo(name, json);
    expect((await sandbox.run(code, { answer })).value).toEqual([{ name: "a:b", arguments: { x: 1 } }, "res_x", [1]]);
  });

  test("calls in a gather are in flight at once, and answers may come in any order", async () => {
    const waiting: (() => void)[] = [];
    const answer = (_: string, json: string) =>
      new Promise<string>((resolve) => {
        waiting.push(() => resolve(json));
        if (waiting.length === 3) for (const go of waiting.reverse()) go();
      });
    const code = "import asyncio\nawait asyncio.gather(*(issues_get(id=i) for i in range(3)))";
    expect((await sandbox.run(code, { answer })).valueText).toBe('[{"id":0},{"id":1},{"id":2}]');
  });

  test("aliases say what they are", async () => {
    const { value } = await sandbox.run(
      "[issues_list.__name__, issues.get.__qualname__, issues_list.__doc__, dir(issues), repr(issues)]",
    );
    expect(value).toEqual([
      "issues_list",
      "issues.get",
      "Calls plugin:issues/list.\n\nawait issues_list(count=<integer=100>, state=<string>)",
      ["get", "list"],
      "<tools of issues: get, list>",
    ]);
  });

  test("a new catalog replaces the aliases, but never call_tool and the store", async () => {
    await sandbox.run("1");
    sandbox.bind([
      { name: "plugin:x/y", flat: "call_tool", scope: "save_result", tool: "y", params: [], call: "await call_tool()" },
      { name: "plugin:left/out", params: [], call: "", problem: "collides" },
      { name: "plugin:z/a", scope: "z", tool: "a", params: [], call: "await z.a()" },
    ]);
    const code = lines(
      "names = ['issues_list' in globals(), 'issues' in globals()]",
      "return [*names, await call_tool('a:b'), await z.a(q=1), save_result.__name__]",
    );
    const { value } = await sandbox.run(code, { answer: echo });
    sandbox.bindIssues();
    expect(value).toEqual([
      false,
      false,
      { name: "a:b", arguments: {} },
      { name: "plugin:z/a", arguments: { q: 1 } },
      "save_result",
    ]);
  });
});

describe("misuse is an error at the await, with the user's line only", () => {
  const shape = "write: await issues_list(count=<integer=100>, state=<string>)";
  const cases: [call: string, type: string, builtin: string, message: string][] = [
    ["issues_list(5)", "InvalidArgumentsError", "ValueError", `issues_list takes keyword arguments only; ${shape}`],
    [
      "issues.list({'count': 1})",
      "InvalidArgumentsError",
      "ValueError",
      `issues.list takes keyword arguments only; ${shape}`,
    ],
    [
      "call_tool(5)",
      "InvalidArgumentsError",
      "ValueError",
      "call_tool takes the capability's name, a string, not a value of type int",
    ],
    [
      "call_tool('a:b', [1])",
      "InvalidArgumentsError",
      "ValueError",
      "the arguments of a:b are a dict, not a value of type list",
    ],
    [
      "call_tool('a:b', {}, x=1)",
      "InvalidArgumentsError",
      "ValueError",
      "give the arguments of a:b as one dict or as keywords, not as both",
    ],
    [
      "save_result([1], label=5)",
      "InvalidArgumentsError",
      "ValueError",
      "the label of save_result is a string, not a value of type int",
    ],
    [
      "load_result(5)",
      "ResultStoreError",
      "ValueError",
      "load_result takes a handle of save_result, a string, not a value of type int",
    ],
  ];
  test.each(cases)("%s", async (call, type, builtin, message) => {
    const { error, log } = await sandbox.run(`await ${call}`, { filename: "m.py" });
    expect(error).toMatchObject({ type, builtin, message });
    expect(error?.traceback).toMatch(
      new RegExp(
        `^Traceback \\(most recent call last\\):\n {2}File "m\\.py[^"]*", line 1, in <module>\n.*\n(.*\\^\n)?${type}: .*\n$`,
      ),
    );
    expect(log).toEqual(["disarm"]);
  });

  test("an unknown tool of a scope names the nearest", async () => {
    expect((await sandbox.run("await issues.lst()")).error?.message).toBe(
      "issues has no tool lst; nearest: issues.list",
    );
    expect((await sandbox.run("issues.zzz")).error?.message).toBe(
      "issues has no tool zzz; nearest: issues.get, issues.list",
    );
    expect((await sandbox.run("[hasattr(issues, 'nope'), getattr(issues, 'nope', 1)]")).valueText).toBe("[false,1]");
  });

  test("an unknown flat alias gets Python's own suggestion", async () => {
    expect((await sandbox.run("await issue_list()")).error?.traceback).toContain("Did you mean: 'issues_list'?");
  });

  test("a tool can't be replaced", async () => {
    for (const code of ["issues.list = 1", "del issues.list", "issues.new = 1"]) {
      expect((await sandbox.run(code)).error).toMatchObject({ type: "AttributeError" });
    }
    expect((await sandbox.run("await issues.list(a=1)", { answer: (_, json) => json })).valueText).toBe('{"a":1}');
  });

  test("a host that can't send fails that call", async () => {
    sandbox.failNextSend = "the port is closed";
    const { error } = await sandbox.run("await issues_list()");
    expect(error).toMatchObject({ type: "HostError", builtin: "RuntimeError" });
    expect(error?.message).toContain("issues_list couldn't be sent: ");
    expect(error?.message).toContain("the port is closed");
  });
});

describe("errors of the host", () => {
  const builtins = ["ValueError", "PermissionError", "LookupError", "TimeoutError", "MemoryError", "RuntimeError"];
  test.each(builtins)("except %s", async (builtin) => {
    const code = lines(
      "import traceback",
      "try:",
      "  await issues_list()",
      `except ${builtin} as e:`,
      "  return [type(e).__name__, str(e), isinstance(e, ToolError), e.host_type, e.data, traceback.format_exc()]",
    );
    const answer = () => {
      throw new HostError(builtin, "SomeError", "it's 'quoted'", { limit: 5 });
    };
    const { value } = await sandbox.run(code, { answer, filename: `${builtin}.py` });
    expect(value).toEqual([
      "SomeError",
      "it's 'quoted'",
      true,
      "SomeError",
      { limit: 5 },
      lines(
        "Traceback (most recent call last):",
        `  File "${builtin}.py", line 3, in <module>`,
        "    await issues_list()",
        "SomeError: it's 'quoted'",
        "",
      ),
    ]);
  });

  const odd: [name: string, builtin: string, type: string, expected: object][] = [
    ["an unknown builtin", "SystemExit", "X", { type: "X", builtin: "RuntimeError" }],
    ["a builtin that isn't an exception", "print", "X", { type: "X", builtin: "RuntimeError" }],
    ["a KeyError", "KeyError", "X", { type: "X", builtin: "RuntimeError" }],
    ["a type that isn't a name", "ValueError", "no name", { type: "ValueError", builtin: "ValueError" }],
    ["an empty type", "LookupError", "", { type: "LookupError", builtin: "LookupError" }],
  ];
  test.each(odd)("%s", async (_name, builtin, type, expected) => {
    const answer = () => {
      throw new HostError(builtin, type, "m");
    };
    const { error } = await sandbox.run("await issues_list()", { answer });
    expect(error).toMatchObject({ ...expected, message: "m" });
  });

  test("two errors of a type are of one class", async () => {
    const code = lines(
      "kinds = set()",
      "for _ in range(2):",
      "  try: await issues_list()",
      "  except ToolError as e: kinds.add(type(e))",
      "len(kinds)",
    );
    const answer = () => {
      throw new HostError("ValueError", "ResultStoreError", "m");
    };
    expect((await sandbox.run(code, { answer })).valueText).toBe("1");
  });

  const fail = () => {
    throw new HostError("ValueError", "ResultStoreError", "no such handle");
  };

  test("a traceback through functions, gather, tasks and groups has only user lines", async () => {
    const code = lines(
      "import asyncio",
      "async def fetch(h):",
      "    return await load_result(h)",
      "async def many():",
      "    return await asyncio.gather(fetch('a'), fetch('b'))",
      "await many()",
    );
    const { error } = await sandbox.run(code, { answer: fail, filename: "g.py" });
    expect(error?.traceback).toBe(
      lines(
        "Traceback (most recent call last):",
        '  File "g.py", line 6, in <module>',
        "    await many()",
        '  File "g.py", line 5, in many',
        "    return await asyncio.gather(fetch('a'), fetch('b'))",
        `           ${"^".repeat(44)}`,
        '  File "g.py", line 3, in fetch',
        "    return await load_result(h)",
        `           ${"^".repeat(20)}`,
        "ResultStoreError: no such handle",
        "",
      ),
    );
  });

  test("an exception group", async () => {
    const code = lines(
      "import asyncio",
      "async with asyncio.TaskGroup() as group:",
      "    group.create_task(load_result('a'))",
    );
    const { error } = await sandbox.run(code, { answer: fail, filename: "tg.py" });
    expect(error).toMatchObject({ type: "ExceptionGroup", builtin: "RuntimeError" });
    expect(error?.traceback).toContain('File "tg.py", line 2, in <module>');
    expect(error?.traceback).toContain("    | ResultStoreError: no such handle");
    expect(error?.traceback).not.toMatch(/toolplane|pyodide|python314/);
  });

  test("except* and a cause", async () => {
    const code = lines(
      "import asyncio",
      "try:",
      "    async with asyncio.TaskGroup() as group:",
      "        group.create_task(load_result('a'))",
      "except* ValueError as many:",
      "    raise KeyError('mine') from many.exceptions[0]",
    );
    const { error } = await sandbox.run(code, { answer: fail });
    expect(error).toMatchObject({ type: "KeyError" });
    expect(error?.traceback).toContain("The above exception was the direct cause");
    expect(error?.traceback).not.toMatch(/toolplane|python314/);
  });
});

describe("limits", () => {
  test("calls in a run", async () => {
    const code = lines(
      "for i in range(3):",
      "  await issues_get(id=i)",
      "try: await issues_get(id=3)",
      "except RuntimeError as e: return [type(e).__name__, str(e)]",
    );
    const { value, log } = await sandbox.run(code, { limits: { max_calls: 3 } });
    expect(value).toEqual([
      "CallLimitError",
      "this run has made 3 capability calls, the limit ([executor] max_calls); " +
        "ask for more with each call, or split the work over several runs",
    ]);
    expect(log.filter((line) => line.startsWith("send"))).toHaveLength(3);
    expect((await sandbox.run("await issues_get(id=3)", { limits: { max_calls: 1 } })).ok).toBe(true);
  });

  test("calls in flight", async () => {
    const code = lines(
      "import asyncio",
      "r = await asyncio.gather(*(issues_get(id=i) for i in range(4)), return_exceptions=True)",
      "again = await issues_get(id=9)",
      "return [x if isinstance(x, int) else f'{type(x).__name__}: {x}' for x in r] + [again]",
    );
    const { value } = await sandbox.run(code, { limits: { max_calls_in_flight: 2 }, answer: () => "1" });
    const refused =
      "CallLimitError: 2 capability calls are in flight, the limit ([executor] max_calls_in_flight); " +
      "await some before you start more, for example gather at most 2 at a time";
    expect(value).toEqual([1, 1, refused, refused, 1]);
  });

  test("a cancelled call frees its place and tells the host", async () => {
    const code = lines(
      "import asyncio",
      "for _ in range(3):",
      "  try: await asyncio.wait_for(issues_get(id=1), 0.01)",
      "  except TimeoutError: pass",
      "return 1",
    );
    const { value, log } = await sandbox.run(code, { limits: { max_calls_in_flight: 1 }, answer: never });
    expect(value).toBe(1);
    expect(log.map((line) => line.split(" ")[0])).toEqual([
      "send",
      "cancel",
      "send",
      "cancel",
      "send",
      "cancel",
      "disarm",
    ]);
  });
});
