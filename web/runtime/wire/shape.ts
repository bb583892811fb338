/**
 * Strict decoding of params and results: every member is known, spelled exactly, of the right type and there once.
 * A shape is written once and gives both the check and the TypeScript type. It reads text that was scanned before, so its syntax is right.
 */

import { Scanner } from "./scanner.ts";

/** The text doesn't have the shape; the message starts with the path. */
export class ShapeError extends Error {
  override readonly name = "ShapeError";
}

/** Reads raw JSON text, without space around it, as T, or throws ShapeError. */
export type Reader<T> = (raw: string, path: string) => T;

function refuse(path: string, problem: string): never {
  throw new ShapeError(`${path} ${problem}`);
}

/** The members of the object in `raw`, as text. Each name stands once. */
export function entries(raw: string, path: string): Map<string, string> {
  if (raw[0] !== "{") refuse(path, "must be an object");
  const found = new Map<string, string>();
  const scanner = new Scanner(raw);
  scanner.object((name) => {
    if (found.has(name)) refuse(`${path}.${name.slice(0, 40)}`, "stands twice");
    found.set(name, scanner.value());
  });
  return found;
}

/** A value of the user's: any JSON, carried as the text it came in. */
export const raw: Reader<string> = (text) => text;

/** A user's object, carried as text. */
export const rawObject: Reader<string> = (text, path) => (text[0] === "{" ? text : refuse(path, "must be an object"));

export const string: Reader<string> = (text, path) =>
  text[0] === '"' ? (JSON.parse(text) as string) : refuse(path, "must be a string");

export const boolean: Reader<boolean> = (text, path) =>
  text === "true" ? true : text === "false" ? false : refuse(path, "must be true or false");

export const nonEmpty: Reader<string> = checked(string, (text) => (text === "" ? "must not be empty" : null));

/** An integer from `least` to `most`, written without fraction and exponent. */
export function integer(least: number, most = Number.MAX_SAFE_INTEGER): Reader<number> {
  return (text, path) => {
    const n = /^-?(0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : Number.NaN;
    return n >= least && n <= most ? n : refuse(path, `must be an integer from ${least} to ${most}`);
  };
}

export const number: Reader<number> = (text, path) =>
  /^[-0-9]/.test(text) && Number.isFinite(Number(text)) ? Number(text) : refuse(path, "must be a number");

/** One of the given strings. */
export function oneOf<const T extends string>(...allowed: readonly T[]): Reader<T> {
  return (text, path) => {
    const got = string(text, path);
    return allowed.find((a) => a === got) ?? refuse(path, `must be one of ${allowed.join(", ")}`);
  };
}

export function nullable<T>(reader: Reader<T>): Reader<T | null> {
  return (text, path) => (text === "null" ? null : reader(text, path));
}

export function list<T>(reader: Reader<T>): Reader<T[]> {
  return (text, path) => {
    if (text[0] !== "[") refuse(path, "must be a list");
    const items: T[] = [];
    const scanner = new Scanner(text);
    scanner.array(() => {
      items.push(reader(scanner.value(), `${path}[${items.length}]`));
    });
    return items;
  };
}

/** An object whose names the user chose, each there once, carried as text. */
export const rawRecord: Reader<string> = (text, path) => {
  entries(text, path);
  return text;
};

/** A member that may be missing. */
export interface Optional<T> {
  readonly optional: Reader<T>;
}
export function optional<T>(reader: Reader<T>): Optional<T> {
  return { optional: reader };
}

type Fields = Record<string, Reader<unknown> | Optional<unknown>>;
type RequiredKeys<F extends Fields> = { [K in keyof F]: F[K] extends Optional<unknown> ? never : K }[keyof F];
type OptionalKeys<F extends Fields> = { [K in keyof F]: F[K] extends Optional<unknown> ? K : never }[keyof F];
export type Shape<F extends Fields> = {
  readonly [K in RequiredKeys<F>]: F[K] extends Reader<infer T> ? T : never;
} & { readonly [K in OptionalKeys<F>]?: F[K] extends Optional<infer T> ? T : never };

/** An object with exactly these members. */
export function object<F extends Fields>(fields: F): Reader<Shape<F>> {
  const known = new Map(Object.entries(fields));
  return (text, path) => {
    const found: Record<string, unknown> = Object.create(null);
    for (const [name, value] of entries(text, path)) {
      const field = known.get(name);
      if (field === undefined) refuse(`${path}.${name.slice(0, 40)}`, "is unknown");
      found[name] = (typeof field === "function" ? field : field.optional)(value, `${path}.${name}`);
    }
    for (const [name, field] of known) {
      if (typeof field === "function" && !(name in found)) refuse(`${path}.${name}`, "is missing");
    }
    return found as Shape<F>;
  };
}

/** A reader with one more rule: `rule` returns what is wrong, or null. */
export function checked<T>(reader: Reader<T>, rule: (value: T) => string | null): Reader<T> {
  return (text, path) => {
    const value = reader(text, path);
    const problem = rule(value);
    return problem === null ? value : refuse(path, problem);
  };
}
