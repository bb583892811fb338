/**
 * Caps what a run's files take. They live in JavaScript's memory, beside that of the module, which its cap doesn't count. A snippet that wants to use
 * up the browser's memory can do that by other ways; this is for those that don't want to.
 */

import type { FileSystem, Node, Stream } from "./emscripten.ts";

const ENOSPC = 51;

type Write = (
  stream: Stream,
  ...rest: [buffer: Uint8Array, offset: number, length: number, position: number]
) => number;

/** emscripten's file system in memory, as far as it's used here. */
interface MemoryFiles {
  ops_table: { file: { stream: { write: Write } } };
  resizeFileStorage(node: Node, bytes: number): void;
}

export interface CappedFileSystem extends FileSystem {
  readonly filesystems: { readonly MEMFS: MemoryFiles };
  readonly ErrnoError: new (errno: number) => Error;
}

export class FileCap {
  readonly #fs: CappedFileSystem;
  readonly #maxBytes: number;
  /** What files took at the last count and grew by since. Files that shrink or go are noticed by the next count. */
  #bytes = Number.POSITIVE_INFINITY;

  /** From now on, a write or truncate that needs more than `maxBytes` in all fails as on a full disk. */
  constructor(fs: CappedFileSystem, maxBytes: number) {
    this.#fs = fs;
    this.#maxBytes = maxBytes;
    const { MEMFS } = fs.filesystems;
    const { stream } = MEMFS.ops_table.file;
    const { write } = stream;
    stream.write = (to, buffer, offset, length, position) => {
      const { node } = to;
      return this.#charge(node, position + length, () => write(to, buffer, offset, length, position));
    };
    const resize = MEMFS.resizeFileStorage;
    MEMFS.resizeFileStorage = (node, bytes) => this.#charge(node, bytes, () => resize(node, bytes));
  }

  /** A run begins: files may have been put in place or taken away from outside. */
  recount(): void {
    this.#bytes = Number.POSITIVE_INFINITY;
  }

  #charge<T>(node: Node | undefined, wanted: number, grow: () => T): T {
    const before = sizeOf(node);
    if (wanted > before && this.#bytes + wanted - before > this.#maxBytes) {
      this.#bytes = count(this.#fs);
      if (this.#bytes + wanted - before > this.#maxBytes) throw new this.#fs.ErrnoError(ENOSPC);
    }
    const result = grow();
    this.#bytes += sizeOf(node) - before;
    return result;
  }
}

function sizeOf(node: Node | undefined): number {
  return ArrayBuffer.isView(node?.contents) ? node.contents.byteLength : 0;
}

/** Bytes of all files in the tree, and of those that are open but have no name any more. */
function count(fs: FileSystem): number {
  const todo: Node[] = [fs.root];
  for (const stream of fs.streams) if (stream?.node !== undefined) todo.push(stream.node);
  const seen = new Set<Node>();
  let bytes = 0;
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    bytes += sizeOf(node);
    const { contents } = node;
    if (fs.isDir(node.mode) && contents && !ArrayBuffer.isView(contents)) todo.push(...Object.values(contents));
  }
  return bytes;
}
