import { expect, test } from "vitest";
import { FakeFrame, type FakeWorker } from "../test/fake-frame.ts";
import type { RunRequest } from "../wire/methods.ts";
import { Executor } from "./executor.ts";
import type { PoolStatus } from "./pool.ts";

const request: RunRequest = {
  run_id: "run_1",
  code: "",
  filename: "a.py",
  fresh: true,
  inputs: "{}",
  timeout_ms: 1000,
  max_output_bytes: 100,
};
const host = { call: () => Promise.reject(new Error("no tools here")), output: () => {} };
const never = new AbortController().signal;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function start() {
  const frames: FakeFrame[] = [];
  const statuses: PoolStatus[] = [];
  let answer = true;
  const executor = new Executor(async () => {
    const frame = new FakeFrame();
    frame.onSpawn = (worker: FakeWorker) => {
      if (worker.mode === "make") return worker.events.onBase?.(1);
      worker.load();
      const load = worker.onMessage;
      worker.onMessage = (message) => {
        if (message.t !== "run") load(message);
        else if (answer) worker.says({ t: "result", json: '{"ok":true,"value":1}', truncated: false });
      };
    };
    frames.push(frame);
    return frame;
  });
  executor.start({ size: 1, snapshot: true, catalog: "c" }, (status) => statuses.push(status));
  return { executor, frames, statuses, hang: () => (answer = false), work: () => (answer = true) };
}

test("a frame that dies ends its runs with an error, and the next run has a new one", async () => {
  const { executor, frames, statuses, hang, work } = start();
  await settled();
  hang();
  const run = executor.run(request, host, never);
  await settled();
  frames[0]?.die();
  expect(await run).toMatchObject({
    ok: false,
    error: { type: "InterpreterError", message: expect.stringContaining("process died") },
  });
  work();
  expect(await executor.run(request, host, never)).toMatchObject({ ok: true });
  expect(frames.length).toBe(2);
  for (const worker of frames[0]?.workers ?? []) await frames[0]?.hasEnded(worker);
  expect(statuses.map(({ ready }) => ready)).toEqual([true, false, true, true]);
});

test("frames that die at once aren't tried for ever", async () => {
  const { executor, frames, statuses } = start();
  for (let i = 0; i < 3; i++) {
    await settled();
    frames[i]?.die();
  }
  await settled();
  expect(frames.length).toBe(3);
  expect(statuses.at(-1)).toMatchObject({ ready: false, detail: expect.stringContaining("3 times in a row") });
  await expect(executor.run(request, host, never)).rejects.toThrow("process died");
});

test("a standby is refilled behind the answer", async () => {
  const { executor, frames } = start();
  await settled();
  expect(frames[0]?.workers.length).toBe(2);
  await executor.run(request, host, never);
  await settled();
  await settled();
  expect(frames[0]?.workers.length).toBe(3);
  expect(frames[0]?.alive().length).toBe(1);
});
