import { describe, expect, test } from "vitest";
import { capMemory, PAGE_BYTES } from "./wasm-memory.ts";

const HEADER = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const CUSTOM = [0, 5, 1, 0x78, 5, 5, 5]; // a custom section whose bytes look like memory sections
/** Minimum and maximum as LEB128. */
const module = (...limits: number[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array([...HEADER, ...CUSTOM, 5, limits.length + 1, 1, ...limits, 7, 7, 1, 3, 0x6d, 0x65, 0x6d, 2, 0]);
const ROOMY = [1, 16, 0x80, 0x80, 0x04]; // 1 MiB, at most 4 GiB

function memoryOf(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Memory {
  return new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.mem as WebAssembly.Memory;
}

test("the engine refuses to grow beyond the cap", () => {
  const bytes = module(...ROOMY);
  capMemory(bytes, 3);
  const memory = memoryOf(bytes);
  memory.grow(32);
  expect(memory.buffer.byteLength).toBe(48 * PAGE_BYTES);
  expect(() => memory.grow(1)).toThrow(RangeError);
});

test("another cap can follow, as long as it's lower", () => {
  const bytes = module(...ROOMY);
  capMemory(bytes, 2048);
  capMemory(bytes, 1);
  expect(() => memoryOf(bytes).grow(1)).toThrow(RangeError);
});

test("a cap above the module's own changes nothing", () => {
  const bytes = module(1, 1, 2);
  const before = bytes.slice();
  capMemory(bytes, 512);
  expect(bytes).toEqual(before);
});

describe("refused:", () => {
  test.each([
    ["a cap below the start", module(...ROOMY), /starts with, 1 MiB/],
    ["no memory", new Uint8Array([...HEADER, ...CUSTOM]), /no memory of its own/],
    ["no maximum", module(0, 16), /no memory of its own/],
    ["a cut module", module(...ROOMY).slice(0, 19), /ends in the middle/],
    ["a number without end", module(1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), /more than 32 bits/],
  ])("%s", (_what, bytes, problem) => {
    expect(() => capMemory(bytes, 0.5)).toThrow(problem);
  });
});
