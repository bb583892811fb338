/** What is used of emscripten's file system (MEMFS) and of pyodide's module. None of it is public: the version is pinned, and the tests fail first. */

export interface Node {
  id: number;
  mode: number;
  atime: number;
  mtime: number;
  ctime: number;
  /** Children by name, of a folder; a file's bytes, of which `usedBytes` count; null or missing for an empty file. */
  contents?: Record<string, Node> | Uint8Array | Int8Array | null;
  usedBytes?: number;
  /** Target of a symbolic link. */
  link?: string;
  readonly mount: unknown;
}

export interface Stream {
  fd: number;
  flags: number;
  position: number;
  path?: string;
  readonly node?: Node;
  /** What descriptors made by dup have in common. */
  readonly shared: object;
}

export interface FileSystem {
  readonly root: Node;
  readonly streams: (Stream | null | undefined)[];
  nextInode: number;
  ignorePermissions: boolean;
  isDir(mode: number): boolean;
  isLink(mode: number): boolean;
  isFile(mode: number): boolean;
  cwd(): string;
  chdir(path: string): void;
  getPath(node: Node): string;
  analyzePath(path: string, dontFollow?: boolean): { exists: boolean; object: Node | null };
  mkdir(path: string, mode: number): Node;
  rmdir(path: string): void;
  unlink(path: string): void;
  symlink(target: string, path: string): Node;
  open(path: string, flags: number, mode?: number): Stream;
  close(stream: Stream): void;
  createStream(stream: Stream, fd: number): Stream;
}

export interface EmscriptenModule {
  readonly FS: FileSystem;
  readonly HEAPU8: Uint8Array<ArrayBuffer>;
  readonly HEAPU32: Uint32Array;
  readonly wasmTable: { readonly length: number };
  growMemory(bytes: number): number | undefined;
  stackSave(): number;
  stackRestore(pointer: number): void;
  _emscripten_get_sbrk_ptr(): number;
  _malloc(bytes: number): number;
  _free(pointer: number): void;
  /** Objects of JavaScript that Python holds, by slot. Throws beyond the last one. */
  __hiwire_get(slot: number): unknown;
  /** < 0 when the table can't grow. */
  __hiwire_set(slot: number, value: unknown): number;
  __hiwire_immortal_get(slot: number): unknown;
  __hiwire_immortal_add(value: unknown): number;
  PyProxy_getAttrsQuiet(proxy: unknown): { readonly shared: { readonly ptr: number } };
}
