import { expect, test } from "vitest";
import { harden } from "./harden.ts";

interface Scope {
  [name: string]: unknown;
}

/** A scope like a worker's: some names on the object, some on its prototypes, one that can't be removed. */
function scope(): Scope {
  class Base {
    fetch(): void {}
    get indexedDB(): number {
      return 1;
    }
  }
  class Global extends Base {
    get navigator(): number {
      return 1;
    }
  }
  const made = new Global() as unknown as Scope;
  Object.assign(made, { Worker: class {}, BroadcastChannel: class {}, fetch: () => 1, postMessage: () => 1, JSON });
  Object.defineProperty(made, "caches", { value: 1, writable: true, configurable: false });
  return made;
}

test("what reaches others is gone, from the object and from its prototypes", () => {
  const hardened = scope();
  harden(hardened);
  for (const name of ["Worker", "BroadcastChannel", "postMessage", "indexedDB", "navigator"]) {
    expect(name in hardened, name).toBe(false);
  }
});

test("what can't be removed is covered", () => {
  const hardened = scope();
  harden(hardened);
  expect(hardened.caches).toBeUndefined();
  expect(() => {
    hardened.caches = 1;
  }).toThrow(TypeError);
});

test("who tries the network is told what to do, by call and by new, and can't undo it", () => {
  const hardened = scope();
  harden(hardened);
  const fetch = hardened.fetch as () => void;
  const Socket = hardened.WebSocket as new () => object;
  expect(fetch).toThrow("call a capability of the host instead");
  expect(() => new Socket()).toThrow("call a capability of the host instead");
  expect(Reflect.deleteProperty(hardened, "fetch")).toBe(false);
});

test("the rest stays", () => {
  const hardened = scope();
  harden(hardened);
  expect(hardened.JSON).toBe(JSON);
});
