/**
 * Saves and restores the files and open descriptors of an interpreter. They live in JavaScript (emscripten's MEMFS), beside the memory of
 * the WebAssembly module. The bytes of files go into the buffer that takes the memory, too: a copy, and nothing that has to be cloned.
 */

import type { FileSystem, Node, Stream } from "./emscripten.ts";

interface Times {
  readonly mode: number;
  readonly atime: number;
  readonly mtime: number;
  readonly ctime: number;
}

/** Where the bytes stand in the buffer. */
interface Span {
  readonly at: number;
  readonly bytes: number;
}

type SavedNode =
  | (Times & { readonly kind: "folder"; readonly path: string })
  | (Times & { readonly kind: "link"; readonly path: string; readonly inode: number; readonly target: string })
  | SavedFile;

type SavedFile = Times & Span & { readonly kind: "file"; readonly path: string; readonly inode: number };

interface SavedStream {
  readonly fd: number;
  /** Descriptors of one group share position and flags. */
  readonly group: number;
  readonly flags: number;
  readonly position: number;
  readonly path: string;
  /** Index in `orphans`, of a file that has no name any more. */
  readonly orphan?: number;
}

export interface SavedFiles {
  readonly nodes: readonly SavedNode[];
  readonly orphans: readonly SavedFile[];
  readonly streams: readonly SavedStream[];
  readonly cwd: string;
  readonly nextInode: number;
}

/** Made by emscripten itself, the same in every interpreter. */
const SKIPPED: ReadonlySet<string> = new Set(["/proc", "/dev", "/lib/python314.zip"]);
const STANDARD_STREAMS = 3;
const CREATES = 0o100 | 0o200 | 0o1000; // O_CREAT, O_EXCL, O_TRUNC
const ORPHAN = "/.toolplane-orphan";

/** The files as they are now; `bytes` is what put() needs. */
export interface FileList {
  readonly bytes: number;
  /** Copies the bytes to buffer[at…] and describes everything. */
  put(buffer: Uint8Array, at: number): SavedFiles;
}

export function listFiles(fs: FileSystem): FileList {
  const nodes = [...walk(fs)];
  const orphans: Node[] = [];
  const streams = openStreams(fs);
  for (const { node } of streams) {
    if (node !== undefined && fs.isFile(node.mode) && isOrphan(fs, node) && !orphans.includes(node)) orphans.push(node);
  }
  let bytes = 0;
  for (const node of [...nodes.map(([, node]) => node), ...orphans]) bytes += contents(fs, node).length;
  return {
    bytes,
    put(buffer, start) {
      let at = start;
      const file = (node: Node, path: string): SavedFile => {
        const data = contents(fs, node);
        buffer.set(data, at);
        at += data.length;
        return { kind: "file", path, inode: node.id, ...times(node), at: at - data.length, bytes: data.length };
      };
      return {
        nodes: nodes.map(([path, node]): SavedNode => {
          if (fs.isDir(node.mode)) return { kind: "folder", path, ...times(node) };
          if (fs.isLink(node.mode))
            return { kind: "link", path, inode: node.id, target: node.link ?? "", ...times(node) };
          return file(node, path);
        }),
        orphans: orphans.map((node) => file(node, "")),
        streams: saveStreams(fs, streams, orphans),
        cwd: fs.cwd(),
        nextInode: fs.nextInode,
      };
    },
  };
}

/** What is open and can't be opened again elsewhere; "" if there's nothing. */
export function lostStreams(fs: FileSystem): string {
  return fs.streams.some((stream) => stream != null && stream.fd >= STANDARD_STREAMS && !isOurs(fs, stream))
    ? "a pipe or socket is open"
    : "";
}

/** Makes the files of a pristine interpreter those that were saved. */
export function restoreFiles(fs: FileSystem, saved: SavedFiles, buffer: Uint8Array): void {
  const { ignorePermissions } = fs;
  fs.ignorePermissions = true;
  try {
    fs.chdir("/");
    fs.nextInode = Math.max(fs.nextInode, saved.nextInode);
    removeOthers(fs, saved.nodes);
    for (const node of saved.nodes) restoreNode(fs, node, buffer);
    restoreStreams(fs, saved, buffer);
    for (const node of saved.nodes) setTimes(lookUp(fs, node.path), node);
    fs.chdir(saved.cwd);
  } finally {
    fs.ignorePermissions = ignorePermissions;
  }
}

/** Folders come before what's in them. */
function* walk(fs: FileSystem, folder: Node = fs.root, path = ""): Generator<[path: string, node: Node]> {
  for (const [name, node] of Object.entries(folder.contents as Record<string, Node>)) {
    const here = `${path}/${name}`;
    if (SKIPPED.has(here)) continue;
    if (fs.isDir(node.mode)) {
      yield [here, node];
      yield* walk(fs, node, here);
    } else if (fs.isFile(node.mode) || fs.isLink(node.mode)) yield [here, node];
  }
}

function contents(fs: FileSystem, node: Node): Uint8Array {
  if (!fs.isFile(node.mode) || !ArrayBuffer.isView(node.contents)) return new Uint8Array(0);
  return new Uint8Array(node.contents.buffer, node.contents.byteOffset, node.usedBytes);
}

function times({ mode, atime, mtime, ctime }: Node): Times {
  return { mode, atime: +atime, mtime: +mtime, ctime: +ctime };
}

function setTimes(node: Node, { mode, atime, mtime, ctime }: Times): void {
  Object.assign(node, { mode, atime, mtime, ctime });
}

/** Those that can be opened again elsewhere. */
function openStreams(fs: FileSystem): Stream[] {
  return fs.streams.filter(
    (stream): stream is Stream => stream != null && stream.fd >= STANDARD_STREAMS && isOurs(fs, stream),
  );
}

function isOurs(fs: FileSystem, { node }: Stream): boolean {
  return node?.mount === fs.root.mount;
}

function isOrphan(fs: FileSystem, node: Node): boolean {
  return fs.analyzePath(fs.getPath(node), true).object !== node;
}

function saveStreams(fs: FileSystem, streams: readonly Stream[], orphans: readonly Node[]): SavedStream[] {
  const groups = new Map<object, number>();
  return streams.map(({ fd, shared, flags, position, node, path }) => {
    if (!groups.has(shared)) groups.set(shared, groups.size);
    const orphan = node === undefined ? -1 : orphans.indexOf(node);
    return {
      fd,
      group: groups.get(shared) as number,
      flags,
      position,
      path: node === undefined ? (path ?? "") : fs.getPath(node),
      ...(orphan < 0 ? {} : { orphan }),
    };
  });
}

function removeOthers(fs: FileSystem, wanted: readonly SavedNode[]): void {
  const kinds = new Map(wanted.map(({ path, kind }) => [path, kind]));
  for (const [path, node] of [...walk(fs)].reverse()) {
    const kind = fs.isDir(node.mode) ? "folder" : fs.isLink(node.mode) ? "link" : "file";
    if (kinds.get(path) === kind && kind !== "link") continue;
    if (kind === "folder") fs.rmdir(path);
    else fs.unlink(path);
  }
}

function restoreNode(fs: FileSystem, node: SavedNode, buffer: Uint8Array): void {
  if (node.kind === "folder") {
    if (!fs.analyzePath(node.path, true).exists) fs.mkdir(node.path, node.mode);
  } else if (node.kind === "link") fs.symlink(node.target, node.path).id = node.inode;
  else writeFile(fs, node.path, node, buffer);
}

function writeFile(fs: FileSystem, path: string, { at, bytes, inode }: SavedFile, buffer: Uint8Array): Node {
  fs.close(fs.open(path, 0o101, 0o666)); // O_WRONLY | O_CREAT
  const node = lookUp(fs, path);
  node.contents = buffer.slice(at, at + bytes);
  node.usedBytes = bytes;
  node.id = inode; // SQLite writes to no file whose inode changed
  return node;
}

function lookUp(fs: FileSystem, path: string): Node {
  const { object } = fs.analyzePath(path, true);
  if (object === null) throw new Error(`${path} isn't there after it was restored`);
  return object;
}

function restoreStreams(fs: FileSystem, { streams, orphans }: SavedFiles, buffer: Uint8Array): void {
  for (const stream of openStreams(fs)) fs.close(stream);
  orphans.forEach((file, i) => {
    setTimes(writeFile(fs, `${ORPHAN}-${i}`, file, buffer), file);
  });
  const groups = new Map<number, Stream>();
  for (const { fd, group, flags, position, path, orphan } of streams) {
    const first = groups.get(group);
    if (first !== undefined) {
      fs.createStream(first, fd);
      continue;
    }
    const stream = fs.open(orphan === undefined ? path : `${ORPHAN}-${orphan}`, flags & ~CREATES);
    fs.streams[stream.fd] = null;
    stream.fd = fd;
    fs.streams[fd] = stream;
    stream.position = position;
    stream.flags = flags;
    groups.set(group, stream);
  }
  for (let i = 0; i < orphans.length; i++) fs.unlink(`${ORPHAN}-${i}`);
}
