/**
 * The envelope: one JSON-RPC 2.0 message in one text frame, read and written without touching the values inside.
 * Mirrors wsbridge/protocol/envelope.go; both are tested against wsbridge/protocol/vectors.
 */

import { Code, FrameError } from "./errors.ts";
import { Scanner, SyntaxProblem } from "./scanner.ts";
import { entries, integer, object, optional, type Reader, type ShapeError, string } from "./shape.ts";
import { byteLength } from "./size.ts";

export interface Request {
  readonly kind: "request";
  readonly id: number;
  readonly method: string;
  /** Raw JSON text of an object, or undefined when the frame has none. */
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
  /** Raw JSON text of an object. */
  readonly data: string | undefined;
}
export type Message = Request | Notification | Response | Failure;

const MEMBERS = ["jsonrpc", "id", "method", "params", "result", "error"] as const;
type Member = (typeof MEMBERS)[number];
const MAX_METHOD_BYTES = 128;

/** Reads one frame. Throws FrameError for everything that isn't exactly one message of the protocol; syntax goes before all else. */
export function decodeFrame(text: string): Message {
  const envelope = new Envelope();
  try {
    const scanner = new Scanner(text);
    envelope.read(scanner);
    scanner.end();
  } catch (error) {
    if (error instanceof SyntaxProblem) throw envelope.refusal(Code.parse, `the frame isn't JSON: ${error.message}`);
    throw error;
  }
  return envelope.message();
}

/** Collects what a frame says while it's read. */
class Envelope {
  readonly #has = new Map<Member, string>();
  #idCount = 0;
  #id: number | null = null;
  #problem: string | null = null;

  read(scanner: Scanner): void {
    const first = scanner.peek();
    if (first !== "{") {
      this.#complain(first === "[" ? "batches are refused, send one message per frame" : "a message is an object");
      scanner.value();
      return;
    }
    scanner.object((name) => {
      const member = MEMBERS.find((known) => known === name);
      if (member === undefined) this.#complain(`unknown member ${JSON.stringify(name.slice(0, 40))}`);
      else if (this.#has.has(member)) this.#complain(`duplicate member "${member}"`);
      if (member === "id") this.#idCount++;
      const fresh = member !== undefined && !this.#has.has(member);
      if (fresh) this.#has.set(member, ""); // a value that is cut off still tells what the frame was meant to be
      const raw = scanner.value();
      if (!fresh) return;
      this.#has.set(member, raw);
      if (member === "id") this.#id = readId(raw);
    });
  }

  message(): Message {
    const error = this.#has.get("error");
    let failure: ReturnType<typeof readErrorObject> | undefined;
    try {
      if (error !== undefined) failure = readErrorObject(error, "error");
    } catch (problem) {
      this.#complain((problem as ShapeError).message);
    }
    const method = this.#judge();
    if (this.#problem !== null) throw this.refusal(Code.invalidRequest, `not a JSON-RPC 2.0 message: ${this.#problem}`);
    const params = this.#has.get("params");
    if (failure !== undefined) {
      return { kind: "error", id: this.#id, code: failure.code, message: failure.message, data: failure.data };
    }
    if (method === undefined) return { kind: "response", id: this.#id ?? 0, result: this.#has.get("result") ?? "" };
    return this.#id === null
      ? { kind: "notification", method, params }
      : { kind: "request", id: this.#id, method, params };
  }

  /** The refusal, with the id that it's about only where the frame leaves no doubt: one valid id, and either a call or an answer. */
  refusal(code: number, message: string): FrameError {
    const answer = this.#has.has("result") || this.#has.has("error");
    const call = this.#has.has("method");
    return new FrameError(code, message, this.#idCount === 1 && answer !== call ? this.#id : null, answer && !call);
  }

  #complain(problem: string): void {
    this.#problem ??= problem;
  }

  #judge(): string | undefined {
    const has = this.#has;
    const version = has.get("jsonrpc");
    if (version === undefined || decodeString(version) !== "2.0") this.#complain('"jsonrpc" must be "2.0"');
    const id = has.get("id");
    if (id !== undefined && this.#id === null && id !== "null") {
      this.#complain('"id" must be an integer from 1 to 2**53-1, written without fraction or exponent');
    }
    const params = has.get("params");
    if (params !== undefined && params[0] !== "{") this.#complain('"params" must be an object');
    const answer = has.has("result") || has.has("error");
    const raw = has.get("method");
    if (raw !== undefined) {
      const method = decodeString(raw) ?? "";
      if (method === "" || byteLength(method) > MAX_METHOD_BYTES)
        this.#complain(`"method" must be a string of 1 to ${MAX_METHOD_BYTES} bytes`);
      if (answer) this.#complain('"method" stands beside a result or error');
      if (id === "null") this.#complain("the id of a request is an integer; a notification has none");
      return method;
    }
    if (!answer) this.#complain('it has neither "method", "result" nor "error"');
    else if (has.has("result") && has.has("error")) this.#complain('"result" stands beside "error"');
    else if (params !== undefined) this.#complain('"params" stands in an answer');
    else if (id === undefined) this.#complain("an answer needs an id");
    else if (has.has("result") && id === "null") this.#complain("the id of a result can't be null");
    return undefined;
  }
}

function readId(raw: string): number | null {
  const id = /^[1-9][0-9]{0,15}$/.test(raw) ? Number(raw) : Number.NaN;
  return Number.isSafeInteger(id) ? id : null;
}

function decodeString(raw: string): string | null {
  return raw[0] === '"' ? (JSON.parse(raw) as string) : null;
}

/** Raw text of an error's data: an object whose "builtin" and "type", where it has them, are strings. */
const errorData: Reader<string> = (raw, path) => {
  for (const [name, value] of entries(raw, path)) {
    if (name === "builtin" || name === "type") string(value, `${path}.${name}`);
  }
  return raw;
};

const readErrorObject = object({ code: integer(-(2 ** 31), 2 ** 31 - 1), message: string, data: optional(errorData) });

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
