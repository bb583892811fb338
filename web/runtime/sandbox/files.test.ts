// Files of one interpreter restored in another one, under Node.
import { loadPyodide, type PyodideInterface } from "pyodide";
import { beforeAll, expect, test } from "vitest";
import type { EmscriptenModule, FileSystem } from "./emscripten.ts";
import { listFiles, lostStreams, restoreFiles } from "./files.ts";

let from: PyodideInterface;
let to: PyodideInterface;

const fs = (py: PyodideInterface): FileSystem => (py as unknown as { _module: EmscriptenModule })._module.FS;

beforeAll(async () => {
  [from, to] = await Promise.all([loadPyodide(), loadPyodide()]);
}, 120_000);

/** Everything that Python can see of the files below a folder. */
const LOOK = `
import os, zlib
def look():
    seen = [os.getcwd()]
    for root, folders, files in os.walk('/w'):
        for name in sorted(folders + files):
            path = os.path.join(root, name)
            stat = os.lstat(path)
            data = os.readlink(path) if os.path.islink(path) else zlib.crc32(open(path, 'rb').read()) if os.path.isfile(path) and stat.st_mode & 0o400 else ''
            seen.append((path, oct(stat.st_mode), stat.st_mtime, stat.st_ino if os.path.isfile(path) else 0, data))
    return repr(seen)
look()`;

test("files, folders, links, times, permissions and descriptors", () => {
  from.runPython(`
import os
os.makedirs('/w/deep/er'); os.mkdir('/w/empty')
with open('/w/a', 'wb') as f: f.write(bytes(range(256)) * 100)
open('/w/none', 'w').close()
with open('/w/deep/secret', 'w') as f: f.write('s')
os.chmod('/w/deep/secret', 0)
os.symlink('a', '/w/link'); os.symlink('/nowhere', '/w/deep/broken')
os.utime('/w/a', (1, 2)); os.chmod('/w/empty', 0o500)
os.chdir('/w/deep')
r = open('/w/a', 'rb', buffering=0); r.read(10)
a = open('/w/log', 'a'); a.write('one'); a.flush()
d = os.dup(a.fileno())
gone = open('/w/gone', 'w+'); gone.write('still here'); gone.flush()
gone2 = os.open('/w/gone', os.O_RDONLY)
os.remove('/w/gone')
fds = [r.fileno(), a.fileno(), d, gone.fileno(), gone2]
`);
  to.runPython(`
import os
os.makedirs('/w/other/deep'); os.mkdir('/w/a')
with open('/w/empty', 'w') as f: f.write('not a folder here')
os.symlink('x', '/w/link')
left = open('/w/other/open', 'w')
`);
  const before = from.runPython(LOOK);
  const list = listFiles(fs(from));
  const buffer = new Uint8Array(list.bytes + 7);
  const saved = structuredClone(list.put(buffer, 7));
  restoreFiles(fs(to), saved, buffer);
  expect(to.runPython(LOOK)).toBe(before);
  expect(from.runPython(LOOK)).toBe(before); // untouched
  const fds = from.runPython("repr(fds)");
  expect(
    to.runPython(`
fds = ${fds}
r, a, d, gone, gone2 = fds
os.write(a, b'two')
rest = [os.read(r, 3), os.lseek(d, 0, os.SEEK_CUR), open('/w/log').read(), os.pread(gone, 99, 0), os.read(gone2, 5)]
os.pwrite(gone, b'S', 0)
rest += [os.pread(gone2, 99, 0), os.fstat(gone).st_ino == os.fstat(gone2).st_ino, sorted(os.listdir('/w'))]
repr(rest)`),
  ).toBe(
    "[b'\\n\\x0b\\x0c', 6, 'onetwo', b'still here', b'still', b'Still here', True, ['a', 'deep', 'empty', 'link', 'log', 'none']]",
  );
});

test("a pipe can't be taken along, and does no harm", () => {
  expect(lostStreams(fs(from))).toBe("");
  from.runPython("ends = os.pipe()");
  expect(lostStreams(fs(from))).toBe("a pipe or socket is open");
  const list = listFiles(fs(from));
  list.put(new Uint8Array(list.bytes), 0);
  from.runPython("for end in ends: os.close(end)");
  expect(lostStreams(fs(from))).toBe("");
});
