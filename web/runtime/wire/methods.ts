/** The methods of toolplane.v1 and their payloads; the same as wsbridge/protocol/methods.go and rules.go. */

import type { Message } from "./envelope.ts";
import { Code, FrameError } from "./errors.ts";
import {
  boolean,
  checked,
  integer,
  list,
  nonEmpty,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Reader,
  raw,
  rawObject,
  rawRecord,
  ShapeError,
  string,
} from "./shape.ts";

export const PROTOCOL = "toolplane.v1";

export const Method = {
  hello: "session.hello",
  toolCall: "tool.call",
  output: "run.output",
  status: "executor.status",
  run: "executor.run",
  reset: "executor.reset",
  catalogChanged: "catalog.changed",
  cancel: "$/cancelRequest",
} as const;

const client = object({ name: string, version: string });
const binding = object({
  name: string,
  flat: optional(string),
  scope: optional(string),
  tool: optional(string),
  params: list(string),
  call: string,
});
const catalog = object({ revision: integer(0), bindings: list(binding) });
/** Checked like the rest, but kept as text: it goes on to Python as it is. */
const rawCatalog: Reader<string> = (text, path) => {
  catalog(text, path);
  return text;
};

const hello = object({
  protocol: oneOf(PROTOCOL),
  token: string,
  client,
  kind: oneOf("headless", "console", "extension"),
  can_execute: boolean,
});
const helloResult = object({
  protocol: oneOf(PROTOCOL),
  server: client,
  limits: object({ max_frame_bytes: integer(1), max_in_flight: integer(1) }),
  catalog: rawCatalog,
});

const toolCall = object({ run_id: nonEmpty, name: nonEmpty, arguments: rawObject });
const toolResult = object({ value: raw });

const output = object({ run_id: nonEmpty, stream: oneOf("stdout", "stderr"), text: string });
const status = object({
  ready: boolean,
  pool: integer(0),
  detail: optional(string),
  snapshot: optional(oneOf("memory", "none")),
});

const run = checked(
  object({
    run_id: nonEmpty,
    code: string,
    filename: string,
    fresh: boolean,
    inputs: rawRecord,
    previous: optional(raw),
    timeout_ms: integer(1),
    max_output_bytes: integer(0),
    /** 0 and missing mean the default. */
    max_calls: optional(integer(0)),
    max_calls_in_flight: optional(integer(0)),
    /** Key of the namespace to run in; missing and empty mean a pristine interpreter. */
    session: optional(string),
    /** Memory and files of that session together; 0 and missing mean no limit of its own. */
    session_max_bytes: optional(integer(0)),
  }),
  ({ fresh, session }) => (fresh && session ? "must not have a session when it's fresh" : null),
);
export type RunRequest = ReturnType<typeof run>;

export const runError = object({ type: string, builtin: string, message: string, traceback: string });
export type RunFailure = ReturnType<typeof runError>;

/** Where a run ran, and what became of that namespace: see the Session constants in methods.go. */
export const SESSION_STATES = ["fresh", "new", "kept", "rolled_back", "lost", "reset"] as const;
export type SessionState = (typeof SESSION_STATES)[number];

const runResult = checked(
  object({
    ok: boolean,
    value: raw,
    stdout: string,
    stderr: string,
    output_truncated: boolean,
    tampered: boolean,
    error: nullable(runError),
    duration_ms: checked(number, (ms) => (ms < 0 ? "must not be negative" : null)),
    session: optional(oneOf("", ...SESSION_STATES)),
    session_note: optional(string),
  }),
  ({ ok, error }) => (ok === (error === null) ? null : 'must have an "error" exactly when "ok" is false'),
);

const reset = object({ session: nonEmpty });
const resetResult = object({ runs: integer(0) });

const cancel = object({ id: integer(1) });

/** Reads params. Missing ones are read as {}. Throws FrameError with code invalidParams. */
function params<T>(reader: Reader<T>): (text: string | undefined) => T {
  return (text = "{}") => read(reader, text, "params", Code.invalidParams);
}

/** Reads a result. Throws FrameError with code invalidRequest: the other side answered, but not with what the method promises. */
function result<T>(reader: Reader<T>): (text: string) => T {
  return (text) => read(reader, text, "result", Code.invalidRequest);
}

function read<T>(reader: Reader<T>, text: string, path: string, code: number): T {
  try {
    return reader(text, path);
  } catch (error) {
    if (error instanceof ShapeError) throw new FrameError(code, error.message);
    throw error;
  }
}

export const readHello = params(hello);
export const readHelloResult = result(helloResult);
export const readToolCall = params(toolCall);
export const readToolResult = result(toolResult);
export const readOutput = params(output);
export const readStatus = params(status);
export const readRun = params(run);
export const readRunResult = result(runResult);
export const readReset = params(reset);
export const readResetResult = result(resetResult);
export const readCatalog = params(rawCatalog);
export const readCancel = params(cancel);

export type Side = "client-to-host" | "host-to-client";

interface Rule {
  readonly from: Side | "either";
  readonly params: (text: string | undefined) => unknown;
  /** Missing for notifications. */
  readonly result?: (text: string) => unknown;
}

const RULES: Readonly<Record<string, Rule>> = {
  [Method.hello]: { from: "client-to-host", params: readHello, result: readHelloResult },
  [Method.toolCall]: { from: "client-to-host", params: readToolCall, result: readToolResult },
  [Method.output]: { from: "client-to-host", params: readOutput },
  [Method.status]: { from: "client-to-host", params: readStatus },
  [Method.run]: { from: "host-to-client", params: readRun, result: readRunResult },
  [Method.reset]: { from: "host-to-client", params: readReset, result: readResetResult },
  [Method.catalogChanged]: { from: "host-to-client", params: readCatalog },
  [Method.cancel]: { from: "either", params: readCancel },
};

/** Judges a message of `from` by its method: who may send it, as what, with which params. Throws FrameError. */
export function checkCall(from: Side, message: Message): void {
  if (message.kind !== "request" && message.kind !== "notification") return;
  const { method } = message;
  const id = message.kind === "request" ? message.id : null;
  const rule = Object.hasOwn(RULES, method) ? RULES[method] : undefined;
  if (rule === undefined || (rule.from !== "either" && rule.from !== from)) {
    throw new FrameError(Code.methodNotFound, `method ${JSON.stringify(method)} isn't one that this side answers`, id);
  }
  if (rule.result !== undefined && id === null)
    throw new FrameError(Code.invalidRequest, `${method} is a request, it needs an id`);
  if (rule.result === undefined && id !== null) {
    throw new FrameError(Code.invalidRequest, `${method} is a notification, it has no id`, id);
  }
  try {
    rule.params(message.params);
  } catch (error) {
    if (error instanceof FrameError) throw new FrameError(error.code, error.message, id);
    throw error;
  }
}

/** Judges an answer to a request of `method`. Errors fit every method. Throws FrameError. */
export function checkAnswer(method: string, message: Message): void {
  if (message.kind === "response") RULES[method]?.result?.(message.result);
}
