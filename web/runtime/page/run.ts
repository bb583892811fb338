/**
 * One run on one worker. The page, not the worker, says which run a message belongs to, when time is up and which calls are open;
 * what the worker says is checked and never trusted.
 */

import type { FromWorker, SessionRun } from "../sandbox/messages.ts";
import { BUILTINS, ClosedError, RpcError } from "../wire/errors.ts";
import { type RunFailure, type RunRequest, runError, type SessionState } from "../wire/methods.ts";
import { boolean, object, optional, raw } from "../wire/shape.ts";
import { byteLength, formatBytes } from "../wire/size.ts";
import { MAX_DEPTH, valueProblem } from "../wire/value.ts";
import type { Frame } from "./frame-link.ts";
import type { Standby } from "./standby.ts";

/** After its deadline a run may still say where the time went, by a KeyboardInterrupt. Then it's ended. */
const GRACE_MS = 120;
/** How long a busy worker gets to see that it should stop, before the browser ends it the hard way. */
const PATIENCE_MS = 60;
/** How far timers and clocks of page and worker may differ. */
const CLOCK_SLACK_MS = 20;
/** A worker that forges more messages than this is ended: it only wants to keep the page busy. */
const MAX_FORGED = 50;
/** Ending a worker and starting the next one wait until the answer has left: on a busy machine it would else stand in line behind them. */
export const ANSWER_FIRST_MS = 5;
const OUTPUT_LIMIT = "OutputLimitError";
const DEFAULT_MAX_CALLS = 10_000;
const DEFAULT_MAX_IN_FLIGHT = 32;

/** What a run reaches outside: capability calls and its live output. */
export interface RunHost {
  call(name: string, args: string, signal: AbortSignal): Promise<string>;
  output(stream: "stdout" | "stderr", text: string): void;
}

export interface RunOutcome {
  readonly ok: boolean;
  /** Raw JSON text; "null" when the run failed. */
  readonly value: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly outputTruncated: boolean;
  readonly tampered: boolean;
  readonly error: RunFailure | null;
  readonly durationMs: number;
  /** Where it ran, and what became of that namespace. */
  readonly session: SessionState;
  /** What a reader should know about the session; "" if there's nothing. */
  readonly sessionNote: string;
}

/** What the worker said of a session's state at the end of a run. */
export type StateReport = FromWorker & { readonly t: "session" };

/** How a run in a session ended. The worker is still there. */
export interface SessionEnd {
  readonly outcome: RunOutcome;
  /** Python ended the run by itself, in time: what it did stands. Otherwise the worker is of no more use, and may be busy for `patience` ms. */
  readonly clean: boolean;
  readonly patience: number;
  /** The snippet asked for a new namespace. */
  readonly reset: boolean;
  readonly report: StateReport | undefined;
}

/** Resolved by the page itself: it's about the page's own session. */
const RESET = "toolplane:session/reset";

const readResult = object({
  ok: boolean,
  value: optional(raw),
  error: optional(runError),
  unawaited: optional(raw),
});

/** Runs the request to its end and gives the worker up. Never rejects: whatever happens is an outcome. */
export function execute(
  standby: Standby,
  request: RunRequest,
  host: RunHost,
  frame: Frame,
  signal: AbortSignal,
): Promise<RunOutcome> {
  return new Promise((resolve) => {
    const over = ({ outcome, patience }: SessionEnd): void => {
      resolve(outcome);
      standby.mute();
      if (patience > 0)
        later(() => standby.end(patience)); // it may still be busy: no moment to lose
      else frame.after(ANSWER_FIRST_MS, () => standby.end(0));
    };
    new Run(standby, request, host, frame, undefined, over).start(signal);
  });
}

/** Runs the request in a session's worker, which stays. Never rejects. The outcome's `session` is for the caller to set. */
export function executeInSession(
  standby: Standby,
  request: RunRequest,
  host: RunHost,
  frame: Frame,
  signal: AbortSignal,
  session: SessionRun,
): Promise<SessionEnd> {
  return new Promise((resolve) => {
    const over = (end: SessionEnd): void => {
      standby.listen(
        () => {},
        () => {},
      );
      resolve(end);
    };
    new Run(standby, request, host, frame, session, over).start(signal);
  });
}

class Run {
  readonly #standby: Standby;
  readonly #request: RunRequest;
  readonly #host: RunHost;
  readonly #frame: Frame;
  readonly #session: SessionRun | undefined;
  readonly #onOver: (end: SessionEnd) => void;
  readonly #maxCalls: number;
  readonly #maxInFlight: number;
  readonly #started = performance.now();
  readonly #calls = new Map<number, AbortController>();
  readonly #texts = { stdout: "", stderr: "" };
  #outputLeft: number;
  #truncated = false;
  #forged = 0;
  #lastCall = 0;
  #callCount = 0;
  #over = false;
  #reset = false;
  #report: StateReport | undefined;
  #interruptTraceback = "";
  #cleanUp: (() => void)[] = [];

  constructor(
    standby: Standby,
    request: RunRequest,
    host: RunHost,
    frame: Frame,
    session: SessionRun | undefined,
    onOver: (end: SessionEnd) => void,
  ) {
    this.#standby = standby;
    this.#request = request;
    this.#host = host;
    this.#frame = frame;
    this.#session = session;
    this.#onOver = onOver;
    this.#outputLeft = request.max_output_bytes;
    this.#maxCalls = request.max_calls || DEFAULT_MAX_CALLS;
    this.#maxInFlight = request.max_calls_in_flight || DEFAULT_MAX_IN_FLIGHT;
  }

  start(signal: AbortSignal): void {
    const { timeout_ms: timeout, max_output_bytes: maxOutput } = this.#request;
    this.#standby.listen(
      (message) => this.#hear(message),
      (message) => this.#crashed(message),
    );
    const onAbort = (): void => this.#cancel(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort);
    this.#cleanUp.push(
      () => signal.removeEventListener("abort", onAbort),
      this.#frame.after(timeout + GRACE_MS, () => this.#timeOut()),
    );
    const session = this.#session;
    this.#standby.send({
      t: "run",
      request: this.#pythonRequest(),
      timeout,
      grace: GRACE_MS,
      maxOutput,
      ...(session === undefined ? {} : { session }),
    });
  }

  #pythonRequest(): string {
    const { code, filename, inputs, previous } = this.#request;
    const limits = JSON.stringify({
      max_depth: MAX_DEPTH,
      max_calls: this.#maxCalls,
      max_calls_in_flight: this.#maxInFlight,
    });
    const before = previous === undefined ? "" : `"previous":${previous},`;
    return `{"code":${JSON.stringify(code)},"filename":${JSON.stringify(filename)},"inputs":${inputs},${before}"limits":${limits}}`;
  }

  #hear(message: FromWorker | null): void {
    if (this.#over) return;
    switch (message?.t) {
      case "call":
        this.#call(message.id, message.name, message.arguments);
        break;
      case "cancel":
        this.#calls.get(message.id)?.abort();
        break;
      case "output":
        this.#print(message.stream, message.text);
        break;
      case "session":
        if (this.#session === undefined || this.#report !== undefined) return this.#tampered();
        this.#report = message;
        break;
      case "result":
        this.#finished(message.json, message.truncated);
        break;
      case "idle":
        // Only the page's clock counts.
        if (this.#overdue(CLOCK_SLACK_MS)) this.#timeOut();
        else this.#tampered();
        break;
      default: // null, or what only a standby says
        this.#tampered();
    }
  }

  #overdue(slack = 0): boolean {
    return performance.now() - this.#started + slack >= this.#request.timeout_ms;
  }

  #tampered(): void {
    this.#forged++;
    if (this.#forged <= MAX_FORGED) return;
    const message = `the run's worker sent more than ${MAX_FORGED} messages that no run sends, and was ended: don't post messages from JavaScript`;
    this.#fail({ type: "SandboxError", builtin: "RuntimeError", message, traceback: "" }, PATIENCE_MS);
  }

  #call(id: number, name: string, args: string): void {
    // Ids only grow, so that an answered call can't be answered again.
    if (id <= this.#lastCall || args[0] !== "{" || valueProblem(args) !== null) return this.#tampered();
    this.#lastCall = id;
    if (name === RESET) return this.#resetSession(id);
    this.#callCount++;
    if (this.#callCount > this.#maxCalls) {
      return this.#settleError(
        id,
        "RuntimeError",
        "CallLimitError",
        `this run made ${this.#maxCalls} capability calls, the limit of one run`,
      );
    }
    if (this.#calls.size >= this.#maxInFlight) {
      return this.#settleError(
        id,
        "RuntimeError",
        "CallLimitError",
        `${this.#maxInFlight} capability calls are in flight, the limit of one run: await some first`,
      );
    }
    const controller = new AbortController();
    this.#calls.set(id, controller);
    const settled = (ok: boolean, payload: string): void => {
      if (!this.#calls.delete(id) || this.#over) return;
      this.#standby.send({ t: "settle", id, ok, payload });
    };
    this.#host.call(name, args, controller.signal).then(
      (value) => settled(true, value),
      (error) => settled(false, errorPayload(error)),
    );
  }

  #resetSession(id: number): void {
    if (this.#session === undefined) {
      const message = "a fresh run has no session to reset: run without fresh, or leave reset_session() out";
      return this.#settleError(id, "ValueError", "SessionError", message);
    }
    this.#reset = true;
    this.#standby.send({ t: "settle", id, ok: true, payload: "null" });
  }

  #settleError(id: number, builtin: string, type: string, message: string): void {
    this.#standby.send({ t: "settle", id, ok: false, payload: JSON.stringify({ message, data: { builtin, type } }) });
  }

  #print(stream: "stdout" | "stderr", text: string): void {
    const bytes = byteLength(text);
    if (bytes > this.#outputLeft) {
      this.#truncated = true;
      if (text.length > this.#outputLeft) return; // the worker cuts to the byte: only a forger sends more
    }
    this.#outputLeft = Math.max(0, this.#outputLeft - bytes);
    this.#texts[stream] += text;
    if (text !== "") this.#host.output(stream, text);
  }

  #finished(json: string, truncated: boolean): void {
    this.#truncated ||= truncated;
    if (this.#session !== undefined && this.#report === undefined)
      return this.#unreadable("it doesn't tell the session's state");
    const problem = valueProblem(json, 1);
    if (problem !== null) return this.#unreadable(problem);
    let result: ReturnType<typeof readResult>;
    try {
      result = readResult(json, "result");
    } catch (error) {
      return this.#unreadable(error instanceof Error ? error.message : String(error));
    }
    const interrupted = result.error?.type === "KeyboardInterrupt";
    if (this.#overdue(interrupted ? CLOCK_SLACK_MS : 0)) {
      this.#interruptTraceback = result.error?.traceback ?? "";
      return this.#timeOut();
    }
    if (result.ok !== (result.error === undefined) || result.ok !== (result.value !== undefined)) {
      return this.#unreadable('it has neither just "value" nor just "error"');
    }
    if (this.#truncated && (result.error === undefined || result.error.type === OUTPUT_LIMIT)) {
      return this.#printedTooMuch(result.error?.traceback ?? "");
    }
    if (result.error === undefined) return this.#end({ ok: true, value: result.value ?? "null", error: null }, 0);
    const builtin = BUILTINS.find((known) => known === result.error?.builtin) ?? "RuntimeError";
    this.#fail({ ...result.error, builtin }, 0);
  }

  #printedTooMuch(traceback: string): void {
    const limit = formatBytes(this.#request.max_output_bytes);
    const message =
      `the run printed more than its limit of ${limit} ([executor] max_output_bytes), of which the first ${limit} are kept: ` +
      "print less, or return the data, or keep it with save_result";
    this.#fail({ type: OUTPUT_LIMIT, builtin: "MemoryError", message, traceback }, 0);
  }

  #unreadable(problem: string): void {
    this.#forged++;
    const message = `the run's result can't be read (${problem}): the snippet changed Toolplane's own modules`;
    this.#fail({ type: "SandboxError", builtin: "RuntimeError", message, traceback: "" }, PATIENCE_MS);
  }

  #timeOut(): void {
    const seconds = this.#request.timeout_ms / 1000;
    const message =
      `the run took longer than its limit of ${seconds} s and was stopped: allow more time (timeout, up to [executor] max_run_timeout), ` +
      "or do less in one run and hand data to the next one with save_result";
    this.#fail(
      { type: "RunTimeoutError", builtin: "TimeoutError", message, traceback: this.#interruptTraceback },
      PATIENCE_MS,
    );
  }

  #cancel(reason: unknown): void {
    const why =
      reason instanceof ClosedError
        ? `the connection to the host ended (${reason.message})`
        : "the caller cancelled it";
    const message = `the run was stopped: ${why}`;
    this.#fail({ type: "RunCancelledError", builtin: "RuntimeError", message, traceback: "" }, PATIENCE_MS);
  }

  #crashed(reason: string): void {
    const line = reason.split("\n", 1)[0] ?? "";
    const cause = line.includes("call stack size") ? "code nested or recursing too deep for its stack" : line;
    const message = `this run's Python interpreter died (${cause}): the next run gets a new one`;
    this.#fail({ type: "InterpreterError", builtin: "RuntimeError", message, traceback: "" }, PATIENCE_MS);
  }

  #fail(error: RunFailure, patience: number): void {
    this.#end({ ok: false, value: "null", error }, patience);
  }

  #end(end: Pick<RunOutcome, "ok" | "value" | "error">, patience: number): void {
    if (this.#over) return;
    this.#over = true;
    for (const clean of this.#cleanUp) clean();
    for (const controller of this.#calls.values()) controller.abort();
    this.#calls.clear();
    const outcome: RunOutcome = {
      ...end,
      ...this.#texts,
      outputTruncated: this.#truncated,
      tampered: this.#forged > 0,
      durationMs: performance.now() - this.#started,
      session: "fresh",
      sessionNote: "",
    };
    this.#onOver({ outcome, clean: patience === 0, patience, reset: this.#reset, report: this.#report });
  }
}

/** An error as Python's settle() takes it, with the host's data carried verbatim. */
function errorPayload(error: unknown): string {
  const message = JSON.stringify((error instanceof Error ? error.message : String(error)).toWellFormed());
  const data = error instanceof RpcError ? error.data : undefined;
  return `{"message":${message},"data":${data ?? '{"builtin":"RuntimeError","type":"ConnectionError"}'}}`;
}

/** Runs `callback` as a task of its own, behind what is being sent: setTimeout is held back in hidden pages. */
export function later(callback: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    callback();
  };
  port2.postMessage(null);
}
