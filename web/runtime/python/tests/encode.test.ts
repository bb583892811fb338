// From Python values to JSON text and back: what is carried exactly, what is refused and in which words.
import { beforeAll, describe, expect, test } from "vitest";
import { lines, Sandbox } from "./sandbox";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await Sandbox.create();
  await sandbox.run(
    lines(
      "import asyncio, collections, dataclasses, datetime, decimal, enum, fractions, json, math, pathlib, re, types, uuid",
      "class Level(enum.IntEnum): HIGH = 3",
      "class Color(enum.StrEnum): RED = 'red'",
      "class Shape(enum.Enum): ROUND = 1",
      "class Text(str): pass",
      "class Rows(list): pass",
      "class Odd(dict):",
      "  def items(self): return [(1, 2)]",
      "Point = collections.namedtuple('Point', 'x y')",
      "@dataclasses.dataclass",
      "class Record: n: int",
      "class Thing:",
      "  def __init__(self): self.n = 1",
      "class Bare: __slots__ = ()",
      "def foreign(module, name, base=object, **body):",
      "  return type(name, (base,), {'__module__': module, **body})",
      "async def routine(): pass",
      "async def stream(): yield 1",
      "def nested(depth, value=None):",
      "  for _ in range(depth): value = [] if value is None else [value]",
      "  return value",
    ),
  );
});

/** The JSON text of what `expression` gives, as argument, saved value and returned value. They must be the same. */
async function encoded(expression: string): Promise<string> {
  const saved = await sandbox.run(`value = ${expression}\nawait save_result(value)\nreturn value`, {
    answer: () => '{"handle":"res_1"}',
  });
  expect(saved.error).toBeUndefined();
  const prefix = 'send toolplane:results/save {"value":';
  expect(saved.log[0]?.startsWith(prefix)).toBe(true);
  const text = saved.log[0]?.slice(prefix.length, -1) ?? "";
  expect(saved.valueText).toBe(text);
  const argument = await sandbox.run(`await call_tool("x:y", {"a": ${expression}});`);
  expect(argument.log[0]).toBe(`send x:y {"a":${text}}`);
  return text;
}

describe("carried", () => {
  const exact: [expression: string, text: string][] = [
    ["2**53 + 1", "9007199254740993"],
    ["10**40", `1${"0".repeat(40)}`],
    ["-(10**40)", `-1${"0".repeat(40)}`],
    ["10**4299", `1${"0".repeat(4299)}`],
    ["1.0", "1.0"],
    ["-0.0", "-0.0"],
    ["5e-324", "5e-324"],
    ["1e300", "1e+300"],
    ["[True, False, None]", "[true,false,null]"],
    ["'\\0'", '"\\u0000"'],
    ["'\"\\\\/\\x7f\\x1f\\n'", '"\\"\\\\/\x7f\\u001f\\n"'],
    ["'\\u2028 é 😀'", '"\u2028 é 😀"'],
    ["{'😀': 1, '': 2}", '{"😀":1,"":2}'],
    ["(1, (2,), ())", "[1,[2],[]]"],
    ["Level.HIGH", "3"],
    ["[Color.RED]", '["red"]'],
    ["{Color.RED: Level.HIGH}", '{"red":3}'],
    ["Text('t')", '"t"'],
    ["{Text('k'): Rows([1])}", '{"k":[1]}'],
    ["Point(1, 2)", "[1,2]"],
    ["collections.OrderedDict(a=1)", '{"a":1}'],
    ["collections.defaultdict(list, a=[1])", '{"a":[1]}'],
    ["collections.Counter('aab')", '{"a":2,"b":1}'],
    ["datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.UTC)", '"2026-01-02T03:04:05.000006+00:00"'],
    ["[datetime.date(2026, 1, 2), datetime.time(3, 4)]", '["2026-01-02","03:04:00"]'],
    ["foreign('numpy', 'float64', float)(1.5)", "1.5"],
    ["nested(511)", "[".repeat(511) + "]".repeat(511)],
    ["[[1]] * 3", "[[1],[1],[1]]"],
  ];
  test.each(exact)("%s", async (expression, text) => {
    expect(await encoded(expression)).toBe(text);
  });

  test("a 1 MB string", async () => {
    expect((await encoded("'é' * (1 << 20)")).length).toBe((1 << 20) + 2);
  });

  test("the deepest value that may be returned", async () => {
    expect((await sandbox.run("nested(512)")).valueText).toBe("[".repeat(512) + "]".repeat(512));
  });

  test("an answer keeps its numbers and strings", async () => {
    const text = `[9007199254740993,1${"0".repeat(40)},1.0,-0.0,1E2,"\\u0000😀","\\ud83d\\ude00",{"😀":null}]`;
    const code = lines(
      "a = await call_tool('x:y')",
      "b = await load_result('res_1')",
      "[a == b, [type(x).__name__ for x in a], math.copysign(1, a[3]), len(a[6]), a]",
    );
    const { valueText } = await sandbox.run(code, { answer: () => text });
    expect(valueText).toBe(
      `[true,["int","int","float","float","float","str","str","dict"],-1.0,1,` +
        `[9007199254740993,1${"0".repeat(40)},1.0,-0.0,100.0,"\\u0000😀","😀",{"😀":null}]]`,
    );
  });

  test("inputs and the previous value too", async () => {
    const options = { inputs: '{"big":9007199254740993,"z":-0.0}', previous: "[1.0]", seed: true };
    expect((await sandbox.run("[big, inputs['big'], z, _]", options)).valueText).toBe(
      "[9007199254740993,9007199254740993,-0.0,[1.0]]",
    );
  });
});

describe("refused", () => {
  const at = 'value.rows[1]["odd key"]';
  const code = 'value["rows"][1]["odd key"]';
  const unknown = (what: string, use: string) => `${at} is ${what}, which JSON doesn't have; use ${use}`;
  const typed = (type: string, use: string) => unknown(`of type ${type}`, use);
  const cases: [expression: string, message: string][] = [
    ["{1, 2}", typed("set", `sorted(${code})`)],
    ["{'a', 1}", typed("set", `list(${code})`)],
    ["frozenset('a')", typed("frozenset", `sorted(${code})`)],
    ["b'text'", typed("bytes", `${code}.decode()`)],
    ["b'\\xff'", typed("bytes", `base64.b64encode(${code}).decode()`)],
    ["bytearray(b'x')", typed("bytearray", `${code}.decode()`)],
    ["memoryview(b'x')", typed("memoryview", `bytes(${code}).decode()`)],
    ["decimal.Decimal('1.5')", typed("Decimal", `str(${code})`)],
    ["fractions.Fraction(1, 2)", typed("Fraction", `str(${code})`)],
    ["1j", typed("complex", `[${code}.real, ${code}.imag]`)],
    ["Record(1)", typed("Record (a dataclass)", `dataclasses.asdict(${code})`)],
    ["Record", unknown("the class Record", `${code}.__name__`)],
    ["Shape.ROUND", typed("Shape", `${code}.value`)],
    [
      "foreign('pandas.core.frame', 'DataFrame')()",
      typed("DataFrame", `json.loads(${code}.to_json(orient="records"))`),
    ],
    ["foreign('pandas.core.series', 'Series')()", typed("Series", `json.loads(${code}.to_json(orient="values"))`)],
    ["foreign('pandas', 'DatetimeIndex')()", typed("DatetimeIndex", `${code}.tolist()`)],
    ["foreign('pandas', 'NaTType', datetime.datetime)(2026, 1, 1)", typed("NaTType", "None")],
    ["foreign('polars.dataframe.frame', 'DataFrame')()", typed("DataFrame", `${code}.to_dicts()`)],
    ["foreign('numpy', 'ndarray')()", typed("ndarray", `${code}.tolist()`)],
    ["foreign('numpy', 'int64', item=lambda self: 1)()", typed("int64", `${code}.item()`)],
    ["foreign('x', 'Model', model_dump=1)()", typed("Model (a pydantic model)", `${code}.model_dump(mode="json")`)],
    ["(i for i in [])", typed("generator", `list(${code})`)],
    ["map(str, [])", typed("map", `list(${code})`)],
    ["range(3)", typed("range", `list(${code})`)],
    ["{}.values()", typed("dict_values", `list(${code})`)],
    ["collections.deque()", typed("deque", `list(${code})`)],
    ["types.MappingProxyType({})", typed("mappingproxy", `dict(${code})`)],
    ["stream()", typed("async_generator", `[item async for item in ${code}]`)],
    ["asyncio.get_running_loop().create_future()", typed("PyodideFuture and was never awaited", `await ${code}`)],
    ["json", unknown("the module json", `what you need of it, such as ${code}.__name__`)],
    ["nested", unknown("the function nested", `its answer, ${code}()`)],
    ["len", unknown("the function len", `its answer, ${code}()`)],
    ["datetime.timedelta(1)", typed("timedelta", `${code}.total_seconds()`)],
    ["uuid.UUID(int=1)", typed("UUID", `str(${code})`)],
    ["pathlib.Path('x')", typed("PosixPath", `str(${code})`)],
    ["ValueError('x')", typed("ValueError", `str(${code})`)],
    ["Thing()", typed("Thing", `vars(${code})`)],
    ["Bare()", typed("Bare", `str(${code})`)],
    ["...", typed("ellipsis", `str(${code})`)],
    ["__import__('js').Object.new()", unknown("a JavaScript object (JsProxy)", `${code}.to_py()`)],
    ["math.nan", `${at} is nan, a float that JSON doesn't have; use None, or a string such as repr(${code})`],
    ["-math.inf", `${at} is -inf, a float that JSON doesn't have; use None, or a string such as repr(${code})`],
    ["10**4300", `${at} is an int of more than 4,300 digits, the limit; use hex(${code})`],
    [
      "'a\\ud800'",
      `${at} is a str with a lone surrogate, which no JSON text can carry; use ${code}.encode("utf-8", "replace").decode()`,
    ],
    [
      "{'k\\udc00': 1}",
      `${at} has the key 'k\\udc00' with a lone surrogate, which no JSON text can carry; rename that key`,
    ],
    ["{1: 2}", keyRefusal("1 of type int")],
    ["{None: 2}", keyRefusal("None of type NoneType")],
    ["{True: 2}", keyRefusal("True of type bool")],
    ["{1.5: 2}", keyRefusal("1.5 of type float")],
    ["{(1, 2): 2}", keyRefusal("(1, 2) of type tuple")],
    ["Odd()", keyRefusal("1 of type int")],
  ];
  function keyRefusal(key: string): string {
    return `${at} has the key ${key}, and JSON keys are strings; use {str(k): v for k, v in ${code}.items()}`;
  }

  test.each(cases)("%s", async (expression, message) => {
    const source = `value = {"rows": [0, {"odd key": ${expression}}]}\n`;
    const saved = await sandbox.run(
      `${source}try:\n  await save_result(value)\nexcept ValueError as e:\n  return [type(e).__name__, str(e)]`,
    );
    expect(saved.value).toEqual(["ResultStoreError", message]);
    expect(saved.log).toEqual(["disarm"]);
    const returned = await sandbox.run(`${source}return value`);
    expect(returned.error).toMatchObject({ type: "ReturnValueError", builtin: "ValueError" });
    expect(returned.error?.message).toBe(`the run's value can't be returned: ${message}`);
  });

  // The advice must be right: run the expression that the message gives.
  const notRunnable = /foreign|Object\.new|loop\(\)|^json$|^nested$|^len$|^Odd|^\{'k/;
  const advised = cases.filter(([expression, message]) => !notRunnable.test(expression) && message.includes(code));
  test.each(advised)("the advice for %s works", async (expression, message) => {
    const advice = /; use (?:None, or a string such as )?(.*)$/.exec(message)?.[1] ?? "";
    expect(advice).toContain(code);
    const run = await sandbox.run(
      lines(
        "import base64",
        `value = {"rows": [0, {"odd key": ${expression}}]}`,
        `value["rows"][1]["odd key"] = ${advice}`,
        "return value",
      ),
    );
    expect(run.error).toBeUndefined();
  });

  const shapes: [code: string, message: string][] = [
    [
      "value = []\nvalue.append([value])\nreturn value",
      "value[0][0] is the list value again, and JSON has no cycles; leave it out",
    ],
    [
      "value = {'a': {}}\nvalue['a']['b'] = value['a']\nreturn value",
      "value.a.b is the dict value.a again, and JSON has no cycles; leave it out",
    ],
    [
      "return nested(513)",
      "value[0][0][0][0]…[0][0][0][0] is a list nested deeper than 512 levels, the limit; flatten the value",
    ],
    [
      "return nested(5000)",
      "value[0][0][0][0]…[0][0][0][0] is a list nested deeper than 512 levels, the limit; flatten the value",
    ],
    [
      "value = {}\nfor _ in range(600): value = {'k': value}\nreturn value",
      "value.k.k.k.k….k.k.k.k is a dict nested deeper than 512 levels, the limit; flatten the value",
    ],
    [
      "return {'x' * 100: {1}}",
      `value["${"x".repeat(60)}…"] is of type set, which JSON doesn't have; use sorted(value["${"x".repeat(100)}"])`,
    ],
  ];
  test.each(shapes)("%s", async (source, message) => {
    const { error } = await sandbox.run(source);
    expect(error?.message).toBe(`the run's value can't be returned: ${message}`);
  });

  test("5,000 nested lists as argument and at save", async () => {
    for (const call of ["call_tool('x:y', a=v)", "save_result(v)", "call_tool('x:y', {'a': v})"]) {
      const { error } = await sandbox.run(`v = nested(5000)\nawait ${call}`);
      expect(error).toMatchObject({ builtin: "ValueError" });
      expect(error?.message).toContain("nested deeper than 51");
    }
  });

  test("arguments name their own type and root", async () => {
    const { error } = await sandbox.run("await call_tool('x:y', filter={'when': [object()]})");
    expect(error).toMatchObject({
      type: "InvalidArgumentsError",
      builtin: "ValueError",
      message: `arguments.filter.when[0] is of type object, which JSON doesn't have; use str(arguments["filter"]["when"][0])`,
    });
  });

  test("a nesting cap of the run's own", async () => {
    expect((await sandbox.run("nested(3)", { limits: { max_depth: 3 } })).ok).toBe(true);
    expect((await sandbox.run("nested(4)", { limits: { max_depth: 3 } })).error?.message).toContain(
      "deeper than 3 levels",
    );
  });

  test("the way out uses the snippet's own expression", async () => {
    const hint = "(or end the last line with ; for no value)";
    expect((await sandbox.run("async def main(): pass\nmain()")).error?.message).toContain(`use await main() ${hint}`);
    expect((await sandbox.run("tags = {1}\nreturn tags")).error?.message).toMatch(/use sorted\(tags\)$/);
    expect((await sandbox.run("r = {'t': {1}}\nr")).error?.message).toContain(`use sorted(r["t"]) ${hint}`);
    expect((await sandbox.run("if 0: return 1\nreturn {1}")).error?.message).toMatch(/use sorted\(value\)$/);
  });

  test("a digit limit that the snippet lifted doesn't lift ours", async () => {
    const code =
      "import sys\nsys.set_int_max_str_digits(0)\ntry:\n  await save_result(10**5000)\nfinally:\n  sys.set_int_max_str_digits(4300)";
    expect((await sandbox.run(code)).error?.message).toContain("more than 4,300 digits");
  });

  test("answers that can't be read", async () => {
    for (const text of ["NaN", "[1e400]", "-Infinity", "{", "1 2", ""]) {
      const { error } = await sandbox.run("await call_tool('x:y')", { answer: () => text });
      expect(error).toMatchObject({ type: "AnswerError", builtin: "RuntimeError" });
      expect(error?.message).toMatch(/^the answer to call_tool can't be read: /);
    }
  });
});

test("random values survive encoding and decoding, seeded", async () => {
  const program = lines(
    "import random",
    "from _toolplane.encode import decode, encode",
    "rng = random.Random(20260101)",
    "def text():",
    "  return ''.join(chr(rng.choice((rng.randrange(128), rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)))) for _ in range(rng.randrange(8)))",
    "def number():",
    "  return rng.choice((rng.getrandbits(rng.randrange(1, 200)) * rng.choice((1, -1)), rng.uniform(-1, 1) * 10.0 ** rng.randrange(-300, 300), -0.0, 0, 1.0))",
    "def value(depth):",
    "  kind = rng.randrange(8 if depth else 6)",
    "  if kind < 2: return text()",
    "  if kind < 4: return number()",
    "  if kind == 4: return rng.choice((True, False, None))",
    "  if kind == 5: return rng.choice(([], {}))",
    "  if kind == 6: return [value(depth - 1) for _ in range(rng.randrange(5))]",
    "  return {text(): value(depth - 1) for _ in range(rng.randrange(5))}",
    "def same(a, b):",
    "  if type(a) is not type(b): return False",
    "  if isinstance(a, list): return len(a) == len(b) and all(map(same, a, b))",
    "  if isinstance(a, dict): return list(a) == list(b) and all(same(a[k], b[k]) for k in a)",
    "  return repr(a) == repr(b)",
    "for i in range(2000):",
    "  v = value(6)",
    "  t = encode(v)",
    "  assert same(decode(t), v), (i, t)",
    "  assert encode(decode(t)) == t == json.dumps(v, ensure_ascii=False, separators=(',', ':')), (i, t)",
    "  if i % 50 == 0: assert same(await call_tool('x:echo', v=v), v), (i, t)",
    "i",
  );
  const { error, valueText } = await sandbox.run(program, { answer: (_name, json) => json.slice('{"v":'.length, -1) });
  expect(error).toBeUndefined();
  expect(valueText).toBe("1999");
});
