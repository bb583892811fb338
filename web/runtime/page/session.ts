/** One session with the host: says hello on a connection, runs what the host sends and carries the runs' calls and output. */

import type { Connection } from "../wire/connection.ts";
import { Code, RpcError } from "../wire/errors.ts";
import {
  Method,
  PROTOCOL,
  type RunFailure,
  readCatalog,
  readHelloResult,
  readReset,
  readRun,
  readToolResult,
} from "../wire/methods.ts";
import type { Executor } from "./executor.ts";
import type { RunHost, RunOutcome } from "./run.ts";
import { Slots } from "./slots.ts";

export type Kind = "headless" | "console" | "extension";

export interface Identity {
  readonly token: string;
  readonly kind: Kind;
  readonly name: string;
  readonly version: string;
}

/** How this page's pool is kept. */
export interface PoolSettings {
  readonly size: number;
  readonly snapshot: boolean;
  /** Cap on the memory of each interpreter, in MiB. */
  readonly maxMemoryMb?: number | undefined;
}

/** What the host told in its answer to hello. */
export interface HostInfo {
  readonly name: string;
  readonly version: string;
  readonly protocol: string;
}

/**
 * Opens the session. Rejects, with the connection closed, when the host refuses the token or speaks another protocol.
 * When the connection ends, all its runs end; the executor's pool stays for the next session.
 */
export async function openSession(
  connection: Connection,
  identity: Identity,
  executor: Executor,
  settings: PoolSettings,
): Promise<HostInfo> {
  const { token, kind, name, version } = identity;
  const hello = JSON.stringify({ protocol: PROTOCOL, token, client: { name, version }, kind, can_execute: true });
  try {
    const { protocol, server, limits, catalog } = readHelloResult(await connection.call(Method.hello, hello));
    connection.limits = { maxFrameBytes: limits.max_frame_bytes, maxInFlight: limits.max_in_flight };
    serve(connection, executor, new Slots(limits.max_in_flight));
    executor.start({ ...settings, catalog }, (status) => connection.notify(Method.status, JSON.stringify(status)));
    return { ...server, protocol };
  } catch (error) {
    connection.close(1000, "hello failed");
    throw error;
  }
}

function serve(connection: Connection, executor: Executor, slots: Slots): void {
  connection.onNotification(Method.catalogChanged, (params) => {
    executor.bind(readCatalog(params));
  });
  connection.handle(Method.run, async (params, signal) => {
    const request = readRun(params);
    let outcome: RunOutcome;
    try {
      outcome = await executor.run(request, new SessionHost(connection, request.run_id, slots), signal);
    } catch (error) {
      if (error instanceof RpcError) throw error;
      const cancelled = signal.aborted;
      const message = error instanceof Error ? error.message : String(error);
      if (cancelled) throw RpcError.of(Code.cancelled, "RuntimeError", "RunCancelledError", message);
      throw RpcError.of(
        Code.internal,
        "RuntimeError",
        "ExecutorError",
        `no Python interpreter for this run: ${message}`,
      );
    }
    return encodeOutcome(outcome, connection);
  });
  connection.handle(Method.reset, async (params) => {
    const { session } = readReset(params);
    return JSON.stringify({ runs: executor.sessions.reset(session) });
  });
}

/** What one run may do on the connection. Its id is fixed here: a worker can't speak for another run. */
class SessionHost implements RunHost {
  readonly #connection: Connection;
  readonly #runId: string;
  readonly #slots: Slots;

  constructor(connection: Connection, runId: string, slots: Slots) {
    this.#connection = connection;
    this.#runId = JSON.stringify(runId);
    this.#slots = slots;
  }

  async call(name: string, args: string, signal: AbortSignal): Promise<string> {
    const release = await this.#slots.take(signal);
    try {
      const params = `{"run_id":${this.#runId},"name":${JSON.stringify(name)},"arguments":${args}}`;
      return readToolResult(await this.#connection.call(Method.toolCall, params, signal)).value;
    } finally {
      release();
    }
  }

  output(stream: "stdout" | "stderr", text: string): void {
    this.#connection.notify(
      Method.output,
      `{"run_id":${this.#runId},"stream":"${stream}","text":${JSON.stringify(text)}}`,
    );
  }
}

function encodeOutcome(outcome: RunOutcome, connection: Connection): string {
  const text = encodeResult(outcome);
  if (connection.fitsAnswer(text)) return text;
  // The answer must arrive: first without the value, then with less and less of the output.
  const limit = connection.limits.maxFrameBytes;
  const error: RunFailure = outcome.error ?? {
    type: "ResultTooLargeError",
    builtin: "ValueError",
    message:
      `the returned value and the output don't fit into one message of ${limit} bytes: return less, ` +
      "or save the value with save_result and return the handle",
    traceback: "",
  };
  const failed: RunOutcome = { ...outcome, ok: false, value: "null", error };
  // Escaped, a text takes up to six times its bytes. The host has heard all of it already, piece by piece.
  for (let cut = failed; ; cut = halve(cut)) {
    const short = encodeResult(cut);
    if (connection.fitsAnswer(short) || (cut.stdout === "" && cut.stderr === "")) return short;
  }
}

function halve(outcome: RunOutcome): RunOutcome {
  const half = (text: string): string => {
    const cut = text.slice(0, text.length >> 1);
    return cut.isWellFormed() ? cut : cut.slice(0, -1);
  };
  return { ...outcome, stdout: half(outcome.stdout), stderr: half(outcome.stderr), outputTruncated: true };
}

function encodeResult(outcome: RunOutcome): string {
  const { ok, value, stdout, stderr, outputTruncated, tampered, error, durationMs, session, sessionNote } = outcome;
  const rest = JSON.stringify({
    stdout,
    stderr,
    output_truncated: outputTruncated,
    tampered,
    error,
    duration_ms: Math.round(durationMs * 1000) / 1000,
    session,
    ...(sessionNote === "" ? {} : { session_note: sessionNote }),
  });
  return `{"ok":${ok},"value":${value},${rest.slice(1)}`;
}
