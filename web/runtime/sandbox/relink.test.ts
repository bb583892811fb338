import { expect, test } from "vitest";
import { Relink, tombstone } from "./relink.ts";

class Foreign {}

const host = { send: () => {} };
const make = (): Relink => new Relink({ host, "host.send": host.send }, globalThis);

/** What another worker makes of it. */
function carried(...objects: unknown[]): unknown[] {
  const clones: unknown[] = [];
  const from = make();
  const described = structuredClone({ objects: objects.map((o) => from.describe(o, clones)), clones });
  const to = make();
  return described.objects.map((d) => to.find(d, described.clones));
}

test("what both workers have is told by name", () => {
  const method = Map.prototype.set;
  const named = [host, host.send, console, console.log, JSON, JSON.parse, Math.max, Promise, performance.now, method];
  for (const [i, object] of carried(...named).entries()) expect(object).toBe(named[i]);
});

test("plain data is told by value, and what was one object stays one", () => {
  const inner = { a: 1 };
  const [outer, same, rest] = carried([inner, new Map([[inner, 2n]])], inner, "text") as [unknown[], unknown, unknown];
  expect(outer).toEqual([{ a: 1 }, new Map([[{ a: 1 }, 2n]])]);
  expect(outer[0]).toBe(same);
  expect(rest).toBe("text");
  expect(carried(null, undefined)).toEqual([null, null]);
});

test.each([
  ["an object of a class", new Foreign(), "Object"],
  ["a function", make, "function make"],
  ["data with a function in it", { f: () => {} }, "Object"],
  ["a promise", new Promise(() => {}), "Promise"],
  ["a symbol", Symbol("s"), "Symbol"],
  ["a proxy that refuses", new Proxy({}, { getPrototypeOf: () => expect.fail("no") }), "object"],
])("%s is lost", (_name, object, what) => {
  expect(make().describe(object, [])).toEqual({ lost: what });
  const [stone] = carried(object) as [Record<string, unknown>];
  expect(make().describe(stone, [])).toEqual({ lost: what }); // and stays so
  const message = `this JavaScript object (${what}) was lost`;
  expect(() => stone.anything).toThrow(message);
  expect(() => (stone as unknown as () => void)()).toThrow(message);
  expect(() => new (stone as unknown as new () => object)()).toThrow(message);
  expect(() => Object.assign(stone, { a: 1 })).toThrow(message);
  expect(() => Reflect.deleteProperty(stone, "a")).toThrow(message);
  expect(() => Object.keys(stone)).toThrow(message);
  expect(() => "a" in stone).toThrow(message);
});

test("the engine may ask a tombstone for symbols", () => {
  const stone = tombstone("x") as Record<symbol, unknown>;
  expect(stone[Symbol.toPrimitive]).toBeUndefined();
  expect(Symbol.iterator in stone).toBe(false);
});
