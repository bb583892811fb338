import { accessSync, constants } from "node:fs";
import path from "node:path";

const NAMES = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "google-chrome-stable",
  "google-chrome-beta",
  "chrome",
  "microsoft-edge",
  "microsoft-edge-stable",
];
const MAC = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
];

/** A Chromium-family browser: TOOLPLANE_BROWSER, or the first one found. Throws, naming the way out, when there is none. */
export function findBrowser(): string {
  const named = process.env.TOOLPLANE_BROWSER;
  if (named) return named;
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const found = [...NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name))), ...MAC].find(runnable);
  if (found !== undefined) return found;
  throw new Error(
    "no Chromium, Chrome or Edge found: install one (Debian: apt-get install chromium) or name it in TOOLPLANE_BROWSER",
  );
}

function runnable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
