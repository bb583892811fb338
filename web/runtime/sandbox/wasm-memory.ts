/**
 * Caps the memory of a wasm module: rewrites the maximum in its memory section, so that the engine itself refuses to grow beyond it. The code in the
 * module can't lift that, and neither can what JavaScript reaches of it.
 */

export const PAGE_BYTES = 64 * 1024;
const PAGES_PER_MIB = (1024 * 1024) / PAGE_BYTES;
const MEMORY_SECTION = 5;
const HEADER_BYTES = 8;
const HAS_MAXIMUM = 1;

/** Rewrites the maximum in place. Throws when the module has no memory section with a maximum, or can't live with so little. */
export function capMemory(wasm: Uint8Array, maxMiB: number): void {
  const pages = Math.floor(maxMiB * PAGES_PER_MIB);
  const at = new Reader(wasm, HEADER_BYTES);
  while (!at.done) {
    const section = at.byte();
    const end = at.uint() + at.offset;
    if (section !== MEMORY_SECTION) {
      at.offset = end;
      continue;
    }
    const memories = at.uint();
    const flags = at.byte();
    const minimum = at.uint();
    if (memories !== 1 || flags !== HAS_MAXIMUM) break;
    if (pages < minimum) {
      throw new RangeError(
        `a memory cap of ${maxMiB} MiB is below what the module starts with, ${minimum / PAGES_PER_MIB} MiB`,
      );
    }
    const start = at.offset;
    const present = at.uint();
    if (pages < present) writePadded(wasm.subarray(start, at.offset), pages);
    return;
  }
  throw new Error("the wasm module has no memory of its own with a maximum: its memory can't be capped");
}

/** Writes a number of exactly as many bytes as there are: the smaller one never needs more than the one it replaces. */
function writePadded(bytes: Uint8Array, value: number): void {
  let rest = value;
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = (rest & 0x7f) | (i < bytes.length - 1 ? 0x80 : 0);
    rest >>>= 7;
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  offset: number;

  constructor(bytes: Uint8Array, offset: number) {
    this.#bytes = bytes;
    this.offset = offset;
  }

  get done(): boolean {
    return this.offset >= this.#bytes.length;
  }

  byte(): number {
    const value = this.#bytes[this.offset++];
    if (value === undefined) throw new Error("the wasm module ends in the middle of a section");
    return value;
  }

  /** An unsigned LEB128 number of at most 32 bits. */
  uint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new Error("the wasm module has a number of more than 32 bits");
  }
}
