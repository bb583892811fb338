/**
 * What may travel as a user's value, beyond being JSON: the same rules as host/jsonvalue. The page applies them to everything that
 * comes out of a worker before it puts the text into a frame, because a frame that breaks them would be refused as a whole.
 */

import { Scanner, SyntaxProblem } from "./scanner.ts";

/** Deepest nesting of arrays and objects: `[]` is one level, a number none. */
export const MAX_DEPTH = 512;

/** Longest integer, in digits: Python's own limit for reading one back. */
export const MAX_INTEGER_DIGITS = 4300;

/** The reason why `text` isn't exactly one acceptable value, or null when it is. `levels` are those of an object of ours around it. */
export function valueProblem(text: string, levels = 0): string | null {
  try {
    const scanner = new Scanner(text, { maxDepth: MAX_DEPTH + levels, checkNumber: numberProblem });
    scanner.value();
    scanner.end();
    return null;
  } catch (error) {
    if (error instanceof SyntaxProblem) return error.message;
    throw error;
  }
}

function numberProblem(text: string): string | null {
  if (/[.eE]/.test(text)) return Number.isFinite(Number(text)) ? null : "a number that overflows";
  const digits = text.startsWith("-") ? text.length - 1 : text.length;
  return digits > MAX_INTEGER_DIGITS ? `an integer of more than ${MAX_INTEGER_DIGITS} digits` : null;
}
