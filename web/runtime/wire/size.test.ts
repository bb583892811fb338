import { expect, test } from "vitest";
import { byteLength, fits } from "./size.ts";

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
