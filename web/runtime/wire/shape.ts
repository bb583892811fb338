/**
 * Strict decoding of params and results: every member is known, spelled exactly, of the right type and there once.
 * A shape is written once and gives both the check and the TypeScript type.
 */

import { Code, FrameError } from "./errors.ts";
import { elements, members } from "./spans.ts";

/** Reads raw JSON text as T, or throws FrameError (invalid params) with `path` in its message. */
export type Reader<T> = (raw: string, path: string) => T;

function refuse(path: string, problem: string): never {
  throw new FrameError(Code.invalidParams, `${path} ${problem}`);
}

/** A value of the user's: any JSON, carried as the text it came in. */
export const raw: Reader<string> = (text) => text;

/** A user's object, carried as text. */
export const rawObject: Reader<string> = (text, path) => (text[0] === "{" ? text : refuse(path, "must be an object"));

export const string: Reader<string> = (text, path) =>
  text[0] === '"' ? (JSON.parse(text) as string) : refuse(path, "must be a string");

export const boolean: Reader<boolean> = (text, path) =>
  text === "true" ? true : text === "false" ? false : refuse(path, "must be true or false");

/** An integer from `least` to `most`, written without fraction and exponent. */
export function integer(least: number, most = Number.MAX_SAFE_INTEGER): Reader<number> {
  return (text, path) => {
    const n = /^-?(0|[1-9][0-9]{0,15})$/.test(text) ? Number(text) : Number.NaN;
    return n >= least && n <= most ? n : refuse(path, `must be an integer from ${least} to ${most}`);
  };
}

export const number: Reader<number> = (text, path) =>
  /^[-0-9]/.test(text) ? Number(text) : refuse(path, "must be a number");

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

/** A list of at most `most` items. */
export function list<T>(reader: Reader<T>, most = 100_000): Reader<T[]> {
  return (text, path) => {
    const items = elements(text) ?? refuse(path, "must be a list");
    if (items.length > most) refuse(path, `has more than ${most} items`);
    return items.map((item, i) => reader(item, `${path}[${i}]`));
  };
}

/** An object whose names the user chose, each there once, carried as text. */
export const rawRecord: Reader<string> = (text, path) => {
  const seen = new Set<string>();
  for (const { name } of members(text) ?? refuse(path, "must be an object")) {
    if (seen.has(name)) refuse(`${path}.${name}`, "stands twice");
    seen.add(name);
  }
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
    const spans = members(text) ?? refuse(path, "must be an object");
    const found: Record<string, unknown> = Object.create(null);
    for (const { name, start, end } of spans) {
      const field = known.get(name);
      if (field === undefined) refuse(`${path}.${name}`, "is unknown");
      if (name in found) refuse(`${path}.${name}`, "stands twice");
      const reader = typeof field === "function" ? field : field.optional;
      found[name] = reader(text.slice(start, end), `${path}.${name}`);
    }
    for (const [name, field] of known) {
      if (!(name in found) && typeof field === "function") refuse(`${path}.${name}`, "is missing");
    }
    return found as Shape<F>;
  };
}
