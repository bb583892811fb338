import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Output } from "./output.ts";

const encoder = new TextEncoder();

function start(maxBytes = 1_000_000) {
  const posts: string[] = [];
  const output = new Output((stream, text) => posts.push(`${stream}:${text}`));
  output.reset(maxBytes);
  const stdout = output.writer("stdout");
  const stderr = output.writer("stderr");
  return { output, posts, write: (text: string) => stdout.write(encoder.encode(text)), stdout, stderr };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

test("a busy writer posts about every 50 ms", () => {
  const { posts, write } = start();
  for (let i = 0; i < 20; i++) {
    write(`${i},`);
    vi.advanceTimersByTime(10);
  }
  expect(posts.length).toBe(4);
  expect(posts.join("").replaceAll("stdout:", "")).toBe(Array.from({ length: 20 }, (_, i) => `${i},`).join(""));
});

test("a writer that stops is posted after 50 ms, and by flush at once", () => {
  const { output, posts, write } = start();
  write("a");
  expect(posts).toEqual([]);
  vi.advanceTimersByTime(50);
  expect(posts).toEqual(["stdout:a"]);
  write("b");
  output.flush();
  expect(posts).toEqual(["stdout:a", "stdout:b"]);
  vi.advanceTimersByTime(200);
  expect(posts.length).toBe(2);
});

test("much text is posted in pieces, without waiting", () => {
  const { posts, write, output } = start();
  write("x".repeat(200_000));
  expect(posts.map((post) => post.length - "stdout:".length)).toEqual([65536, 65536, 65536]);
  output.flush();
  expect(posts.join("").replaceAll("stdout:", "")).toBe("x".repeat(200_000));
});

test("the cap counts bytes of both streams, cuts no character in two, and a write that finds no room fails", () => {
  const { output, posts, write, stderr } = start(8);
  expect(stderr.write(encoder.encode("ab"))).toBe(2);
  expect(write("ééé€")).toBe(6);
  expect(() => write("€")).toThrow(expect.objectContaining({ code: "ENOSPC" }));
  output.print("stderr", "and what we print ourselves is dropped");
  output.flush();
  expect(posts).toEqual(["stdout:ééé", "stderr:ab"]);
  expect(output.truncated).toBe(true);
});

test("exactly the cap is nothing dropped", () => {
  const { output, write } = start(3);
  write("abc");
  expect(output.truncated).toBe(false);
  write("");
  expect(output.truncated).toBe(false);
});

test("a character cut between two writes and two pieces comes out whole", () => {
  const { output, posts, stdout } = start();
  const bytes = encoder.encode("a😀b");
  for (const byte of bytes) {
    stdout.write(new Uint8Array([byte]));
    output.flush();
  }
  expect(posts.join("").replaceAll("stdout:", "")).toBe("a😀b");
});

test("bytes that aren't UTF-8 are replaced", () => {
  const { output, posts, stdout } = start();
  stdout.write(new Uint8Array([0x61, 0xff, 0x62]));
  output.flush();
  expect(posts).toEqual(["stdout:a\ufffdb"]);
});

test("what is written beyond the cap can be dropped, until the next run", () => {
  const { output, posts, write } = start(1);
  write("ab");
  output.drop();
  expect(write("cd")).toBe(2);
  output.reset(1);
  write("x");
  expect(() => write("y")).toThrow("full");
  output.flush();
  expect(posts).toEqual(["stdout:x"]);
});

test("reset forgets what wasn't posted", () => {
  const { output, posts, write, stdout } = start();
  write("old");
  stdout.write(new Uint8Array([0xf0, 0x9f])); // half a character
  output.reset(10);
  write("new");
  output.flush();
  expect(posts).toEqual(["stdout:new"]);
});

test("the heap's view isn't kept", () => {
  const { output, posts, stdout } = start();
  const heap = encoder.encode("abc");
  stdout.write(heap);
  heap.fill(0x78);
  output.flush();
  expect(posts).toEqual(["stdout:abc"]);
});
