import { expect, test } from "vitest";
import type { Node, Stream } from "./emscripten.ts";
import { type CappedFileSystem, FileCap } from "./file-cap.ts";

const DIR = 1;
const FILE = 2;

class ErrnoError extends Error {
  readonly errno: number;
  constructor(errno: number) {
    super(`errno ${errno}`);
    this.errno = errno;
  }
}

/** A file system with one folder, whose files are as large as what was written to them. */
function start(maxBytes: number) {
  const files: Record<string, Node> = {};
  const grow = (node: Node, bytes: number): void => {
    node.contents = new Uint8Array(bytes);
  };
  const stream = {
    write: ({ node }: Stream, _b: Uint8Array, _o: number, length: number, position: number) => {
      if (node !== undefined) grow(node, position + length);
      return length;
    },
  };
  const fs = {
    root: { mode: DIR, contents: { sub: { mode: DIR, contents: files } } },
    streams: [null] as (Stream | null)[],
    isDir: (mode: number) => mode === DIR,
    filesystems: { MEMFS: { ops_table: { file: { stream } }, resizeFileStorage: grow } },
    ErrnoError,
  };
  const cap = new FileCap(fs as unknown as CappedFileSystem, maxBytes);
  const file = (name: string): Node => {
    files[name] ??= { mode: FILE, contents: null } as unknown as Node;
    return files[name];
  };
  const write = (node: Node, length: number, position = 0): number =>
    stream.write({ node } as unknown as Stream, new Uint8Array(0), 0, length, position);
  return { fs, files, cap, file, write, resize: fs.filesystems.MEMFS.resizeFileStorage };
}

test("files may take so much together, and not a byte more", () => {
  const { file, write } = start(100);
  expect(write(file("a"), 60)).toBe(60);
  expect(write(file("b"), 40)).toBe(40);
  expect(() => write(file("c"), 1)).toThrow(expect.objectContaining({ errno: 51 }));
  expect(write(file("a"), 10, 50)).toBe(10);
  expect(() => write(file("a"), 11, 50)).toThrow(ErrnoError);
});

test("a truncate counts, in both directions", () => {
  const { file, resize } = start(100);
  resize(file("a"), 100);
  expect(() => resize(file("b"), 1)).toThrow(ErrnoError);
  resize(file("a"), 50);
  resize(file("b"), 50);
});

test("what was removed makes room, unless it's still open", () => {
  const { fs, files, file, write } = start(100);
  const gone = file("a");
  write(gone, 100);
  delete files.a;
  fs.streams.push({ node: gone } as unknown as Stream);
  expect(() => write(file("b"), 1)).toThrow(ErrnoError);
  fs.streams.pop();
  expect(write(file("b"), 100)).toBe(100);
});

test("files that came from elsewhere count from the next run on", () => {
  const { cap, file, write } = start(100);
  write(file("a"), 10);
  file("b").contents = new Uint8Array(90);
  cap.recount();
  expect(() => write(file("c"), 1)).toThrow(ErrnoError);
});
