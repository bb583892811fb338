/** Codes of error frames; the same as in wsbridge/protocol/envelope.go. */
export const Code = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  unauthenticated: -32001,
  busy: -32002,
  tooLarge: -32003,
  cancelled: -32800,
  tool: -32010,
} as const;

/** The Python builtins that an error may ask for. A receiver treats anything else as RuntimeError. */
export const BUILTINS = [
  "ValueError",
  "PermissionError",
  "LookupError",
  "TimeoutError",
  "MemoryError",
  "RuntimeError",
] as const;
export type Builtin = (typeof BUILTINS)[number];

/** A call that failed: what an error frame says, on either side of the wire. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  /** The frame's `error.data`, as the JSON text it came in. */
  readonly data: string | undefined;

  constructor(code: number, message: string, data?: string) {
    super(message);
    this.code = code;
    this.data = data;
  }

  /** An error that Python raises as a subclass of `builtin` named `type`. */
  static of(code: number, builtin: Builtin, type: string, message: string): RpcError {
    return new RpcError(code, message, JSON.stringify({ builtin, type }));
  }
}

/** The connection ended, or was never there. */
export class ClosedError extends Error {
  override readonly name = "ClosedError";
}

/** A message that breaks the protocol, and what to do about it. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly code: number;
  /** The request that the refusal is about, where the message leaves no doubt. */
  readonly id: number | null;
  /** It was meant as an answer. Answers are never answered: this side's own request `id` fails instead. */
  readonly answer: boolean;

  constructor(code: number, message: string, id: number | null = null, answer = false) {
    super(message);
    this.code = code;
    this.id = id;
    this.answer = answer;
  }
}
