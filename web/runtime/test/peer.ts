/**
 * A host for the browser tests: serves web/dist with the headers of web/handler.go and speaks toolplane.v1 over a WebSocket. It counts
 * every request, so that a test can say that nothing reached it.
 */

import { readFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { type WebSocket, WebSocketServer } from "ws";
import { Connection, type Socket } from "../wire/connection.ts";
import { RpcError } from "../wire/errors.ts";
import {
  Method,
  PROTOCOL,
  readHello,
  readOutput,
  readResetResult,
  readRunResult,
  readStatus,
  readToolCall,
} from "../wire/methods.ts";

const dist = path.resolve(import.meta.dirname, "../../dist/executor");
export const TOKEN = "a-token-of-the-tests";

export type Tool = (args: string, call: { signal: AbortSignal; runId: string }) => Promise<string> | string;

export interface RunOptions {
  inputs?: string;
  previous?: string;
  timeout?: number;
  maxOutput?: number;
  maxCalls?: number;
  maxCallsInFlight?: number;
  signal?: AbortSignal;
  /** Missing for a fresh run. */
  session?: string;
  sessionMaxBytes?: number;
}
export type RunResult = ReturnType<typeof readRunResult>;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".wasm": "application/wasm",
};

export class Peer {
  /** Tools by canonical name. */
  readonly tools = new Map<string, Tool>();
  /** Paths of all requests, sockets too, except the session's own. */
  readonly hits: string[] = [];
  readonly output: { runId: string; stream: string; text: string; at: number }[] = [];
  readonly statuses: ReturnType<typeof readStatus>[] = [];
  catalog = '{"revision":1,"bindings":[]}';
  limits = { max_frame_bytes: 16 * 1024 * 1024, max_in_flight: 64 };
  /** false serves the page without what gives it shared memory, as an extension's may be. */
  isolated = true;
  connection: Connection | undefined;
  helloes: ReturnType<typeof readHello>[] = [];
  readonly #server: http.Server;
  readonly #sockets: WebSocketServer;
  #runs = 0;
  #onStatus: (() => void)[] = [];

  private constructor() {
    const { frame_csp } = readManifest();
    this.#server = http.createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://peer");
      this.hits.push(request.url ?? "");
      const file = path.join(dist, pathname.replace("/executor/", "") || "index.html");
      const headers: http.OutgoingHttpHeaders = {
        "content-type": TYPES[path.extname(file)] ?? "application/octet-stream",
        ...(this.isolated
          ? { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" }
          : {}),
        // As in web/handler.go: Firefox takes a sandboxed frame for another origin.
        "cross-origin-resource-policy": pathname.endsWith("frame.html") ? "cross-origin" : "same-origin",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "content-security-policy": pathname.endsWith("frame.html")
          ? `sandbox allow-scripts; ${frame_csp}; frame-ancestors 'self'`
          : "default-src 'none'; script-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'",
      };
      try {
        const body = readFileSync(file);
        response.writeHead(200, headers).end(body);
      } catch {
        response.writeHead(404, { ...headers, "content-type": "text/plain" }).end();
      }
    });
    this.#sockets = new WebSocketServer({ server: this.#server, handleProtocols: () => PROTOCOL });
    this.#sockets.on("connection", (socket, request) => {
      if (request.url !== "/ws") {
        this.hits.push(`WebSocket ${request.url}`);
        socket.close();
      } else this.#accept(socket);
    });
  }

  static async start(): Promise<Peer> {
    const peer = new Peer();
    await new Promise<void>((resolve) => peer.#server.listen(0, "127.0.0.1", resolve));
    return peer;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Runs a snippet in the connected page. */
  async run(code: string, options: RunOptions = {}): Promise<RunResult & { runId: string }> {
    const runId = `run_${++this.#runs}`;
    const fields = JSON.stringify({
      run_id: runId,
      code,
      filename: "<snippet>",
      fresh: options.session === undefined,
      ...(options.session === undefined ? {} : { session: options.session }),
      ...(options.sessionMaxBytes === undefined ? {} : { session_max_bytes: options.sessionMaxBytes }),
      timeout_ms: options.timeout ?? 10_000,
      max_output_bytes: options.maxOutput ?? 1024 * 1024,
      ...(options.maxCalls === undefined ? {} : { max_calls: options.maxCalls }),
      ...(options.maxCallsInFlight === undefined ? {} : { max_calls_in_flight: options.maxCallsInFlight }),
    });
    const previous = options.previous === undefined ? "" : `,"previous":${options.previous}`;
    const params = `${fields.slice(0, -1)},"inputs":${options.inputs ?? "{}"}${previous}}`;
    if (this.connection === undefined) throw new Error("no page is connected");
    return { ...readRunResult(await this.connection.call(Method.run, params, options.signal)), runId };
  }

  /** Ends a session; the number of its runs. */
  async reset(session: string): Promise<number> {
    if (this.connection === undefined) throw new Error("no page is connected");
    return readResetResult(await this.connection.call(Method.reset, JSON.stringify({ session }))).runs;
  }

  /** Resolves when the page has told `ready` with at least `pool` standbys. Rejects when it tells that it can't be. */
  async ready(pool = 1): Promise<void> {
    while (!this.statuses.some((status) => status.ready && status.pool >= pool)) {
      const last = this.statuses.at(-1);
      if (last?.ready === false) throw new Error(`the page isn't ready: ${last.detail}`);
      await this.statusChanged();
    }
  }

  /** Resolves at the next executor.status. */
  statusChanged(): Promise<void> {
    return new Promise((resolve) => this.#onStatus.push(resolve));
  }

  /** The text that the run printed so far, as notifications told it. */
  printed(runId: string, stream = "stdout"): string {
    return this.output
      .filter((o) => o.runId === runId && o.stream === stream)
      .map((o) => o.text)
      .join("");
  }

  async close(): Promise<void> {
    for (const client of this.#sockets.clients) client.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(ws: WebSocket): void {
    const connection = new Connection(nodeSocket(ws));
    connection.limits = { maxFrameBytes: this.limits.max_frame_bytes, maxInFlight: this.limits.max_in_flight };
    this.connection = connection;
    connection.handle(Method.hello, async (params) => {
      const hello = readHello(params);
      if (hello.token !== TOKEN) throw new RpcError(-32001, "wrong token");
      this.helloes.push(hello);
      const head = JSON.stringify({ protocol: PROTOCOL, server: { name: "peer", version: "1" }, limits: this.limits });
      return `${head.slice(0, -1)},"catalog":${this.catalog}}`;
    });
    connection.handle(Method.toolCall, async (params, signal) => {
      const call = readToolCall(params);
      const tool = this.tools.get(call.name);
      if (tool === undefined) {
        throw RpcError.of(-32010, "LookupError", "UnknownCapabilityError", `unknown capability ${call.name}`);
      }
      return `{"value":${await tool(call.arguments, { signal, runId: call.run_id })}}`;
    });
    connection.onNotification(Method.output, (params) => {
      const { run_id, stream, text } = readOutput(params);
      this.output.push({ runId: run_id, stream, text, at: performance.now() });
    });
    connection.onNotification(Method.status, (params) => {
      this.statuses.push(readStatus(params));
      for (const wake of this.#onStatus.splice(0)) wake();
    });
  }
}

function readManifest(): { frame_csp: string } {
  try {
    return JSON.parse(readFileSync(path.join(dist, "manifest.json"), "utf8"));
  } catch (error) {
    throw new Error("the browser tests need the built runtime: run `make web`", { cause: error });
  }
}

/** Gives a socket of the ws package the shape of a browser's. */
export function nodeSocket(ws: WebSocket): Socket {
  const target = new EventTarget();
  ws.on("message", (data, binary) => {
    const event = Object.assign(new Event("message"), { data: binary ? data : data.toString() });
    target.dispatchEvent(event);
  });
  ws.on("close", (code, reason) =>
    target.dispatchEvent(Object.assign(new Event("close"), { code, reason: reason.toString() })),
  );
  ws.on("error", () => target.dispatchEvent(new Event("error")));
  return Object.assign(target, {
    get bufferedAmount() {
      return ws.bufferedAmount;
    },
    send: (data: string) => ws.send(data),
    close: (code?: number, reason?: string) => ws.close(code, reason),
  }) as Socket;
}
