/**
 * One JSON-RPC connection over a WebSocket: calls and answers in both directions at once. It knows no method of Toolplane.
 *
 * Every wait is bounded: at most `maxInFlight` unanswered requests in each direction, at most `maxFrameBytes` a frame, and at most
 * BUFFERED_FRAMES full frames waiting in the socket. What goes over a bound is refused at once, and the other calls go on unharmed.
 */

import { decodeFrame, encodeError, encodeNotification, encodeRequest, encodeResult, type Message } from "./envelope.ts";
import { ClosedError, Code, FrameError, RpcError } from "./errors.ts";
import { Method, readCancel } from "./methods.ts";
import { fits } from "./size.ts";

/** The part of a WebSocket that is used; its events are message, close and error. */
export type Socket = EventTarget & Pick<WebSocket, "bufferedAmount" | "send" | "close">;

/**
 * Answers a request with the raw JSON text of its result, or throws RpcError or FrameError. `params` is undefined when the frame has none;
 * `signal` aborts when the other side cancels and when the connection ends.
 */
export type Handler = (params: string | undefined, signal: AbortSignal) => Promise<string>;
export type NotificationHandler = (params: string | undefined) => void;

export interface Limits {
  maxFrameBytes: number;
  maxInFlight: number;
}

/** What a connection may do before the host's answer to hello names its real limits. */
export const DEFAULT_LIMITS: Limits = { maxFrameBytes: 16 * 1024 * 1024, maxInFlight: 64 };

const BUFFERED_FRAMES = 8;
// {"jsonrpc":"2.0","id":9007199254740991,"result":}
const MAX_ANSWER_ENVELOPE = 64;

// Close codes of RFC 6455.
const UNSUPPORTED_DATA = 1003;

interface Pending {
  resolve(result: string): void;
  reject(error: Error): void;
}

export class Connection {
  limits: Limits = { ...DEFAULT_LIMITS };
  readonly #socket: Socket;
  readonly #handlers = new Map<string, Handler>();
  readonly #notifications = new Map<string, NotificationHandler>();
  readonly #calls = new Map<number, Pending>();
  readonly #answering = new Map<number, AbortController>();
  readonly #listeners = new AbortController();
  readonly #closed: Promise<ClosedError>;
  #settleClosed: (error: ClosedError) => void = () => {};
  #error: ClosedError | null = null;
  #nextId = 1;

  /** Takes over an open socket. */
  constructor(socket: Socket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
    const { signal } = this.#listeners;
    socket.addEventListener("message", (event) => this.#receive((event as MessageEvent<unknown>).data), { signal });
    socket.addEventListener("close", (event) => this.#closedByHost(event as CloseEvent), { signal });
    socket.addEventListener("error", () => this.#end("the connection failed"), { signal });
  }

  /** Resolves, with the reason, once the connection has ended. It never rejects. */
  get closed(): Promise<ClosedError> {
    return this.#closed;
  }

  get isOpen(): boolean {
    return this.#error === null;
  }

  handle(method: string, handler: Handler): void {
    this.#handlers.set(method, handler);
  }

  onNotification(method: string, handler: NotificationHandler): void {
    this.#notifications.set(method, handler);
  }

  /**
   * Calls the other side with raw params and resolves to the raw text of the result.
   *
   * Rejects with RpcError when the other side refuses, when the frame would be too large or too many calls are unanswered (nothing is sent
   * then), or when `signal` aborts (the other side is told); with ClosedError when the connection ends first.
   */
  call(method: string, params: string, signal?: AbortSignal): Promise<string> {
    if (this.#error !== null) return Promise.reject(this.#error);
    if (signal?.aborted) return Promise.reject(cancelled(method));
    if (this.#calls.size >= this.limits.maxInFlight) {
      const limit = this.limits.maxInFlight;
      return Promise.reject(busy(`${method}: ${limit} calls are unanswered already, the limit: wait for some of them`));
    }
    const id = this.#nextId++;
    const frame = encodeRequest(id, method, params);
    const problem = this.#unsendable(frame, method);
    if (problem !== null) return Promise.reject(problem);
    return new Promise<string>((resolve, reject) => {
      const onAbort = (): void => {
        if (!this.#calls.delete(id)) return;
        if (this.#error === null) this.#socket.send(encodeNotification(Method.cancel, `{"id":${id}}`));
        reject(cancelled(method));
      };
      const settle = (): void => signal?.removeEventListener("abort", onAbort);
      this.#calls.set(id, {
        resolve: (result) => {
          settle();
          resolve(result);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      signal?.addEventListener("abort", onAbort);
      this.#socket.send(frame);
    });
  }

  /** Sends a notification. Returns whether it was sent: false when the connection is closed or a limit forbids it. */
  notify(method: string, params: string): boolean {
    if (this.#error !== null) return false;
    const frame = encodeNotification(method, params);
    if (this.#unsendable(frame, method) !== null) return false;
    this.#socket.send(frame);
    return true;
  }

  /** Whether a result may be sent as an answer; the frame around it counts. */
  fitsAnswer(result: string): boolean {
    return fits(result, this.limits.maxFrameBytes - MAX_ANSWER_ENVELOPE);
  }

  /** Closes the socket. Calls in flight reject with ClosedError, requests being answered abort. */
  close(code = 1000, reason = ""): void {
    if (this.#error !== null) return;
    this.#socket.close(code, reason);
    this.#end(reason === "" ? "the connection was closed" : reason);
  }

  #unsendable(frame: string, method: string): RpcError | null {
    const limit = this.limits.maxFrameBytes;
    if (!fits(frame, limit)) {
      const message = `${method}: the message is larger than ${limit} bytes, the limit of one frame: send less, or send it in parts`;
      return RpcError.of(Code.tooLarge, "ValueError", "FrameTooLargeError", message);
    }
    if (this.#socket.bufferedAmount > limit * BUFFERED_FRAMES)
      return busy(`${method}: the host isn't reading: wait for earlier calls`);
    return null;
  }

  #closedByHost({ code, reason }: CloseEvent): void {
    this.#end(`the host closed the connection (${code}${reason ? `: ${reason}` : ""})`);
  }

  #end(reason: string): void {
    if (this.#error !== null) return;
    const error = new ClosedError(reason);
    this.#error = error;
    this.#listeners.abort();
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
    for (const controller of this.#answering.values()) controller.abort(error);
    this.#answering.clear();
    this.#settleClosed(error);
  }

  #receive(data: unknown): void {
    if (typeof data !== "string") {
      this.close(UNSUPPORTED_DATA, "only text frames are spoken here");
      return;
    }
    let message: Message;
    try {
      message = decodeFrame(data);
    } catch (error) {
      this.#refuse(error as FrameError);
      return;
    }
    switch (message.kind) {
      case "response":
        this.#take(message.id)?.resolve(message.result);
        break;
      case "error":
        if (message.id !== null)
          this.#take(message.id)?.reject(new RpcError(message.code, message.message, message.data));
        break;
      case "notification":
        this.#notified(message.method, message.params);
        break;
      case "request":
        void this.#answer(message.id, message.method, message.params);
    }
  }

  #refuse({ code, message, id, answer }: FrameError): void {
    if (!answer) this.#reply(encodeError(id, code, message));
    else if (id !== null)
      this.#take(id)?.reject(new RpcError(code, `the host's answer breaks the protocol: ${message}`));
    else console.warn(`dropped an answer that breaks the protocol: ${message}`);
  }

  #take(id: number): Pending | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    return call;
  }

  #notified(method: string, params: string | undefined): void {
    try {
      const handler = this.#notifications.get(method);
      if (method === Method.cancel) this.#answering.get(readCancel(params).id)?.abort();
      else if (handler !== undefined) handler(params);
      else if (this.#handlers.has(method)) throw new FrameError(Code.invalidRequest, "a request needs an id");
      else throw new FrameError(Code.methodNotFound, "unknown method");
    } catch (error) {
      // A notification has no answer: a broken one is dropped, and the console of a person who looks for it says so.
      console.warn(`${method}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #answer(id: number, method: string, params: string | undefined): Promise<void> {
    const handler = this.#handlers.get(method);
    if (handler === undefined && (method === Method.cancel || this.#notifications.has(method))) {
      return this.#reply(encodeError(id, Code.invalidRequest, `${method} is a notification, it has no id`));
    }
    if (handler === undefined)
      return this.#reply(encodeError(id, Code.methodNotFound, `unknown method ${JSON.stringify(method)}`));
    if (this.#answering.has(id)) {
      return this.#reply(encodeError(id, Code.invalidRequest, `request ${id} is being answered already`));
    }
    if (this.#answering.size >= this.limits.maxInFlight) {
      const { code, message, data } = busy(
        `${method}: ${this.limits.maxInFlight} requests are being answered, the limit`,
      );
      return this.#reply(encodeError(id, code, message, data));
    }
    const controller = new AbortController();
    this.#answering.set(id, controller);
    let frame: string;
    try {
      frame = encodeResult(id, await handler(params, controller.signal));
      const problem = this.#unsendable(frame, method);
      if (problem !== null) throw problem;
    } catch (error) {
      frame = encodeFailure(id, error);
    }
    if (this.#answering.get(id) === controller) this.#answering.delete(id);
    this.#reply(frame);
  }

  #reply(frame: string): void {
    if (this.#error === null) this.#socket.send(frame);
  }
}

function encodeFailure(id: number, error: unknown): string {
  if (error instanceof RpcError) return encodeError(id, error.code, error.message, error.data);
  if (error instanceof FrameError) return encodeError(id, error.code, error.message);
  return encodeError(id, Code.internal, error instanceof Error ? error.message : String(error));
}

function busy(message: string): RpcError {
  return RpcError.of(Code.busy, "RuntimeError", "BusyError", message);
}

function cancelled(method: string): RpcError {
  return RpcError.of(Code.cancelled, "RuntimeError", "CancelledError", `${method} was cancelled`);
}
