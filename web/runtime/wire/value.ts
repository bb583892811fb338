/**
 * What may travel as a user's value, beyond being JSON: the same rules as host/jsonvalue. The page applies them to everything that
 * comes out of a worker before it puts the text into a frame, because a frame that breaks them would cost the whole connection.
 */

import { skipString } from "./spans.ts";

/** Deepest nesting of arrays and objects: `[]` is one level, a number none. */
export const MAX_DEPTH = 512;

/** Longest integer, in digits: Python's own limit for reading one back. */
export const MAX_INTEGER_DIGITS = 4300;

const QUOTE = 0x22;

/** The reason why `text` isn't an acceptable value, or null when it is. Takes time linear in the text and never throws. */
export function valueProblem(text: string): string | null {
  try {
    JSON.parse(text);
  } catch {
    return "not valid JSON";
  }
  return textProblem(text);
}

/** The same for text known to be valid JSON. */
export function textProblem(text: string): string | null {
  if (!text.isWellFormed() || hasLoneEscape(text)) return "a lone surrogate";
  let depth = 0;
  for (let i = 0; i < text.length; ) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = skipString(text, i);
    } else if (code === 0x5b || code === 0x7b) {
      if (++depth > MAX_DEPTH) return `deeper than ${MAX_DEPTH} levels`;
      i++;
    } else if (code === 0x5d || code === 0x7d) {
      depth--;
      i++;
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      const end = skipNumber(text, i);
      const problem = numberProblem(text.slice(i, end));
      if (problem !== null) return problem;
      i = end;
    } else i++;
  }
  return null;
}

function skipNumber(text: string, at: number): number {
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // digits, '+', '-', '.', 'e', 'E'
    if (!((code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2d || code === 0x2e || (code | 0x20) === 0x65))
      break;
  }
  return at;
}

function numberProblem(number: string): string | null {
  if (number.length < 300 && !/[eE]/.test(number)) return null;
  if (/[.eE]/.test(number)) return Number.isFinite(Number(number)) ? null : "a number that overflows";
  const digits = number.startsWith("-") ? number.length - 1 : number.length;
  return digits > MAX_INTEGER_DIGITS ? `an integer of more than ${MAX_INTEGER_DIGITS} digits` : null;
}

/** Whether some string in the text spells half of a surrogate pair by an escape. In valid JSON a backslash stands only in strings. */
function hasLoneEscape(text: string): boolean {
  let high = -1; // the position right after an escaped high surrogate that still waits for its low half
  for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", at)) {
    if (high >= 0 && high !== at) return true;
    const unit = text.charCodeAt(at + 1) === 0x75 ? Number.parseInt(text.slice(at + 2, at + 6), 16) : 0;
    const isLow = unit >= 0xdc00 && unit <= 0xdfff;
    if (isLow !== high >= 0) return true;
    at += text.charCodeAt(at + 1) === 0x75 ? 6 : 2;
    high = unit >= 0xd800 && unit <= 0xdbff ? at : -1;
  }
  return high >= 0;
}
