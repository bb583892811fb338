/**
 * Spans of JSON text. Values of users are carried as the text they arrived in: decoding and encoding them again would change 2**53+1,
 * 1.0, -0.0 and the order of members. So a frame is checked once by JSON.parse and then cut by position, never rebuilt.
 *
 * The functions here trust that the text is valid JSON. They don't check it and may return nonsense, but always return, when it isn't.
 */

/** One member of an object: its decoded name, and where its value stands in the text. */
export interface Member {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** The first position at or after `at` that isn't white space. */
export function skipSpace(text: string, at: number): number {
  while (at < text.length && isSpace(text.charCodeAt(at))) at++;
  return at;
}

/** The position after the string that starts (with its quote) at `at`. */
export function skipString(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i + 1;
    if (code === BACKSLASH) i++;
  }
  return text.length;
}

/** The position after the value that starts at `at`. */
export function skipValue(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === QUOTE) return skipString(text, at);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) {
    let i = at;
    for (; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || isSpace(code)) break;
    }
    return i;
  }
  let depth = 0;
  for (let i = at; i < text.length; ) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = skipString(text, i);
      continue;
    }
    i++;
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth++;
    else if ((code === CLOSE_OBJECT || code === CLOSE_ARRAY) && --depth === 0) return i;
  }
  return text.length;
}

/** The members of the object in `text`, in order and with duplicates, or null when the value is something else. */
export function members(text: string): Member[] | null {
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== OPEN_OBJECT) return null;
  const found: Member[] = [];
  at = skipSpace(text, at + 1);
  while (at < text.length && text.charCodeAt(at) === QUOTE) {
    const nameEnd = skipString(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const end = skipValue(text, start);
    found.push({ name, start, end });
    at = skipSpace(text, end);
    if (text.charCodeAt(at) !== COMMA) break;
    at = skipSpace(text, at + 1);
  }
  return found;
}

/** The raw texts of a list's items, or null when the value is something else. */
export function elements(text: string): string[] | null {
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== OPEN_ARRAY) return null;
  const found: string[] = [];
  at = skipSpace(text, at + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_ARRAY) {
    const end = skipValue(text, at);
    found.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text.charCodeAt(at) !== COMMA) break;
    at = skipSpace(text, at + 1);
  }
  return found;
}
