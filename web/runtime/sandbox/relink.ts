/**
 * JavaScript objects that Python holds, told in a way that another worker understands: by name where both have the same one (modules and
 * globals, and what pyodide itself made), by value where it's plain data, and as lost otherwise. A lost one becomes a tombstone: any use
 * of it is an error that says what happened.
 */

/** 0: an empty slot. A string: a name. */
export type Described = 0 | string | { readonly clone: number } | { readonly lost: string };

/** Globals whose members Python is likely to keep, such as a method of a Map. */
const NAMESPACES = [
  "Array",
  "ArrayBuffer",
  "Date",
  "Float64Array",
  "Function",
  "JSON",
  "Map",
  "Math",
  "Number",
  "Object",
  "Promise",
  "Reflect",
  "RegExp",
  "Set",
  "String",
  "TextDecoder",
  "TextEncoder",
  "URL",
  "Uint8Array",
  "console",
  "crypto",
  "performance",
];

const PLAIN: ReadonlySet<unknown> = new Set([
  null,
  Array.prototype,
  ArrayBuffer.prototype,
  Date.prototype,
  Float32Array.prototype,
  Float64Array.prototype,
  Int32Array.prototype,
  Map.prototype,
  Object.prototype,
  RegExp.prototype,
  Set.prototype,
  Uint8Array.prototype,
]);

export class Relink {
  readonly #names = new Map<unknown, string>();
  readonly #objects = new Map<string, unknown>();

  /** Names what both workers have: `own` first, then the globals of `scope` and what stands in a few of them. */
  constructor(own: Readonly<Record<string, unknown>>, scope: object) {
    for (const [name, object] of Object.entries(own)) this.#name(`$${name}`, object);
    for (let at: object | null = scope; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
      for (const name of Object.getOwnPropertyNames(at)) this.#name(`js.${name}`, read(scope, name));
    }
    for (const name of NAMESPACES) {
      const space = read(scope, name) as { prototype?: object } | undefined;
      if (space === undefined) continue;
      this.#nameMembers(`js.${name}`, space);
      if (space.prototype !== undefined) this.#nameMembers(`js.${name}.prototype`, space.prototype);
    }
  }

  /** Values only: what a getter gives may be new each time. */
  #nameMembers(path: string, space: object): void {
    for (let at: object | null = space; at !== null; at = Object.getPrototypeOf(at)) {
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
        this.#name(`${path}.${name}`, value);
      }
    }
  }

  #name(name: string, object: unknown): void {
    if (object === null || (typeof object !== "object" && typeof object !== "function")) return;
    if (!this.#names.has(object)) this.#names.set(object, name);
    if (!this.#objects.has(name)) this.#objects.set(name, object);
  }

  /** Adds what goes by value to `clones`, which has to be cloned as a whole, so that what was one object stays one. */
  describe(object: unknown, clones: unknown[]): Described {
    if (object === null || object === undefined) return 0;
    const name = this.#names.get(object);
    if (name !== undefined) return name;
    const buried = TOMBSTONES.get(object as WeakKey);
    if (buried !== undefined) return { lost: buried };
    try {
      return isPlain(object) ? { clone: clones.push(object) - 1 } : { lost: kindOf(object) };
    } catch {
      return { lost: typeof object }; // a proxy that refuses to be looked at
    }
  }

  find(described: Described, clones: readonly unknown[]): unknown {
    if (described === 0) return null;
    if (typeof described === "string") return this.#objects.get(described) ?? tombstone(described);
    return "clone" in described ? clones[described.clone] : tombstone(described.lost);
  }
}

function read(object: object, name: string): unknown {
  try {
    return (object as Record<string, unknown>)[name];
  } catch {
    return undefined; // a getter that refuses
  }
}

function isPlain(object: unknown): boolean {
  if (typeof object !== "object") return typeof object !== "function" && typeof object !== "symbol";
  if (!PLAIN.has(Object.getPrototypeOf(object))) return false;
  try {
    structuredClone(object);
    return true;
  } catch {
    return false; // a function or a proxy of Python's somewhere within
  }
}

function kindOf(object: unknown): string {
  if (typeof object === "function") return `function ${String(object.name)}`.trim().slice(0, 80);
  return Object.prototype.toString.call(object).slice(8, -1).slice(0, 80);
}

const TOMBSTONES = new WeakMap<WeakKey, string>();

export function tombstone(what: string): unknown {
  const refuse = (): never => {
    throw new ReferenceError(
      `this JavaScript object (${what}) was lost when the session was rolled back: make it again, or keep Python values instead`,
    );
  };
  // Symbols are asked for by the engine and by pyodide for their own purposes.
  // biome-ignore lint/complexity/useArrowFunction: an arrow function can't be constructed, not even in vain
  const stone = new Proxy(function () {}, {
    apply: refuse,
    construct: refuse,
    get: (_target, name) => (typeof name === "symbol" ? undefined : refuse()),
    set: refuse,
    has: (_target, name) => (typeof name === "symbol" ? false : refuse()),
    deleteProperty: refuse,
    ownKeys: refuse,
    getOwnPropertyDescriptor: refuse,
    defineProperty: refuse,
  });
  TOMBSTONES.set(stone, what);
  return stone;
}
