import { expect, test } from "vitest";
import { byteLength, fits, formatBytes } from "./size.ts";

const encoder = new TextEncoder();

test.each(["", "abc", "é", "€", "😀", "a😀é€\n", "😀".repeat(1000), "\u0000\u007f\u0080\u07ff\u0800\uffff"])(
  "byteLength of %.20s is that of its UTF-8",
  (text) => {
    expect(byteLength(text)).toBe(encoder.encode(text).length);
  },
);

test("fits counts bytes, not characters", () => {
  expect(fits("é".repeat(10), 20)).toBe(true);
  expect(fits("é".repeat(10), 19)).toBe(false);
  expect(fits("abc", 3)).toBe(true);
  expect(fits("abcd", 3)).toBe(false);
});

test.each([
  [0, "0 bytes"],
  [1023, "1023 bytes"],
  [1024, "1 KiB"],
  [1536, "1.5 KiB"],
  [10 * 2 ** 20, "10 MiB"],
  [2 ** 40, "1024 GiB"],
])("%i is written as %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
