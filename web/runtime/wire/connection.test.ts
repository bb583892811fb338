import { afterEach, describe, expect, test, vi } from "vitest";
import { type MemorySocket, socketPair } from "../test/socket-pair.ts";
import { Connection } from "./connection.ts";
import { ClosedError, Code, RpcError } from "./errors.ts";

interface Pair {
  page: Connection;
  host: Connection;
  pageSocket: MemorySocket;
  hostSocket: MemorySocket;
}

function pair(): Pair {
  const [pageSocket, hostSocket] = socketPair();
  return {
    page: new Connection(pageSocket.asSocket()),
    host: new Connection(hostSocket.asSocket()),
    pageSocket,
    hostSocket,
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const code = (code: number) => expect.objectContaining({ name: "RpcError", code });

afterEach(() => {
  vi.restoreAllMocks();
});

describe("calls", () => {
  test("carry params and results as they are, in both directions at once", async () => {
    const { page, host } = pair();
    host.handle("up", async (params) => `{"value":${params}}`);
    page.handle("down", async (params) => params ?? "");
    const [up, down] = await Promise.all([
      page.call("up", '{"n":1.0, "n":2}'),
      host.call("down", '{"big":9007199254740993}'),
    ]);
    expect(up).toBe('{"value":{"n":1.0, "n":2}}');
    expect(down).toBe('{"big":9007199254740993}');
  });

  test("are answered in any order", async () => {
    const { page, host } = pair();
    const release: (() => void)[] = [];
    host.handle("wait", (params) => new Promise((resolve) => release.push(() => resolve(params ?? ""))));
    const calls = [1, 2, 3].map((n) => page.call("wait", `{"n":${n}}`));
    await settled();
    for (const go of release.reverse()) go();
    expect(await Promise.all(calls)).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
  });

  test("fail with the other side's code, message and raw data", async () => {
    const { page, host } = pair();
    host.handle("fail", async () => {
      throw new RpcError(Code.tool, "no such handle", '{"builtin":"ValueError","limit":1.0}');
    });
    await expect(page.call("fail", "{}")).rejects.toMatchObject({
      code: Code.tool,
      message: "no such handle",
      data: '{"builtin":"ValueError","limit":1.0}',
    });
  });

  test("of an unknown method, or of a notification's, are refused", async () => {
    const { page, host } = pair();
    host.onNotification("note", () => {});
    await expect(page.call("nothing", "{}")).rejects.toEqual(code(Code.methodNotFound));
    await expect(page.call("note", "{}")).rejects.toEqual(code(Code.invalidRequest));
  });

  test("whose handler fails in an unforeseen way answer with an internal error", async () => {
    const { page, host } = pair();
    host.handle("bug", async () => {
      throw new TypeError("x is undefined");
    });
    await expect(page.call("bug", "{}")).rejects.toEqual(code(Code.internal));
  });
});

describe("limits", () => {
  test("a frame that is too large is refused before it's sent, and the session goes on", async () => {
    const { page, host, pageSocket } = pair();
    host.handle("echo", async (params) => params ?? "");
    page.limits = { maxFrameBytes: 200, maxInFlight: 4 };
    await expect(page.call("echo", `{"a":"${"é".repeat(100)}"}`)).rejects.toMatchObject({
      code: Code.tooLarge,
      data: '{"builtin":"ValueError","type":"FrameTooLargeError"}',
    });
    expect(pageSocket.sent).toEqual([]);
    expect(page.notify("note", `{"a":"${"a".repeat(200)}"}`)).toBe(false);
    expect(await page.call("echo", "{}")).toBe("{}");
  });

  test("an answer that is too large becomes an error, and the session goes on", async () => {
    const { page, host } = pair();
    host.limits = { maxFrameBytes: 200, maxInFlight: 4 };
    host.handle("big", async () => `"${"a".repeat(300)}"`);
    host.handle("small", async () => "1");
    await expect(page.call("big", "{}")).rejects.toEqual(code(Code.tooLarge));
    expect(await page.call("small", "{}")).toBe("1");
  });

  test("calls over the bound are refused here, without a frame", async () => {
    const { page, host, pageSocket } = pair();
    page.limits = { maxFrameBytes: 1000, maxInFlight: 2 };
    let release: (text: string) => void = () => {};
    host.handle("wait", () => new Promise((resolve) => (release = resolve)));
    const first = page.call("wait", "{}");
    void page.call("wait", "{}").catch(() => {});
    await expect(page.call("wait", "{}")).rejects.toEqual(code(Code.busy));
    expect(pageSocket.sent.length).toBe(2);
    await settled();
    release("1");
    host.close();
    await expect(first).rejects.toBeInstanceOf(ClosedError);
  });

  test("requests over the bound are answered with busy, and the others go on", async () => {
    const { page, host } = pair();
    page.limits = { maxFrameBytes: 1000, maxInFlight: 1 };
    let release: (text: string) => void = () => {};
    page.handle("wait", () => new Promise((resolve) => (release = resolve)));
    const first = host.call("wait", "{}");
    await expect(host.call("wait", "{}")).rejects.toEqual(code(Code.busy));
    release("1");
    expect(await first).toBe("1");
  });

  test("a host that doesn't read makes calls busy instead of filling memory", async () => {
    const { page, pageSocket } = pair();
    pageSocket.bufferedAmount = 1 << 30;
    await expect(page.call("echo", "{}")).rejects.toEqual(code(Code.busy));
  });
});

describe("cancelling", () => {
  test("rejects here, tells the other side, and drops a late answer", async () => {
    const { page, host } = pair();
    const aborted: boolean[] = [];
    let release: (text: string) => void = () => {};
    host.handle("wait", (_params, signal) => {
      signal.addEventListener("abort", () => aborted.push(true));
      return new Promise((resolve) => (release = resolve));
    });
    const cancel = new AbortController();
    const call = page.call("wait", "{}", cancel.signal);
    await settled();
    cancel.abort();
    await expect(call).rejects.toEqual(code(Code.cancelled));
    await settled();
    expect(aborted).toEqual([true]);
    release("1");
    await settled();
    expect(page.isOpen).toBe(true);
  });

  test("before the call sends nothing", async () => {
    const { page, pageSocket } = pair();
    await expect(page.call("wait", "{}", AbortSignal.abort())).rejects.toEqual(code(Code.cancelled));
    expect(pageSocket.sent).toEqual([]);
  });
});

describe("closing", () => {
  test("fails calls, aborts what is being answered and resolves `closed`", async () => {
    const { page, host } = pair();
    const aborted = vi.fn();
    host.handle("wait", () => new Promise(() => {}));
    page.handle("wait", (_params, signal) => {
      signal.addEventListener("abort", () => aborted(signal.reason));
      return new Promise(() => {});
    });
    const call = page.call("wait", "{}");
    host.call("wait", "{}").catch(() => {});
    await settled();
    host.close(1001, "going away");
    await expect(call).rejects.toThrow("the host closed the connection (1001: going away)");
    expect(await page.closed).toBeInstanceOf(ClosedError);
    expect(aborted).toHaveBeenCalledWith(expect.any(ClosedError));
    expect(page.isOpen).toBe(false);
    expect(page.notify("note", "{}")).toBe(false);
    await expect(page.call("wait", "{}")).rejects.toBeInstanceOf(ClosedError);
  });

  test("a binary frame closes", async () => {
    const { page, pageSocket } = pair();
    pageSocket.receive(new ArrayBuffer(4));
    await page.closed;
    expect(pageSocket.closed?.code).toBe(1003);
  });
});

describe("broken frames", () => {
  test.each([
    ["{", null, Code.parse],
    ["[]", null, Code.invalidRequest],
    ['{"jsonrpc":"2.0","id":7,"method":"x","params":{},"extra":1}', 7, Code.invalidRequest],
  ])("%s is answered once and the session goes on", async (text, id, want) => {
    const { page, host, pageSocket } = pair();
    host.handle("echo", async () => "1");
    pageSocket.receive(text);
    expect(pageSocket.sent.length).toBe(1);
    expect(JSON.parse(pageSocket.sent[0] ?? "")).toMatchObject({ id, error: { code: want } });
    expect(await page.call("echo", "{}")).toBe("1");
  });

  test("a broken answer fails the call that waits for it and is not answered", async () => {
    const { page, pageSocket, hostSocket } = pair();
    hostSocket.send = () => {};
    const call = page.call("anything", "{}");
    pageSocket.receive('{"jsonrpc":"2.0","id":1,"result":{"value":[1,}}');
    await expect(call).rejects.toThrow("the host's answer breaks the protocol");
    expect(pageSocket.sent.length).toBe(1);
  });

  test("an answer to nothing is dropped", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { page, pageSocket } = pair();
    pageSocket.receive('{"jsonrpc":"2.0","id":99,"result":1}');
    pageSocket.receive('{"jsonrpc":"2.0","result":1}');
    expect(pageSocket.sent).toEqual([]);
    expect(page.isOpen).toBe(true);
    expect(warn).toHaveBeenCalledOnce();
  });

  test("notifications that are unknown, broken or requests are dropped", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { page, pageSocket } = pair();
    page.handle("run", async () => "1");
    page.onNotification("note", () => {
      throw new Error("params.x is missing");
    });
    for (const method of ["unknown", "run", "note", "$/cancelRequest"]) {
      pageSocket.receive(`{"jsonrpc":"2.0","method":"${method}"}`);
    }
    expect(warn.mock.calls.map(([text]) => String(text))).toEqual([
      "unknown: unknown method",
      "run: a request needs an id",
      "note: params.x is missing",
      "$/cancelRequest: params.id is missing",
    ]);
    expect(pageSocket.sent).toEqual([]);
  });

  test("the same id twice at once is refused", async () => {
    const { page, pageSocket } = pair();
    page.handle("wait", () => new Promise(() => {}));
    pageSocket.receive('{"jsonrpc":"2.0","id":1,"method":"wait"}');
    pageSocket.receive('{"jsonrpc":"2.0","id":1,"method":"wait"}');
    expect(JSON.parse(pageSocket.sent[0] ?? "")).toMatchObject({ id: 1, error: { code: Code.invalidRequest } });
  });
});

test("hammer: 2,000 calls each way with cancels, refusals and failures all settle", async () => {
  const { page, host } = pair();
  for (const side of [page, host]) {
    side.limits = { maxFrameBytes: 10_000, maxInFlight: 16 };
    side.handle("work", async (params, signal) => {
      const { n } = JSON.parse(params ?? "") as { n: number };
      if (n % 3 === 0) await settled();
      if (n % 7 === 0) throw new RpcError(Code.tool, `failed ${n}`);
      if (signal.aborted) throw new RpcError(Code.cancelled, "cancelled");
      return `{"n":${n}}`;
    });
  }
  const counts = { answered: 0, failed: 0, busy: 0, cancelled: 0 };
  const one = async (side: Connection, n: number): Promise<void> => {
    const cancel = new AbortController();
    const call = side.call("work", `{"n":${n}}`, cancel.signal);
    if (n % 11 === 0) queueMicrotask(() => cancel.abort());
    try {
      expect(await call).toBe(`{"n":${n}}`);
      counts.answered++;
    } catch (error) {
      const { code: got, message } = error as RpcError;
      if (got === Code.tool) expect(message).toBe(`failed ${n}`);
      counts[got === Code.tool ? "failed" : got === Code.busy ? "busy" : "cancelled"]++;
    }
  };
  for (let n = 1; n <= 2000; n += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, i) => [one(page, n + i), one(host, n + i)]).flat());
  }
  expect(counts.answered + counts.failed + counts.busy + counts.cancelled).toBe(4000);
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(100);
  expect(page.isOpen && host.isOpen).toBe(true);
});
