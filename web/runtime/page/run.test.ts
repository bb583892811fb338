import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeFrame, type FakeWorker } from "../test/fake-frame.ts";
import { RpcError } from "../wire/errors.ts";
import type { RunRequest } from "../wire/methods.ts";
import { execute, type RunHost, type RunOutcome } from "./run.ts";
import { Standby } from "./standby.ts";

const TIMEOUT = 1000;

interface Call {
  name: string;
  args: string;
  signal: AbortSignal;
  resolve(value: string): void;
  reject(error: unknown): void;
}

class Host implements RunHost {
  readonly calls: Call[] = [];
  printed = "";

  call(name: string, args: string, signal: AbortSignal): Promise<string> {
    return new Promise((resolve, reject) => this.calls.push({ name, args, signal, resolve, reject }));
  }

  output(stream: string, text: string): void {
    this.printed += `${stream}:${text};`;
  }
}

interface Started {
  frame: FakeFrame;
  worker: FakeWorker;
  host: Host;
  outcome: Promise<RunOutcome>;
  cancel: AbortController;
}

function start(request: Partial<RunRequest> = {}): Started {
  const frame = new FakeFrame();
  const standby = new Standby(frame, "plain", () => {});
  const [worker] = frame.workers as [FakeWorker];
  const host = new Host();
  const cancel = new AbortController();
  const whole: RunRequest = {
    run_id: "run_1",
    code: "return 1",
    filename: "a.py",
    fresh: true,
    inputs: "{}",
    timeout_ms: TIMEOUT,
    max_output_bytes: 100,
    ...request,
  };
  return { frame, worker, host, cancel, outcome: execute(standby, whole, host, frame, cancel.signal) };
}

const ok = (value = "1"): object => ({ t: "result", json: `{"ok":true,"value":${value}}`, truncated: false });
const call = (id: number, args = "{}"): object => ({ t: "call", id, name: "plugin:x/y", arguments: args });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a run", () => {
  test("hands the request to Python with user values as they are", () => {
    const { worker } = start({ inputs: '{"n":1.0,"big":9007199254740993}', previous: "-0.0", max_calls: 5 });
    const run = worker.last("run");
    expect(run.request).toBe(
      '{"code":"return 1","filename":"a.py","inputs":{"n":1.0,"big":9007199254740993},"previous":-0.0,' +
        '"limits":{"max_depth":512,"max_calls":5,"max_calls_in_flight":32}}',
    );
    expect(run.timeout).toBe(TIMEOUT);
  });

  test("ends with the worker's value, untouched, and gives the worker up after the answer", async () => {
    const { frame, worker, outcome } = start();
    vi.advanceTimersByTime(12);
    worker.says(ok('{"a":1.0, "a":2}'));
    const result = await outcome;
    expect(result).toMatchObject({ ok: true, value: '{"a":1.0, "a":2}', error: null, tampered: false, durationMs: 12 });
    expect(worker.ended).toBeNull();
    await frame.hasEnded(worker);
    expect(worker.ended).toBe(0);
    expect(frame.pendingAlarms).toBe(0);
  });

  test("returns as many levels as a value may have", async () => {
    const { worker, outcome } = start();
    const deepest = "[".repeat(512) + "]".repeat(512);
    worker.says(ok(deepest));
    expect(await outcome).toMatchObject({ ok: true, value: deepest });
  });

  test("ends with Python's error", async () => {
    const { worker, outcome } = start();
    const error = { type: "KeyError", builtin: "LookupError", message: "'a'", traceback: "Traceback…" };
    worker.says({ t: "result", json: JSON.stringify({ ok: false, error }), truncated: false });
    expect(await outcome).toMatchObject({ ok: false, value: "null", error });
  });

  test("an unknown builtin becomes RuntimeError", async () => {
    const { worker, outcome } = start();
    const error = { type: "X", builtin: "SystemExit", message: "", traceback: "" };
    worker.says({ t: "result", json: JSON.stringify({ ok: false, error }), truncated: false });
    expect((await outcome).error?.builtin).toBe("RuntimeError");
  });

  test("collects and forwards output, and tells when some was dropped", async () => {
    const { worker, host, outcome } = start({ max_output_bytes: 8 });
    worker.says({ t: "output", stream: "stdout", text: "ééé" });
    worker.says({ t: "output", stream: "stderr", text: "ab" });
    worker.says({ t: "result", json: '{"ok":true,"value":null}', truncated: true });
    expect(await outcome).toMatchObject({ ok: false, stdout: "ééé", stderr: "ab", outputTruncated: true });
    expect(host.printed).toBe("stdout:ééé;stderr:ab;");
  });

  test("keeps to the output cap where the worker doesn't", async () => {
    const { worker, outcome } = start({ max_output_bytes: 8 });
    for (let i = 0; i < 100; i++) worker.says({ t: "output", stream: "stdout", text: "abcd" });
    worker.says(ok());
    expect(await outcome).toMatchObject({
      ok: false,
      value: "null",
      stdout: "abcdabcd",
      outputTruncated: true,
      error: {
        type: "OutputLimitError",
        builtin: "MemoryError",
        message: expect.stringContaining("8 bytes ([executor] max_output_bytes)"),
      },
    });
  });

  test.each([
    ["OutputLimitError", "OutputLimitError", "MemoryError"],
    ["ZeroDivisionError", "ZeroDivisionError", "RuntimeError"],
  ])("of a run that printed too much and failed with %s is told as %s", async (said, type, builtin) => {
    const { worker, outcome } = start();
    const error = { type: said, builtin: "RuntimeError", message: "", traceback: "line 1" };
    worker.says({ t: "result", json: JSON.stringify({ ok: false, error }), truncated: true });
    expect(await outcome).toMatchObject({ outputTruncated: true, error: { type, builtin, traceback: "line 1" } });
  });
});

describe("calls", () => {
  test("are answered in any order, with exact values", async () => {
    const { worker, host } = start();
    worker.says(call(1, '{"a":1.0}'));
    worker.says(call(2));
    expect(host.calls.map(({ name, args }) => [name, args])).toEqual([
      ["plugin:x/y", '{"a":1.0}'],
      ["plugin:x/y", "{}"],
    ]);
    host.calls[1]?.resolve("2.0");
    await vi.waitFor(() => expect(worker.last("settle")).toEqual({ t: "settle", id: 2, ok: true, payload: "2.0" }));
    host.calls[0]?.resolve("1");
    await vi.waitFor(() => expect(worker.last("settle")).toEqual({ t: "settle", id: 1, ok: true, payload: "1" }));
  });

  test("fail with the host's message and its data as they came", async () => {
    const { worker, host } = start();
    worker.says(call(1));
    host.calls[0]?.reject(new RpcError(-32010, "no such handle", '{"builtin":"ValueError","type":"T","limit":1.0}'));
    await vi.waitFor(() =>
      expect(worker.last("settle")).toEqual({
        t: "settle",
        id: 1,
        ok: false,
        payload: '{"message":"no such handle","data":{"builtin":"ValueError","type":"T","limit":1.0}}',
      }),
    );
  });

  test("are cancelled when the snippet gives them up and when the run ends", async () => {
    const { worker, host, outcome } = start();
    worker.says(call(1));
    worker.says(call(2));
    worker.says({ t: "cancel", id: 1 });
    expect(host.calls.map(({ signal }) => signal.aborted)).toEqual([true, false]);
    worker.says(ok());
    await outcome;
    expect(host.calls.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  });

  test("over the limits fail, and the host never hears of them", () => {
    const { worker, host } = start({ max_calls: 3, max_calls_in_flight: 2 });
    worker.says(call(1));
    worker.says(call(2));
    worker.says(call(3));
    expect(JSON.parse(worker.last("settle").payload)).toMatchObject({ data: { type: "CallLimitError" } });
    worker.says(call(4));
    expect(worker.last("settle")).toMatchObject({ id: 4, ok: false });
    expect(host.calls.length).toBe(2);
  });

  test.each([
    ["an id that was used", [call(2), call(2)]],
    ["an id that is too low", [call(2), call(1)]],
    ["arguments that are no object", [call(1, "[]")]],
    ["arguments that aren't JSON", [call(1, "{a}")]],
    ["arguments with half a surrogate pair", [call(1, '{"a":"\\ud800"}')]],
    ["a number that overflows", [call(1, '{"a":1e999}')]],
    ["arguments that end the frame", [call(1, '{}},"method":"session.hello"')]],
  ])("with %s are forged", async (_what, messages) => {
    const { worker, host, outcome } = start();
    for (const message of messages) worker.says(message);
    expect(host.calls.length).toBe(messages.length - 1);
    worker.says(ok());
    expect(await outcome).toMatchObject({ ok: true, tampered: true });
  });
});

describe("time", () => {
  test("is up by the page's clock, whatever the worker does", async () => {
    const { frame, worker, outcome } = start();
    vi.advanceTimersByTime(TIMEOUT + 120);
    expect(frame.ring(TIMEOUT + 120)).toBe(1);
    const { error, ok: fine } = await outcome;
    expect(fine).toBe(false);
    expect(error).toMatchObject({ type: "RunTimeoutError", builtin: "TimeoutError" });
    expect(error?.message).toContain("1 s");
    expect(error?.message).toContain("save_result");
    await frame.hasEnded(worker);
    expect(worker.ended).toBeGreaterThan(0);
  });

  test("an interrupted run tells where it was", async () => {
    const { worker, outcome } = start();
    vi.advanceTimersByTime(TIMEOUT - 1);
    const error = { type: "KeyboardInterrupt", builtin: "RuntimeError", message: "", traceback: "line 3" };
    worker.says({ t: "result", json: JSON.stringify({ ok: false, error }), truncated: false });
    expect((await outcome).error).toMatchObject({ type: "RunTimeoutError", traceback: "line 3" });
  });

  test("a result that comes too late is a timeout", async () => {
    const { worker, outcome } = start();
    vi.advanceTimersByTime(TIMEOUT + 5);
    worker.says(ok());
    expect((await outcome).error?.type).toBe("RunTimeoutError");
  });

  test("a run that waits for something is ended at its limit", async () => {
    const { worker, outcome } = start();
    vi.advanceTimersByTime(TIMEOUT);
    worker.says({ t: "idle" });
    expect((await outcome).error?.type).toBe("RunTimeoutError");
  });

  test("a worker can't call its time early", async () => {
    const { worker, outcome } = start();
    vi.advanceTimersByTime(10);
    worker.says({ t: "idle" });
    worker.says(ok());
    expect(await outcome).toMatchObject({ ok: true, tampered: true });
  });
});

describe("the end", () => {
  test("by cancelling is an error, and the worker is stopped", async () => {
    const { frame, worker, cancel, outcome } = start();
    worker.says({ t: "output", stream: "stdout", text: "so far" });
    cancel.abort();
    expect(await outcome).toMatchObject({
      ok: false,
      stdout: "so far",
      error: { type: "RunCancelledError", builtin: "RuntimeError" },
    });
    await frame.hasEnded(worker);
    expect(worker.ended).toBeGreaterThan(0);
  });

  test("by a dead interpreter is an error that says so", async () => {
    const { worker, outcome } = start();
    worker.events.onFailed("RangeError: no more memory\n  at …");
    expect((await outcome).error).toMatchObject({ type: "InterpreterError" });
    expect((await outcome).error?.message).toContain("RangeError: no more memory");
    expect((await outcome).error?.message).not.toContain("at …");
  });

  test("comes once: what follows is dropped", async () => {
    const { frame, worker, host, outcome } = start();
    worker.says(ok("1"));
    worker.says(ok("2"));
    worker.says(call(1));
    worker.says({ t: "output", stream: "stdout", text: "late" });
    worker.events.onFailed("late");
    expect(await outcome).toMatchObject({ ok: true, value: "1", stdout: "", tampered: false });
    expect(host.calls).toEqual([]);
    await frame.hasEnded(worker);
    expect(worker.port.closed).toBe(true);
  });
});

describe("a hostile worker", () => {
  const forged: [string, unknown][] = [
    ["nothing", undefined],
    ["text", "result"],
    ["an array", [{ t: "result" }]],
    ["an unknown kind", { t: "shutdown" }],
    ["a kind of Object.prototype", { t: "constructor" }],
    ["a kind that is no text", { t: ["result"] }],
    ["a standby's message", { t: "ready", loadMs: 1 }],
    ["a missing field", { t: "call", id: 1, name: "x" }],
    ["an extra field", { ...call(1), runId: "run_2" }],
    ["an id of the wrong type", { ...call(1), id: "1" }],
    ["an id that is no integer", { ...call(1), id: 1.5 }],
    ["id NaN", { ...call(1), id: Number.NaN }],
    ["an unknown stream", { t: "output", stream: "__proto__", text: "x" }],
    ["half a surrogate pair", { t: "output", stream: "stdout", text: "\ud800" }],
    ["a name with half a surrogate pair", { ...call(1), name: "\udc00" }],
  ];
  test.each(forged)("that sends %s is found out, and its run goes on", async (_what, message) => {
    const { worker, host, outcome } = start();
    worker.says(message);
    worker.says(ok());
    expect(await outcome).toMatchObject({ ok: true, value: "1", stdout: "", tampered: true });
    expect(host.calls).toEqual([]);
  });

  test("that sends a port is found out, and the port is closed", async () => {
    const { worker, outcome } = start();
    const port = { close: vi.fn() };
    worker.says({ t: "idle" }, [port]);
    worker.says(ok());
    expect(await outcome).toMatchObject({ tampered: true });
    expect(port.close).toHaveBeenCalled();
  });

  test("that forges messages to its frame is found out", async () => {
    const { worker, outcome } = start();
    worker.events.onForged();
    worker.says(ok());
    expect(await outcome).toMatchObject({ ok: true, tampered: true });
  });

  test("that floods the page is ended", async () => {
    const { frame, worker, outcome } = start();
    for (let i = 0; i < 60; i++) worker.says({ t: "?" });
    expect(await outcome).toMatchObject({ ok: false, tampered: true, error: { type: "SandboxError" } });
    await frame.hasEnded(worker);
  });

  test.each([
    "",
    "null",
    "{}",
    "[1]",
    '{"ok":true}',
    '{"ok":false}',
    '{"ok":true,"value":1,"value":2}',
    '{"ok":true,"value":1,"error":{"type":"","builtin":"","message":"","traceback":""}}',
    '{"ok":true,"value":"\\ud800"}',
    '{"ok":true,"value":1e999}',
    '{"ok":true,"value":1},"tampered":false,"x":{"a":1}',
    '{"ok":true,"value":1,"run_id":"run_2"}',
    `{"ok":true,"value":${"[".repeat(513)}${"]".repeat(513)}}`,
  ])("whose result is %.60s ends its own run only", async (json) => {
    const { worker, outcome } = start();
    worker.says({ t: "result", json, truncated: false });
    expect(await outcome).toMatchObject({ ok: false, value: "null", tampered: true, error: { type: "SandboxError" } });
  });
});
