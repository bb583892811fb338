/** Reads what a worker sends. It may be anything that can be cloned: forged, huge, out of order. */

import type { FromWorker } from "../sandbox/messages.ts";

const FIELDS: { readonly [T in FromWorker["t"]]: Readonly<Record<string, "string" | "number" | "boolean">> } = {
  ready: { loadMs: "number" },
  pong: {},
  call: { id: "number", name: "string", arguments: "string" },
  cancel: { id: "number" },
  output: { stream: "string", text: "string" },
  session: { bytes: "number", trouble: "string", room: "boolean" },
  result: { json: "string", truncated: "boolean" },
  idle: {},
};

/** The message, or null when no worker of ours would send it. Texts are well-formed; what they say isn't checked here. */
export function readWorkerMessage(data: unknown, ports: readonly MessagePort[]): FromWorker | null {
  if (ports.length > 0) {
    for (const port of ports) port.close();
    return null;
  }
  if (typeof data !== "object" || data === null || !Object.hasOwn(data, "t")) return null;
  const message = data as Record<string, unknown>;
  const kind = message.t;
  if (typeof kind !== "string" || !Object.hasOwn(FIELDS, kind)) return null;
  const fields = FIELDS[kind as FromWorker["t"]];
  const names = Object.keys(message);
  if (names.length !== Object.keys(fields).length + 1) return null;
  for (const [name, type] of Object.entries(fields)) {
    const value = Object.hasOwn(message, name) ? message[name] : undefined;
    if (typeof value !== type) return null;
    if (typeof value === "string" && !value.isWellFormed()) return null;
  }
  if ((kind === "call" || kind === "cancel") && !(Number.isSafeInteger(message.id) && (message.id as number) >= 1))
    return null;
  if (kind === "session" && !(Number.isSafeInteger(message.bytes) && (message.bytes as number) >= 0)) return null;
  if (kind === "output" && message.stream !== "stdout" && message.stream !== "stderr") return null;
  return message as FromWorker;
}
