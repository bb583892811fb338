/** The methods of toolplane.v1 and their payloads; the same as wsbridge/protocol/methods.go. */

import {
  boolean,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Reader,
  raw,
  rawObject,
  rawRecord,
  string,
} from "./shape.ts";

export const PROTOCOL = "toolplane.v1";

export const Method = {
  hello: "session.hello",
  toolCall: "tool.call",
  output: "run.output",
  status: "executor.status",
  run: "executor.run",
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

/** `catalog.changed`, and the catalog in the answer to hello. */
export const readCatalog = object({ revision: integer(0), bindings: list(binding) });

export const readHello = object({
  protocol: string,
  token: string,
  client,
  kind: oneOf("headless", "console", "extension"),
  can_execute: boolean,
});

/** The answer to hello. The catalog is kept as text as well: it goes on to Python as it is. */
export const readHelloResult = object({
  protocol: string,
  server: client,
  limits: object({ max_frame_bytes: integer(1024), max_in_flight: integer(1) }),
  catalog: rawObject,
});

export const readToolCall = object({ run_id: string, name: string, arguments: rawObject });
export const readToolResult = object({ value: raw });

export const readOutput = object({ run_id: string, stream: oneOf("stdout", "stderr"), text: string });

export const readStatus = object({
  ready: boolean,
  pool: integer(0),
  detail: optional(string),
  snapshot: optional(oneOf("memory", "none")),
});

export const readRun = object({
  run_id: string,
  code: string,
  filename: string,
  fresh: boolean,
  inputs: rawRecord,
  previous: optional(raw),
  timeout_ms: integer(1),
  max_output_bytes: integer(0),
  max_calls: optional(integer(1)),
  max_calls_in_flight: optional(integer(1)),
});
export type RunRequest = ReturnType<typeof readRun>;

export const readRunError = object({ type: string, builtin: string, message: string, traceback: string });
export type RunFailure = ReturnType<typeof readRunError>;

export const readRunResult = object({
  ok: boolean,
  value: raw,
  stdout: string,
  stderr: string,
  output_truncated: boolean,
  tampered: boolean,
  error: nullable(readRunError),
  duration_ms: number,
});

export const readCancel = object({ id: integer(1) });

/** Every method's params, by who may send it. Used to check messages of either side against the shared vectors. */
export const CLIENT_TO_HOST: Readonly<Record<string, Reader<unknown>>> = {
  [Method.hello]: readHello,
  [Method.toolCall]: readToolCall,
  [Method.output]: readOutput,
  [Method.status]: readStatus,
  [Method.cancel]: readCancel,
};
export const HOST_TO_CLIENT: Readonly<Record<string, Reader<unknown>>> = {
  [Method.run]: readRun,
  [Method.catalogChanged]: readCatalog,
  [Method.cancel]: readCancel,
};
