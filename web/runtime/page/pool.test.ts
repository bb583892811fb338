import { describe, expect, test } from "vitest";
import { FakeFrame, type FakeWorker } from "../test/fake-frame.ts";
import { gist, Pool, type PoolStatus } from "./pool.ts";

const LOAD_TIMEOUT = 60_000;
const never = new AbortController().signal;

/** A pool whose workers load at once, unless the test says otherwise. */
function start(onSpawn: (worker: FakeWorker) => void = work, size = 2) {
  const frame = new FakeFrame();
  frame.onSpawn = onSpawn;
  const statuses: PoolStatus[] = [];
  const pool = new Pool(frame, (status) => statuses.push(status));
  pool.start({ size, snapshot: true, catalog: "catalog 1" });
  return { frame, pool, statuses };
}

function work(worker: FakeWorker): void {
  if (worker.mode === "make") worker.events.onBase?.(1);
  else worker.load();
}

const modes = (frame: FakeFrame): string[] => frame.workers.map(({ mode }) => mode);
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("Pool", () => {
  test("makes the base once, then keeps the asked number of workers ready, each bound to the catalog", async () => {
    const { frame, pool, statuses } = start();
    await settled();
    expect(modes(frame)).toEqual(["make", "restore", "restore"]);
    expect(frame.alive().length).toBe(2);
    expect(pool.status).toEqual({ ready: true, pool: 2, snapshot: "memory" });
    expect(statuses.map((s) => s.pool)).toEqual([1, 2]);
    for (const worker of frame.alive())
      expect(worker.received).toEqual([{ t: "bind", catalog: "catalog 1" }, { t: "ping" }]);
  });

  test("makes the base ahead of start", async () => {
    const frame = new FakeFrame();
    frame.onSpawn = work;
    const pool = new Pool(frame, () => {});
    pool.prepare();
    await settled();
    expect(modes(frame)).toEqual(["make"]);
    pool.start({ size: 1, snapshot: true, catalog: "c" });
    await settled();
    expect(modes(frame)).toEqual(["make", "restore"]);
  });

  test("hands out a standby at once and refills only when told", async () => {
    const { frame, pool } = start();
    await settled();
    await pool.take(never);
    await settled();
    expect(frame.workers.length).toBe(3);
    pool.refill();
    await settled();
    expect(frame.workers.length).toBe(4);
    expect(pool.status.pool).toBe(2);
  });

  test("serves those who wait in order, and loads for them", async () => {
    const waiting: FakeWorker[] = [];
    const { pool } = start((worker) => (worker.mode === "make" ? work(worker) : waiting.push(worker)), 1);
    const order: number[] = [];
    const takes = [1, 2, 3].map((n) => pool.take(never).then(() => order.push(n)));
    await settled();
    while (waiting.length > 0) {
      waiting.shift()?.load();
      await settled();
    }
    await Promise.all(takes);
    expect(order).toEqual([1, 2, 3]);
    expect(pool.status.pool).toBe(1);
  });

  test("forgets who gave up waiting", async () => {
    const waiting: FakeWorker[] = [];
    const { pool } = start((worker) => (worker.mode === "make" ? work(worker) : waiting.push(worker)), 1);
    const cancel = new AbortController();
    const gaveUp = pool.take(cancel.signal);
    const stays = pool.take(never);
    await settled();
    cancel.abort();
    await expect(gaveUp).rejects.toThrow("cancelled");
    waiting[0]?.load();
    await expect(stays).resolves.toBeDefined();
    await expect(pool.take(AbortSignal.abort())).rejects.toThrow("cancelled");
  });

  test("loads plainly, and says why, when the base can't be made", async () => {
    const { frame, pool } = start((worker) =>
      worker.mode === "make" ? worker.events.onFailed("no such API") : work(worker),
    );
    await settled();
    expect(modes(frame)).toEqual(["make", "plain", "plain"]);
    expect(pool.status).toMatchObject({
      ready: true,
      snapshot: "none",
      detail: "making the base snapshot failed: no such API",
    });
  });

  test("loads plainly when the base can't be read three times in a row", async () => {
    const { frame, pool } = start(
      (worker) => (worker.mode === "restore" ? worker.events.onFailed("bad magic") : work(worker)),
      1,
    );
    await settled();
    expect(modes(frame)).toEqual(["make", "restore", "restore", "restore", "plain"]);
    expect(pool.status).toMatchObject({
      ready: true,
      snapshot: "none",
      detail: "reading the base snapshot failed: bad magic",
    });
  });

  test("one bad restore among good ones changes nothing", async () => {
    let restores = 0;
    const { frame, pool } = start((worker) => {
      if (worker.mode === "restore" && ++restores === 1) worker.events.onFailed("busy");
      else work(worker);
    }, 1);
    await settled();
    expect(modes(frame)).toEqual(["make", "restore", "restore"]);
    expect(pool.status).toEqual({ ready: true, pool: 1, snapshot: "memory" });
  });

  test("gives up after three failed loads, tells all who wait, and tries again when somebody asks", async () => {
    let broken = true;
    const { frame, pool, statuses } = start(
      (worker) => (broken ? worker.events.onFailed("no memory") : work(worker)),
      1,
    );
    await expect(pool.take(never)).rejects.toThrow("loading Python failed: no memory");
    expect(frame.alive()).toEqual([]);
    expect(statuses.at(-1)).toMatchObject({ ready: false, pool: 0, detail: "loading Python failed: no memory" });
    broken = false;
    await expect(pool.take(never)).resolves.toBeDefined();
  });

  test("ends a load that hangs and tries another", async () => {
    let loads = 0;
    const { frame, pool } = start((worker) => {
      if (worker.mode === "make" || ++loads > 1) work(worker);
    }, 1);
    await settled();
    expect(frame.ring(LOAD_TIMEOUT)).toBe(1);
    await settled();
    expect(frame.workers.map(({ ended }) => ended)).toEqual([0, 0, null]);
    expect(pool.status.ready).toBe(true);
    expect(frame.pendingAlarms).toBe(0);
  });

  test("replaces a standby that dies while it waits", async () => {
    const { frame, pool } = start();
    await settled();
    frame.alive()[0]?.events.onFailed("crashed");
    await settled();
    expect(pool.status.pool).toBe(2);
    expect(frame.alive().length).toBe(2);
  });

  test("binds new names in standbys that are ready and in those that are just loading", async () => {
    const loading: FakeWorker[] = [];
    let hold = false;
    const { frame, pool } = start((worker) => (hold ? loading.push(worker) : work(worker)), 2);
    await settled();
    hold = true;
    await pool.take(never);
    pool.refill();
    await settled();
    const [late] = loading as [FakeWorker];
    late.says({ t: "ready", loadMs: 1 }); // it's bound to catalog 1 and asked for a pong
    pool.bind("catalog 2");
    late.onMessage = (message) => {
      if (message.t === "ping") late.says({ t: "pong" });
    };
    late.says({ t: "pong" });
    expect(late.received.filter(({ t }) => t === "bind")).toEqual([
      { t: "bind", catalog: "catalog 1" },
      { t: "bind", catalog: "catalog 2" },
    ]);
    expect(pool.status.pool).toBe(2);
    for (const worker of frame.alive().slice(1)) expect(worker.last("bind").catalog).toBe("catalog 2");
  });

  test("without snapshots loads plainly from the start", async () => {
    const frame = new FakeFrame();
    frame.onSpawn = (worker) => worker.mode === "plain" && worker.load();
    const pool = new Pool(frame, () => {});
    pool.prepare(); // the page didn't know yet
    await settled();
    pool.start({ size: 1, snapshot: false, catalog: "c" });
    await settled();
    expect(modes(frame)).toEqual(["make", "plain"]);
    expect(frame.workers[0]?.ended).toBe(0);
    expect(pool.status).toEqual({ ready: true, pool: 1, snapshot: "none", detail: "snapshots are turned off" });
  });
});

describe("gist", () => {
  test.each([
    ["Error: no memory\n    at load (worker.js:1:2)\n    at async start (worker.js:3:4)", "Error: no memory"],
    [
      'PythonError: Traceback (most recent call last):\n  File "x", line 1, in <module>\nRuntimeError: no luck\n\n    at new_error (a.mjs:1:2)',
      "RuntimeError: no luck",
    ],
    ["no luck@blob:x/1:2:3", "no luck@blob:x/1:2:3"],
    ["busy", "busy"],
    ["", ""],
  ])("of %j", (trace, line) => expect(gist(trace)).toBe(line));
});
