/**
 * The envelope: one JSON-RPC 2.0 message in one text frame, read and written without touching the values inside.
 * Mirrors wsbridge/protocol/envelope.go; both are tested against wsbridge/protocol/vectors.
 */

import { Code, FrameError } from "./errors.ts";
import { type Member, members, skipSpace } from "./spans.ts";
import { textProblem } from "./value.ts";

export interface Request {
  readonly kind: "request";
  readonly id: number;
  readonly method: string;
  /** Raw JSON text, or undefined when the frame has none. */
  readonly params: string | undefined;
}
export interface Notification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: string | undefined;
}
export interface Response {
  readonly kind: "response";
  readonly id: number;
  readonly result: string;
}
export interface Failure {
  readonly kind: "error";
  /** null when the other side couldn't tell which request its answer is for. */
  readonly id: number | null;
  readonly code: number;
  readonly message: string;
  readonly data: string | undefined;
}
export type Message = Request | Notification | Response | Failure;

const ENVELOPE = new Set(["jsonrpc", "id", "method", "params", "result", "error"]);
const ERROR = new Set(["code", "message", "data"]);

/** Reads one frame. Throws FrameError for everything that isn't exactly one message of the protocol. */
export function decodeFrame(text: string): Message {
  const spans = parseObject(text);
  const at = index(text, spans, ENVELOPE, "message");
  const id = at.has("id") ? readId(at.get("id") as string) : undefined;
  const known = typeof id === "number" ? id : null;
  const fail = (problem: string): never => {
    throw new FrameError(Code.invalidRequest, problem, known);
  };
  if (at.get("jsonrpc") !== '"2.0"') fail('"jsonrpc" must be "2.0"');

  const params = at.get("params");
  if (params !== undefined && params[0] !== "{") fail('"params" must be an object');

  if (at.has("method")) {
    const method = readString(at.get("method") as string) ?? fail('"method" must be a string');
    if (method === "") fail('"method" must not be empty');
    if (at.has("result") || at.has("error")) fail('a message with "method" has neither "result" nor "error"');
    if (id === undefined) return { kind: "notification", method, params };
    if (id === null) return fail('"id" of a request must be an integer of at least 1');
    return { kind: "request", id, method, params };
  }
  if (params !== undefined) fail('"params" without "method"');
  if (id === undefined) return fail('a message has "method", or "id" with "result" or "error"');
  const result = at.get("result");
  const error = at.get("error");
  if (result !== undefined && error !== undefined) return fail('"result" and "error" exclude each other');
  if (result !== undefined) {
    if (id === null) return fail('"id" of a result must be an integer of at least 1');
    return { kind: "response", id, result };
  }
  if (error === undefined) return fail('an answer has "result" or "error"');
  return { kind: "error", id, ...readError(error, known) };
}

/** Checks that the text is one JSON object that may travel, and cuts it into members. */
function parseObject(text: string): Member[] {
  try {
    JSON.parse(text);
  } catch {
    throw new FrameError(Code.parse, "not valid JSON");
  }
  const problem = textProblem(text);
  if (problem !== null) throw new FrameError(Code.parse, problem);
  const spans = members(text);
  if (spans === null) {
    const batch = text[skipSpace(text, 0)] === "[";
    throw new FrameError(
      Code.invalidRequest,
      batch ? "batches are not supported: send one message a frame" : "a message must be an object",
    );
  }
  return spans;
}

function index(text: string, spans: Member[], allowed: ReadonlySet<string>, what: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const { name, start, end } of spans) {
    if (!allowed.has(name))
      throw new FrameError(Code.invalidRequest, `unknown member ${JSON.stringify(name)} in the ${what}`);
    if (found.has(name))
      throw new FrameError(Code.invalidRequest, `member ${JSON.stringify(name)} stands twice in the ${what}`);
    found.set(name, text.slice(start, end));
  }
  return found;
}

function readId(raw: string): number | null {
  if (raw === "null") return null;
  const id = /^[1-9][0-9]{0,15}$/.test(raw) ? Number(raw) : Number.NaN;
  if (!Number.isSafeInteger(id)) {
    throw new FrameError(Code.invalidRequest, '"id" must be an integer from 1 to 2**53-1');
  }
  return id;
}

function readString(raw: string): string | null {
  return raw[0] === '"' ? (JSON.parse(raw) as string) : null;
}

function readError(raw: string, id: number | null): { code: number; message: string; data: string | undefined } {
  const fail = (problem: string): never => {
    throw new FrameError(Code.invalidRequest, problem, id);
  };
  const spans = members(raw);
  if (spans === null) return fail('"error" must be an object');
  const at = index(raw, spans, ERROR, "error");
  const code = at.get("code");
  const message = at.get("message");
  if (code === undefined || !/^-?(0|[1-9][0-9]{0,9})$/.test(code)) return fail('"error.code" must be an integer');
  const words = message === undefined ? null : readString(message);
  if (words === null) return fail('"error.message" must be a string');
  const data = at.get("data");
  if (data !== undefined && data[0] !== "{") return fail('"error.data" must be an object');
  return { code: Number(code), message: words, data };
}

/** A request's frame. `params` is the raw text of an object. */
export function encodeRequest(id: number, method: string, params: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${params}}`;
}

export function encodeNotification(method: string, params: string): string {
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params}}`;
}

export function encodeResult(id: number, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

export function encodeError(id: number | null, code: number, message: string, data?: string): string {
  const tail = data === undefined ? "" : `,"data":${data}`;
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message.toWellFormed())}${tail}}}`;
}

/** How many bytes the text takes as UTF-8, without building them. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    if (code < 0x800) bytes++;
    else {
      bytes += 2;
      if (code >= 0xd800 && code <= 0xdbff) {
        i++; // a pair is two units here and four bytes there
      }
    }
  }
  return bytes;
}

/** Whether the text fits into a frame of `limit` bytes. Counts only where the length alone doesn't tell. */
export function fits(text: string, limit: number): boolean {
  if (text.length > limit) return false;
  return text.length * 3 <= limit || byteLength(text) <= limit;
}
