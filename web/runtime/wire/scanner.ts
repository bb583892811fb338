/**
 * Walks over JSON text and hands out pieces of it. Values of users are carried as the text they arrived in: decoding and encoding them again
 * would change 2**53+1, 1.0, -0.0 and duplicate names. So text is checked and cut by position here, and never rebuilt.
 *
 * Stricter than JSON.parse in one thing only, as the host is: half a surrogate pair, raw or escaped, is an error.
 */

/** Nesting that no frame may exceed; the same as in wsbridge/protocol. Users' values have a lower limit of their own, see value.ts. */
export const MAX_FRAME_DEPTH = 10_000;

/** What is wrong with the text, and where. */
export class SyntaxProblem extends Error {
  override readonly name = "SyntaxProblem";
}

export interface ScanOptions {
  readonly maxDepth?: number;
  /** Looks at each number's text; what it returns is an error. */
  readonly checkNumber?: (text: string) => string | null;
}

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export class Scanner {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #checkNumber: ((text: string) => string | null) | undefined;
  #at = 0;
  #depth = 0;

  constructor(text: string, { maxDepth = MAX_FRAME_DEPTH, checkNumber }: ScanOptions = {}) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#checkNumber = checkNumber;
  }

  /** The first character of the next value, or "" at the end. */
  peek(): string {
    this.#skipSpace();
    return this.#text.charAt(this.#at);
  }

  /** Reads the next value and returns its text. */
  value(): string {
    this.#skipSpace();
    const start = this.#at;
    this.#skipValue();
    return this.#text.slice(start, this.#at);
  }

  /** Reads the object that is next and calls `member` with each decoded name. `member` must read the value. */
  object(member: (name: string) => void): void {
    this.#open(OPEN_OBJECT);
    for (let first = true; !this.#closed(CLOSE_OBJECT, first); first = false) {
      const start = this.#at;
      this.#skipString();
      const name = JSON.parse(this.#text.slice(start, this.#at)) as string;
      this.#expectColon();
      member(name);
    }
  }

  /** Reads the array that is next and calls `element` at each element, which it must read. */
  array(element: () => void): void {
    this.#open(OPEN_ARRAY);
    for (let first = true; !this.#closed(CLOSE_ARRAY, first); first = false) element();
  }

  /** Makes sure that nothing is left. */
  end(): void {
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#fail("more text follows the value");
  }

  #fail(problem: string): never {
    throw new SyntaxProblem(
      this.#at >= this.#text.length ? "the text ends too early" : `${problem} at character ${this.#at}`,
    );
  }

  #open(code: number): void {
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) !== code) this.#fail("unexpected text");
    if (++this.#depth > this.#maxDepth) this.#fail(`deeper than ${this.#maxDepth} levels`);
    this.#at++;
  }

  /** After an element, or after the opening: reads the closing character, or the comma and what leads to the next element. */
  #closed(closing: number, first: boolean): boolean {
    this.#skipSpace();
    const code = this.#text.charCodeAt(this.#at);
    if (code === closing) {
      this.#at++;
      this.#depth--;
      return true;
    }
    if (!first) {
      if (code !== COMMA) this.#fail("missing comma");
      this.#at++;
      this.#skipSpace();
    }
    if (closing === CLOSE_OBJECT && this.#text.charCodeAt(this.#at) !== QUOTE)
      this.#fail("a member starts with its name in quotes");
    return false;
  }

  #expectColon(): void {
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) !== COLON) this.#fail("missing colon");
    this.#at++;
  }

  #skipSpace(): void {
    for (; this.#at < this.#text.length; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    }
  }

  /** Walks over one value, without recursion: nesting is bounded by a number, not by the stack. */
  #skipValue(): void {
    const closing: number[] = [];
    for (;;) {
      this.#skipSpace();
      const code = this.#text.charCodeAt(this.#at);
      let opened = false;
      if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        this.#open(code);
        closing.push(code === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY);
        opened = true;
      } else this.#skipScalar(code);
      for (;;) {
        const close = closing.at(-1);
        if (close === undefined) return;
        if (!this.#closed(close, opened)) {
          if (close === CLOSE_OBJECT) {
            this.#skipString();
            this.#expectColon();
          }
          break;
        }
        closing.pop();
        opened = false;
      }
    }
  }

  #skipScalar(code: number): void {
    if (code === QUOTE) return this.#skipString();
    if (code === MINUS || isDigit(code)) return this.#skipNumber();
    for (const word of ["true", "false", "null"]) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return;
      }
    }
    this.#fail("not a value");
  }

  #skipString(): void {
    const text = this.#text;
    let at = this.#at + 1;
    for (; ; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code >= 0x20 && code !== BACKSLASH && (code < 0xd800 || code > 0xdfff)) continue;
      this.#at = at;
      if (code === BACKSLASH) at = this.#skipEscape(at);
      else if (code >= 0xd800 && code <= 0xdbff && isLow(text.charCodeAt(at + 1))) at++;
      else if (code >= 0xd800) this.#fail("half a surrogate pair");
      else this.#fail("control character in a string"); // or the end of the text
    }
    this.#at = at + 1;
  }

  /** Checks the escape at `at` and returns the position of its last character. */
  #skipEscape(at: number): number {
    const letter = this.#text.charAt(at + 1);
    if (letter !== "" && '"\\/bfnrt'.includes(letter)) return at + 1;
    const unit = this.#escapedUnit(at);
    if (isLow(unit)) this.#fail("half a surrogate pair");
    if (unit < 0xd800 || unit > 0xdfff) return at + 5;
    if (this.#text.charCodeAt(at + 6) !== BACKSLASH || !isLow(this.#escapedUnit(at + 6)))
      this.#fail("half a surrogate pair");
    return at + 11;
  }

  #escapedUnit(at: number): number {
    const digits = this.#text.slice(at + 2, at + 6);
    if (this.#text.charAt(at + 1) !== "u" || !/^[0-9a-fA-F]{4}$/.test(digits)) this.#fail("unknown escape");
    return Number.parseInt(digits, 16);
  }

  #skipNumber(): void {
    const start = this.#at;
    if (this.#text.charCodeAt(this.#at) === MINUS) this.#at++;
    if (this.#text.charCodeAt(this.#at) === ZERO) this.#at++;
    else this.#skipDigits();
    if (this.#text.charCodeAt(this.#at) === POINT) {
      this.#at++;
      this.#skipDigits();
    }
    if ((this.#text.charCodeAt(this.#at) | 0x20) === 0x65) {
      this.#at++;
      const sign = this.#text.charCodeAt(this.#at);
      if (sign === PLUS || sign === MINUS) this.#at++;
      this.#skipDigits();
    }
    const problem = this.#checkNumber?.(this.#text.slice(start, this.#at)) ?? null;
    if (problem !== null) throw new SyntaxProblem(`${problem} at character ${start}`);
  }

  #skipDigits(): void {
    const start = this.#at;
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++;
    if (this.#at === start) this.#fail("missing digit");
  }
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
