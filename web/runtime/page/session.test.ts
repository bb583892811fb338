import { afterEach, describe, expect, test } from "vitest";
import { FakeFrame, type FakeWorker } from "../test/fake-frame.ts";
import { type MemorySocket, socketPair } from "../test/socket-pair.ts";
import { Connection } from "../wire/connection.ts";
import { Code, RpcError } from "../wire/errors.ts";
import { Method, readHello, readOutput, readRunResult, readStatus, readToolCall } from "../wire/methods.ts";
import { Executor } from "./executor.ts";
import { openSession } from "./session.ts";

const TOKEN = "secret";
const identity = { token: TOKEN, kind: "headless", name: "page", version: "1" } as const;
const CATALOG = '{"revision":1, "bindings":[]}';

interface Options {
  limits?: { max_frame_bytes: number; max_in_flight: number };
  frame?: Promise<FakeFrame>;
  /** What each worker does when it gets a run. */
  onRun?: (worker: FakeWorker, request: string) => void;
}

/** A host and a page with fake workers, in one process. */
function start({ limits = { max_frame_bytes: 1 << 20, max_in_flight: 8 }, frame, onRun = () => {} }: Options = {}) {
  const [pageSocket, hostSocket] = socketPair();
  const host = new Connection(hostSocket.asSocket());
  const page = new Connection(pageSocket.asSocket());
  const fake = new FakeFrame();
  fake.onSpawn = (worker) => {
    if (worker.mode === "make") return worker.events.onBase?.(1);
    worker.load();
    const pong = worker.onMessage;
    worker.onMessage = (message) => (message.t === "run" ? onRun(worker, message.request) : pong(message));
  };
  const statuses: ReturnType<typeof readStatus>[] = [];
  const output: ReturnType<typeof readOutput>[] = [];
  let wake: () => void = () => {};
  host.onNotification(Method.status, (params) => {
    statuses.push(readStatus(params));
    wake();
  });
  host.onNotification(Method.output, (params) => output.push(readOutput(params)));
  host.handle(Method.hello, async (params) => {
    if (readHello(params).token !== TOKEN) throw new RpcError(Code.unauthenticated, "wrong token");
    return `{"protocol":"toolplane.v1","server":{"name":"host","version":"2"},"limits":${JSON.stringify(limits)},"catalog":${CATALOG}}`;
  });
  const executor = new Executor(() => frame ?? Promise.resolve(fake));
  const open = (): ReturnType<typeof openSession> => openSession(page, identity, executor, { size: 2, snapshot: true });
  const status = async (): Promise<ReturnType<typeof readStatus>> => {
    while (statuses.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return statuses[0] as ReturnType<typeof readStatus>;
  };
  const run = async (id = "run_1", extra = "", signal?: AbortSignal) => {
    const params = `{"run_id":"${id}","code":"","filename":"a.py","fresh":true,"inputs":{},"timeout_ms":60000,"max_output_bytes":1000000${extra}}`;
    return readRunResult(await host.call(Method.run, params, signal));
  };
  return { host, page, fake, executor, open, status, run, statuses, output, pageSocket: pageSocket as MemorySocket };
}

const result = (json: string): object => ({ t: "result", json, truncated: false });
const connections: Connection[] = [];
afterEach(() => {
  for (const connection of connections.splice(0)) connection.close();
});

describe("hello", () => {
  test("comes first, takes the host's limits, and starts the pool with the catalog as it is", async () => {
    const { page, fake, open, status } = start();
    expect(await open()).toEqual({ name: "host", version: "2", protocol: "toolplane.v1" });
    expect(page.limits).toEqual({ maxFrameBytes: 1 << 20, maxInFlight: 8 });
    expect(await status()).toEqual({ ready: true, pool: 1, snapshot: "memory" });
    expect(fake.alive()[0]?.last("bind").catalog).toBe(CATALOG);
  });

  test("with a wrong token closes, and the error doesn't repeat it", async () => {
    const { page, executor } = start();
    const opening = openSession(page, { ...identity, token: "wrong-secret" }, executor, { size: 1, snapshot: true });
    await expect(opening).rejects.toThrow(/^wrong token$/);
    expect(page.isOpen).toBe(false);
  });

  test("from a host that speaks something else closes", async () => {
    const { page, host, open } = start();
    host.handle(Method.hello, async () => '{"protocol":"toolplane.v2"}');
    await expect(open()).rejects.toThrow("result.protocol must be one of toolplane.v1");
    expect(page.isOpen).toBe(false);
  });

  test("needs no frame; a frame that can't start is told", async () => {
    const { open, status, run } = start({ frame: Promise.reject(new Error("no wasm here")) });
    await open();
    expect(await status()).toEqual({ ready: false, pool: 0, snapshot: "none", detail: "no wasm here" });
    await expect(run()).rejects.toMatchObject({
      code: Code.internal,
      message: expect.stringContaining("no wasm here"),
    });
  });
});

describe("runs", () => {
  test("are answered with the exact value and their output, which also streams", async () => {
    const { open, run, output } = start({
      onRun: (worker) => {
        worker.says({ t: "output", stream: "stdout", text: "hé\n" });
        worker.says(result('{"ok":true,"value":{"n":1.0, "n":-0.0}}'));
      },
    });
    await open();
    expect(await run()).toMatchObject({
      ok: true,
      value: '{"n":1.0, "n":-0.0}',
      stdout: "hé\n",
      stderr: "",
      error: null,
    });
    expect(output).toEqual([{ run_id: "run_1", stream: "stdout", text: "hé\n" }]);
  });

  test("call tools under their own id, whatever the worker says", async () => {
    const { host, open, run } = start({
      onRun: (worker, request) => {
        const { filename } = JSON.parse(request) as { filename: string };
        worker.says({ t: "call", id: 1, name: `plugin:${filename}`, arguments: '{"run_id":"run_9","n":1.0}' });
        const before = worker.onMessage;
        worker.onMessage = (message) => {
          if (message.t === "settle") worker.says(result(`{"ok":true,"value":${message.payload}}`));
          else before(message);
        };
      },
    });
    const seen: ReturnType<typeof readToolCall>[] = [];
    host.handle(Method.toolCall, async (params) => {
      const call = readToolCall(params);
      seen.push(call);
      return `{"value":${JSON.stringify(call.run_id)}}`;
    });
    await open();
    const [one, two] = await Promise.all([run("run_1"), run("run_2")]);
    expect([one.value, two.value]).toEqual(['"run_1"', '"run_2"']);
    expect(seen.map((call) => call.run_id).sort()).toEqual(["run_1", "run_2"]);
    expect(seen[0]?.arguments).toBe('{"run_id":"run_9","n":1.0}');
  });

  test("with more calls than the connection may have wait for their turn", async () => {
    const { host, open, run } = start({
      limits: { max_frame_bytes: 1 << 20, max_in_flight: 3 },
      onRun: (worker) => {
        let settledCount = 0;
        const before = worker.onMessage;
        worker.onMessage = (message) => {
          if (message.t !== "settle") return before(message);
          if (message.ok && ++settledCount === 20) worker.says(result('{"ok":true,"value":"all"}'));
        };
        for (let id = 1; id <= 20; id++) worker.says({ t: "call", id, name: "plugin:a/b", arguments: "{}" });
      },
    });
    let most = 0;
    let now = 0;
    host.handle(Method.toolCall, async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
      return '{"value":1}';
    });
    await open();
    expect((await run()).value).toBe('"all"');
    expect(most).toBe(3);
  });

  test("a call that is too large fails, the run and the session go on", async () => {
    const { open, run } = start({
      limits: { max_frame_bytes: 2000, max_in_flight: 3 },
      onRun: (worker) => {
        const before = worker.onMessage;
        worker.onMessage = (message) =>
          message.t === "settle" ? worker.says(result(`{"ok":true,"value":${message.payload}}`)) : before(message);
        worker.says({ t: "call", id: 1, name: "toolplane:results/save", arguments: `{"value":"${"x".repeat(3000)}"}` });
      },
    });
    await open();
    expect(JSON.parse((await run()).value)).toMatchObject({
      message: expect.stringContaining("larger than 2000 bytes"),
      data: { builtin: "ValueError", type: "FrameTooLargeError" },
    });
  });

  test("that return too much fail with a ValueError that names the way out, and keep their output", async () => {
    const { open, run } = start({
      limits: { max_frame_bytes: 4000, max_in_flight: 3 },
      onRun: (worker) => {
        worker.says({ t: "output", stream: "stdout", text: "printed" });
        worker.says(result(`{"ok":true,"value":"${"é".repeat(2500)}"}`));
      },
    });
    await open();
    const { ok, value, error, stdout } = await run();
    expect({ ok, value, stdout }).toEqual({ ok: false, value: "null", stdout: "printed" });
    expect(error).toMatchObject({ type: "ResultTooLargeError", builtin: "ValueError" });
    expect(error?.message).toContain("save_result");
  });

  test("that print too much for one message are answered with less of the output", async () => {
    const { open, run } = start({
      limits: { max_frame_bytes: 4000, max_in_flight: 3 },
      onRun: (worker) => {
        worker.says({ t: "output", stream: "stdout", text: "x".repeat(3000) });
        worker.says({ t: "output", stream: "stdout", text: "x".repeat(3000) });
        worker.says(result('{"ok":true,"value":1}'));
      },
    });
    await open();
    expect(await run()).toMatchObject({
      ok: false,
      stdout: "x".repeat(3000),
      output_truncated: true,
      error: { type: "ResultTooLargeError" },
    });
  });

  test("are cancelled by the host, with an answer and without one more frame", async () => {
    const { open, run, fake, status } = start();
    await open();
    await status();
    const cancel = new AbortController();
    const running = run("run_1", "", cancel.signal);
    await new Promise((resolve) => setImmediate(resolve));
    const worker = fake.workers.find((w) => w.received.some(({ t }) => t === "run")) as FakeWorker;
    cancel.abort();
    await expect(running).rejects.toMatchObject({ code: Code.cancelled });
    await fake.hasEnded(worker);
  });

  test("with broken params are refused", async () => {
    const { host, open } = start();
    await open();
    await expect(host.call(Method.run, '{"run_id":"a"}')).rejects.toMatchObject({ code: Code.invalidParams });
  });

  test("over the page's own bound are refused as busy", async () => {
    const { open, run } = start({ limits: { max_frame_bytes: 1 << 20, max_in_flight: 40 } });
    await open();
    const runs = Array.from({ length: 17 }, (_, i) => run(`run_${i}`));
    await expect(Promise.race(runs)).rejects.toMatchObject({ code: Code.busy });
    for (const one of runs) one.catch(() => {}); // the sixteen others end with the connection
  });
});

describe("the connection's end", () => {
  test("ends all runs and their workers, and keeps the pool for the next session", async () => {
    const { host, page, open, run, fake, executor } = start();
    await open();
    const running = run();
    running.catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    const worker = fake.workers.find((w) => w.received.some(({ t }) => t === "run")) as FakeWorker;
    host.close(1001, "bye");
    await page.closed;
    await fake.hasEnded(worker);
    expect(worker.ended).toBeGreaterThan(0);
    const [pageSocket, hostSocket] = socketPair();
    const again = new Connection(hostSocket.asSocket());
    connections.push(again);
    again.handle(
      Method.hello,
      async () =>
        `{"protocol":"toolplane.v1","server":{"name":"host","version":"2"},"limits":{"max_frame_bytes":9999,"max_in_flight":1},"catalog":${CATALOG}}`,
    );
    const ready = new Promise((resolve) => again.onNotification(Method.status, resolve));
    await openSession(new Connection(pageSocket.asSocket()), identity, executor, { size: 2, snapshot: true });
    await ready;
    expect(fake.workers.filter(({ mode }) => mode === "make").length).toBe(1);
  });
});

test("new bindings reach the standbys", async () => {
  const { host, open, status, fake } = start();
  await open();
  await status();
  host.notify(Method.catalogChanged, '{"revision":2,"bindings":[ ]}');
  await new Promise((resolve) => setImmediate(resolve));
  for (const worker of fake.alive()) expect(worker.last("bind").catalog).toBe('{"revision":2,"bindings":[ ]}');
});
