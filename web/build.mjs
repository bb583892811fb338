// Builds the browser runtime into web/dist/executor: the session page, its sandboxed frame, the worker's script, Toolplane's Python and the
// files of pyodide that it needs, from node_modules only. Files that didn't change aren't written again.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const runtime = path.join(here, "runtime");
const out = path.join(here, "dist", "executor");
const pyodide = path.dirname(createRequire(import.meta.url).resolve("pyodide/package.json"));

/** @param {string} data @param {"hex" | "base64"} encoding */
const sha256 = (data, encoding = "hex") => createHash("sha256").update(data).digest(encoding);

/**
 * Bundles one entry point.
 * @param {string} entry
 * @param {"esm" | "iife"} format
 * @param {Record<string, string>} define
 */
async function bundle(entry, format, define = {}) {
  const { outputFiles } = await build({
    entryPoints: [path.join(runtime, entry)],
    bundle: true,
    write: false,
    format,
    define,
    charset: "utf8",
    legalComments: "none",
    minifyWhitespace: true,
    minifySyntax: true,
    platform: "browser",
    target: ["chrome120", "firefox128"],
    tsconfigRaw: "{}",
  });
  return /** @type {{ text: string }} */ (outputFiles[0]).text;
}

// The frame's script stands inline and its policy allows it by hash. A policy that names an address, even 'self', lets Python load any
// address of this server, with data in the query.
/** @param {string} script */
function framePage(script) {
  const csp = [
    "default-src 'none'",
    `script-src 'sha256-${sha256(script, "base64")}' 'wasm-unsafe-eval' blob:`,
    "worker-src blob:",
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const html = `<!doctype html>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${csp}">
<title>Toolplane sandbox</title>
<script>${script}</script>
`;
  return { csp, html };
}

function pythonSources() {
  const dir = path.join(runtime, "python");
  const { loader, modules } = JSON.parse(readFileSync(path.join(dir, "manifest.json"), "utf8"));
  /** @param {string} file */
  const read = (file) => readFileSync(path.join(dir, file), "utf8");
  return JSON.stringify({
    loader: read(loader),
    modules: modules.map((/** @type {{ name: string, file: string }} */ m) => [m.name, read(m.file)]),
  });
}

const INDEX = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Toolplane executor</title>
<script type="module" src="page.js"></script>
<p>Toolplane runs Python in this page. Leave it open.</p>
</html>
`;

const { version } = JSON.parse(readFileSync(path.join(pyodide, "package.json"), "utf8"));
const { info } = JSON.parse(readFileSync(path.join(pyodide, "pyodide-lock.json"), "utf8"));

const [worker, frameScript] = await Promise.all([
  bundle("sandbox/worker.ts", "iife"),
  bundle("sandbox/frame.ts", "iife"),
]);
if (frameScript.includes("</script")) throw new Error("the frame's script would end its own element");
const frame = framePage(frameScript);

/** @type {Map<string, string | Buffer>} */
const files = new Map();
for (const name of ["pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide.mjs", "python_stdlib.zip"]) {
  files.set(`pyodide/${name}`, readFileSync(path.join(pyodide, name)));
}
files.set("worker.js", worker);
files.set("python.json", pythonSources());
files.set("frame.html", frame.html);

const digests = () =>
  Object.fromEntries([...files].map(([name, data]) => [name, createHash("sha256").update(data).digest("hex")]));
files.set(
  "page.js",
  await bundle("page.ts", "esm", { DIGESTS: JSON.stringify(digests()), LOCK_INFO: JSON.stringify(info) }),
);
files.set("index.html", INDEX);
files.set(
  "manifest.json",
  `${JSON.stringify({ pyodide: version, frame_csp: frame.csp, files: digests() }, null, 2)}\n`,
);

let written = 0;
for (const [name, data] of files) {
  const file = path.join(out, name);
  const wanted = Buffer.from(data);
  try {
    if (readFileSync(file).equals(wanted)) continue;
  } catch {
    mkdirSync(path.dirname(file), { recursive: true });
  }
  writeFileSync(file, wanted);
  written++;
}
for (const entry of readdirSync(out, { recursive: true, withFileTypes: true })) {
  const file = path.join(entry.parentPath ?? entry.path, entry.name);
  if (entry.isFile() && !files.has(path.relative(out, file).split(path.sep).join("/"))) rmSync(file);
}
console.log(`web/dist/executor: ${files.size} files, ${written} written; pyodide ${version}`);
