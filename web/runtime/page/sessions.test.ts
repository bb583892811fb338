import { beforeEach, expect, test } from "vitest";
import { FakeFrame, type FakeWorker } from "../test/fake-frame.ts";
import type { RunRequest } from "../wire/methods.ts";
import type { Swapped } from "./frame-link.ts";
import type { RunOutcome } from "./run.ts";
import { MAX_SESSIONS, Sessions } from "./sessions.ts";
import { Standby } from "./standby.ts";

const TIMEOUT = 1000;
const SWAP_WAIT = 120;
const never = new AbortController().signal;
const host = { call: () => Promise.reject(new Error("no tools here")), output: () => {} };
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let frame: FakeFrame;
let sessions: Sessions;
let refills: number;
let catalog: string;
/** What the next take fails with. */
let empty: string;

beforeEach(() => {
  frame = new FakeFrame();
  refills = 0;
  catalog = "c1";
  empty = "";
  sessions = new Sessions({
    take: async () => {
      if (empty !== "") throw new Error(empty);
      return { frame, standby: new Standby(frame, "restore", () => {}), catalog };
    },
    refill: () => refills++,
    catalog: () => catalog,
  });
});

function run(key: string, request: Partial<RunRequest> = {}, signal = never): Promise<RunOutcome> {
  const whole: RunRequest = {
    run_id: "run_1",
    code: "",
    filename: "a.py",
    fresh: false,
    inputs: "{}",
    timeout_ms: TIMEOUT,
    max_output_bytes: 100,
    session: key,
    ...request,
  };
  return sessions.run(key, whole, host, signal);
}

interface Report {
  bytes?: number;
  trouble?: string;
  room?: boolean;
}

function worker(at = -1): FakeWorker {
  return frame.workers.at(at) as FakeWorker;
}

function finishes(w: FakeWorker, report: Report = {}, json = '{"ok":true,"value":1}'): void {
  w.says({ t: "session", bytes: 1, trouble: "", room: true, ...report });
  w.says({ t: "result", json, truncated: false });
}

async function finished(key = "a", report: Report = {}): Promise<RunOutcome> {
  const outcome = run(key);
  await settled();
  finishes(worker(), report);
  return outcome;
}

test("runs of one key share a worker, and are counted", async () => {
  expect(await finished()).toMatchObject({ ok: true, session: "new", sessionNote: "" });
  expect(await finished()).toMatchObject({ ok: true, session: "kept", sessionNote: "" });
  expect(frame.workers.length).toBe(1);
  expect(
    worker()
      .received.filter(({ t }) => t === "run")
      .map((m) => "session" in m && m.session),
  ).toEqual([
    { run: 1, first: true, maxBytes: 0 },
    { run: 2, first: false, maxBytes: 0 },
  ]);
  expect(frame.released).toEqual([1, 2].map((n) => ({ id: worker().id, run: n })));
  expect(worker().ended).toBeNull();
  expect(refills).toBe(1);
});

test("runs of two keys don't", async () => {
  await finished("a");
  await finished("b");
  expect(frame.workers.length).toBe(2);
  expect(sessions.size).toBe(2);
});

test("a run that raises keeps the session", async () => {
  const outcome = run("a");
  await settled();
  const error = { type: "ValueError", builtin: "ValueError", message: "m", traceback: "" };
  finishes(worker(), {}, JSON.stringify({ ok: false, error }));
  expect(await outcome).toMatchObject({ ok: false, session: "new", error });
});

test("one at a time", async () => {
  const first = run("a");
  await expect(run("a")).rejects.toThrow("runs a snippet already");
  finishes(worker());
  await first;
});

test("not more than the page can hold", async () => {
  for (let i = 0; i < MAX_SESSIONS; i++) await finished(`s${i}`);
  await expect(run("one more")).rejects.toThrow(`${MAX_SESSIONS} sessions`);
  sessions.reset("s0");
  await finished("one more");
});

test("a time-out hands the state before the run to a new worker", async () => {
  await finished();
  const outcome = run("a");
  await settled();
  frame.outcomes.push({ problem: "", lost: ["Map", "Map", "function f"], older: true });
  frame.ring(TIMEOUT + 120);
  expect(await outcome).toMatchObject({
    ok: false,
    session: "rolled_back",
    sessionNote: expect.stringMatching(/run before the one.*Map, function f and 1 more/),
    error: { type: "RunTimeoutError", message: expect.stringContaining("rolled back: it's as before this run") },
  });
  const [old, next] = frame.workers as [FakeWorker, FakeWorker];
  expect(frame.swaps).toEqual([{ from: old.id, to: next.id, run: 2, patience: 60 }]);
  expect(await finished()).toMatchObject({ session: "kept" });
  expect(next.last("run").session).toEqual({ run: 3, first: false, maxBytes: 0 });
});

test("the first run's state can be restored, too", async () => {
  const outcome = run("a");
  await settled();
  worker().events.onFailed("boom");
  expect(await outcome).toMatchObject({ session: "rolled_back", error: { type: "InterpreterError" } });
  expect(await finished()).toMatchObject({ session: "new" });
  expect(worker().last("run").session).toMatchObject({ run: 2, first: true });
});

test("a stop rolls back, and the answer doesn't wait for a slow rollback", async () => {
  await finished();
  const controller = new AbortController();
  const outcome = run("a", {}, controller.signal);
  await settled();
  let swapped: (outcome: Swapped) => void = () => {};
  frame.outcomes.push(new Promise((resolve) => (swapped = resolve)));
  controller.abort();
  await settled();
  frame.ring(SWAP_WAIT);
  expect(await outcome).toMatchObject({ session: "rolled_back", error: { type: "RunCancelledError" } });
  const next = run("a");
  await settled();
  expect(worker().received.length).toBe(0); // it waits
  swapped({ problem: "", lost: ["Map"], older: false });
  await settled();
  finishes(worker());
  expect(await next).toMatchObject({ session: "kept", sessionNote: expect.stringContaining("used: Map") });
  expect(await finished()).toMatchObject({ session: "kept", sessionNote: "" });
});

test("a slow rollback that fails is told by the next run", async () => {
  await finished();
  const outcome = run("a");
  await settled();
  let swapped: (outcome: Swapped) => void = () => {};
  frame.outcomes.push(new Promise((resolve) => (swapped = resolve)));
  frame.ring(TIMEOUT + 120);
  await settled();
  frame.ring(SWAP_WAIT);
  await outcome;
  swapped({ problem: "it comes from another base", lost: [], older: false });
  await settled();
  expect(await finished()).toMatchObject({
    session: "new",
    sessionNote: "the namespace that there was is gone: it comes from another base",
  });
});

test("a rollback that fails loses the session, and says so at once", async () => {
  await finished();
  const outcome = run("a");
  await settled();
  frame.outcomes.push({ problem: "its function table has another length", lost: [], older: false });
  frame.ring(TIMEOUT + 120);
  expect(await outcome).toMatchObject({
    session: "lost",
    sessionNote: expect.stringContaining("function table"),
    error: { message: expect.stringMatching(/couldn't be restored .* begins a new one; what it did on the host/) },
  });
  expect(sessions.size).toBe(0);
  expect(await finished()).toMatchObject({ session: "new", sessionNote: "" });
});

test("no standby for a rollback loses it, too", async () => {
  await finished();
  const outcome = run("a");
  await settled();
  empty = "the pool is closed";
  frame.ring(TIMEOUT + 120);
  expect(await outcome).toMatchObject({ session: "lost", sessionNote: expect.stringContaining("the pool is closed") });
  await frame.hasEnded(worker());
});

test("what can't be restored is told while it's there", async () => {
  expect(await finished("a", { trouble: "it has loaded native code" })).toMatchObject({
    session: "new",
    sessionNote: "a run that times out or is stopped would lose this session, because it has loaded native code",
  });
  const outcome = run("a");
  await settled();
  frame.ring(TIMEOUT + 120);
  expect(await outcome).toMatchObject({ session: "lost", sessionNote: expect.stringContaining("native code") });
  expect(frame.swaps).toEqual([]);
  await frame.hasEnded(worker());
});

test.each([
  ["too much memory", { bytes: 3 * 2 ** 20 }, "3 MiB of memory and files, more than its limit of 2 MiB"],
  ["no room", { room: false }, "no memory for another run"],
])("%s rolls back", async (_name, report, message) => {
  await finished();
  const outcome = run("a", { session_max_bytes: 2 * 2 ** 20 });
  await settled();
  finishes(worker(), report);
  expect(await outcome).toMatchObject({
    ok: false,
    value: "null",
    session: "rolled_back",
    error: { type: "SessionMemoryError", builtin: "MemoryError", message: expect.stringContaining(message) },
  });
});

test("a result without word of the state isn't believed", async () => {
  await finished();
  const outcome = run("a");
  await settled();
  worker().says({ t: "result", json: '{"ok":true,"value":1}', truncated: false });
  expect(await outcome).toMatchObject({
    ok: false,
    session: "rolled_back",
    error: { type: "SandboxError" },
    tampered: true,
  });
});

test("reset ends the worker, and the next run begins anew", async () => {
  await finished();
  await finished();
  expect(sessions.reset("a")).toBe(2);
  expect(sessions.reset("a")).toBe(0);
  await frame.hasEnded(worker());
  expect(await finished()).toMatchObject({ session: "new", sessionNote: "" });
});

test("reset stops the run under way", async () => {
  await finished();
  const outcome = run("a");
  await settled();
  expect(sessions.reset("a")).toBe(1);
  expect(await outcome).toMatchObject({ ok: false, session: "reset", error: { type: "RunCancelledError" } });
  await frame.hasEnded(worker());
  expect(frame.swaps).toEqual([]);
  expect(sessions.size).toBe(0);
});

test("the snippet resets its own session when its run is over", async () => {
  await finished();
  const outcome = run("a");
  await settled();
  worker().says({ t: "call", id: 1, name: "toolplane:session/reset", arguments: "{}" });
  expect(worker().last("settle")).toEqual({ t: "settle", id: 1, ok: true, payload: "null" });
  expect(worker().ended).toBeNull();
  finishes(worker());
  expect(await outcome).toMatchObject({ ok: true, session: "reset" });
  await frame.hasEnded(worker());
  expect(sessions.size).toBe(0);
});

test("a worker that dies while nothing runs is told by the next run", async () => {
  await finished();
  worker().events.onFailed("out of memory\nat x");
  expect(await finished()).toMatchObject({
    session: "new",
    sessionNote: "the namespace that there was is gone: out of memory",
  });
});

test("a new catalog is bound before the next run, once", async () => {
  await finished();
  catalog = "c2";
  await finished();
  await finished();
  expect(worker().received.map(({ t }) => t)).toEqual(["run", "bind", "run", "run"]);
});

test("a run that finds no worker leaves nothing behind", async () => {
  empty = "no worker";
  await expect(run("a")).rejects.toThrow("no worker");
  expect(sessions.size).toBe(0);
});
