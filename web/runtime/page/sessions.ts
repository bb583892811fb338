/**
 * Keeps a worker for each session, so that its runs share a namespace. A run that doesn't end by itself takes its worker with it: then a
 * standby takes over the state that was saved before the run. That one way serves time limits, stops, crashes and floods alike.
 */

import { Code, RpcError } from "../wire/errors.ts";
import type { RunFailure, RunRequest, SessionState } from "../wire/methods.ts";
import { formatBytes } from "../wire/size.ts";
import type { Frame, Swapped } from "./frame-link.ts";
import { executeInSession, later, type RunHost, type RunOutcome, type SessionEnd } from "./run.ts";
import type { Standby } from "./standby.ts";

/** The host keeps fewer; each has a worker with all that it holds, and a copy of it. */
export const MAX_SESSIONS = 32;
/** A rollback takes some 50 ms. The answer of a run that has to be rolled back waits for it, but no longer than this. */
const SWAP_WAIT_MS = 120;

interface Taken {
  readonly frame: Frame;
  readonly standby: Standby;
  /** What its Python has bound. */
  readonly catalog: string;
}

/** What sessions need of the executor. */
export interface Supply {
  take(signal: AbortSignal): Promise<Taken>;
  /** Tells that standbys were taken. */
  refill(): void;
  /** What Python should have bound now. */
  catalog(): string;
}

interface Session {
  readonly key: string;
  /** Missing before the first run, and after a loss. */
  seat: Taken | undefined;
  /** Of this session, lost ones and all. The worker's states go by that number. */
  run: number;
  /** Runs whose effects the namespace has. */
  kept: number;
  busy: boolean;
  /** Ends the run that is under way. */
  readonly dropped: AbortController;
  /** Resolves when a rollback is over, if one is under way. */
  moving: Promise<unknown> | undefined;
  /** Why its state couldn't be restored, as of its last run. */
  trouble: string;
  /** Why the namespace is gone that it had, until it was told. */
  gone: string;
  /** What else the next run tells. */
  news: string;
}

export class Sessions {
  readonly #supply: Supply;
  readonly #sessions = new Map<string, Session>();

  constructor(supply: Supply) {
    this.#supply = supply;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Runs a snippet in a session, a new one if there's none of that key. Rejects only when it can't start. */
  async run(key: string, request: RunRequest, host: RunHost, signal: AbortSignal): Promise<RunOutcome> {
    const session = this.#sessions.get(key) ?? this.#begin(key);
    if (session.busy) {
      throw RpcError.of(
        Code.busy,
        "RuntimeError",
        "BusyError",
        "this session runs a snippet already: wait for it to end",
      );
    }
    session.busy = true;
    try {
      await session.moving;
      const seat = session.seat ?? (await this.#sit(session, signal));
      this.#bind(session, seat);
      const first = session.kept === 0;
      const end = await executeInSession(
        seat.standby,
        request,
        host,
        seat.frame,
        AbortSignal.any([signal, session.dropped.signal]),
        { run: ++session.run, first, maxBytes: request.session_max_bytes ?? 0 },
      );
      return await this.#conclude(session, seat, first, end, request);
    } finally {
      session.busy = false;
      if (session.seat === undefined && session.moving === undefined && session.gone === "") this.#sessions.delete(key);
    }
  }

  /** Ends a session, and the run that is under way in it. Returns how many runs its namespace is made of. */
  reset(key: string): number {
    const session = this.#sessions.get(key);
    if (session === undefined) return 0;
    const { kept } = session;
    this.#sessions.delete(key);
    session.dropped.abort(new Error("its session was reset"));
    if (!session.busy) void Promise.resolve(session.moving).then(() => this.#leave(session, 0));
    return kept;
  }

  #begin(key: string): Session {
    if (this.#sessions.size >= MAX_SESSIONS) {
      const message = `this page has ${MAX_SESSIONS} sessions, its limit: reset one, or run fresh`;
      throw RpcError.of(Code.busy, "RuntimeError", "BusyError", message);
    }
    const session: Session = {
      key,
      seat: undefined,
      run: 0,
      kept: 0,
      busy: false,
      dropped: new AbortController(),
      moving: undefined,
      trouble: "",
      gone: "",
      news: "",
    };
    this.#sessions.set(key, session);
    return session;
  }

  async #sit(session: Session, signal: AbortSignal): Promise<Taken> {
    const seat = await this.#supply.take(signal);
    this.#supply.refill();
    session.seat = seat;
    session.kept = 0;
    return seat;
  }

  /** The catalog may have changed since the session's last run. */
  #bind(session: Session, seat: Taken): void {
    const catalog = this.#supply.catalog();
    if (seat.catalog === catalog) return;
    seat.standby.send({ t: "bind", catalog });
    session.seat = { ...seat, catalog };
  }

  /** Decides what becomes of the session after a run. */
  async #conclude(
    session: Session,
    seat: Taken,
    first: boolean,
    end: SessionEnd,
    { session_max_bytes: maxBytes = 0 }: RunRequest,
  ): Promise<RunOutcome> {
    const { outcome, report } = end;
    if (session.dropped.signal.aborted || (end.reset && end.clean)) {
      this.#leave(session, end.patience);
      session.kept = 0;
      return { ...outcome, session: "reset" };
    }
    const excess = end.clean && report !== undefined ? tooMuch(report.bytes, maxBytes, report.room) : "";
    if (end.clean && report !== undefined && excess === "") {
      seat.standby.release(session.run);
      seat.standby.listen(
        () => {},
        (reason) => this.#died(session, reason),
      );
      session.trouble = report.trouble;
      session.kept++;
      const gone = session.gone;
      session.gone = "";
      const notes = [
        session.news,
        gone === "" ? "" : `the namespace that there was is gone: ${gone}`,
        report.trouble === ""
          ? ""
          : `a run that times out or is stopped would lose this session, because ${report.trouble}`,
      ];
      session.news = "";
      return told(outcome, first ? "new" : "kept", notes, maxBytes);
    }
    const failed = excess === "" ? outcome : { ...outcome, ok: false, value: "null", error: memoryError(excess) };
    return this.#rollBack(session, seat, end.clean ? 0 : end.patience, failed);
  }

  async #rollBack(session: Session, seat: Taken, patience: number, outcome: RunOutcome): Promise<RunOutcome> {
    let problem = session.trouble;
    let note = "";
    if (problem === "") {
      const swap = this.#swap(session, seat, patience).finally(() => {
        session.moving = undefined;
      });
      session.moving = swap;
      const swapped = await Promise.race([swap, alarm(seat.frame, SWAP_WAIT_MS)]);
      if (swapped !== undefined) {
        problem = swapped.problem;
        note = notesOf(swapped);
      } else {
        void swap.then((late) => {
          session.news = notesOf(late);
        });
      }
    } else this.#leave(session, patience);
    const effects = "what it did on the host (calls, saved results) stands";
    if (problem !== "") {
      session.gone = "";
      session.seat = undefined;
      note = `the session couldn't be restored (${problem}): the next run begins a new one`;
      return { ...outcome, error: and(outcome.error, `${note}; ${effects}`), session: "lost", sessionNote: note };
    }
    const message = `the session's namespace was rolled back: it's as before this run, while ${effects}`;
    return { ...outcome, error: and(outcome.error, message), session: "rolled_back", sessionNote: note };
  }

  /** Never rejects. When it fails, the session has no worker any more. */
  async #swap(session: Session, seat: Taken, patience: number): Promise<Swapped> {
    session.seat = undefined;
    let next: Taken;
    try {
      next = await this.#supply.take(new AbortController().signal);
    } catch (error) {
      seat.standby.end(patience);
      return this.#lose(session, error instanceof Error ? error.message : String(error));
    }
    this.#supply.refill();
    next.standby.listen(
      () => {},
      (reason) => this.#died(session, reason),
    );
    const swapped = await seat.standby.handOver(next.standby, session.run, patience);
    if (swapped.problem !== "") {
      next.standby.end(0);
      return this.#lose(session, swapped.problem);
    }
    session.seat = { ...next, catalog: seat.catalog };
    return swapped;
  }

  #lose(session: Session, problem: string): Swapped {
    session.gone = problem;
    session.seat = undefined;
    return { problem, lost: [], older: false };
  }

  /** Its worker died while nothing ran. */
  #died(session: Session, reason: string): void {
    session.gone = reason.split("\n", 1)[0] ?? reason;
    this.#leave(session, 0);
  }

  #leave(session: Session, patience: number): void {
    const { seat } = session;
    session.seat = undefined;
    if (seat !== undefined) later(() => seat.standby.end(patience));
  }
}

function alarm(frame: Frame, ms: number): Promise<undefined> {
  return new Promise((resolve) => frame.after(ms, () => resolve(undefined)));
}

function notesOf({ older, lost }: Swapped): string {
  return joined([
    older ? "the run before the one that was stopped had not ended, though it said so, and was undone as well" : "",
    lost.length === 0 ? "" : `lost JavaScript objects, which raise an error when they're used: ${list(lost)}`,
  ]);
}

function tooMuch(bytes: number, maxBytes: number, room: boolean): string {
  const wayOut =
    "del what isn't needed any more, keep data on the host with save_result, await reset_session(), or use a fresh run";
  if (maxBytes > 0 && bytes > maxBytes) {
    const [has, may] = [formatBytes(bytes), formatBytes(maxBytes)];
    return `the session would hold ${has} of memory and files, more than its limit of ${may} ([session] max_memory_mb): ${wayOut}`;
  }
  return room ? "" : `the session would leave no memory for another run: ${wayOut}`;
}

function memoryError(message: string): RunFailure {
  return { type: "SessionMemoryError", builtin: "MemoryError", message, traceback: "" };
}

function told(outcome: RunOutcome, session: SessionState, notes: readonly string[], maxBytes: number): RunOutcome {
  const { error } = outcome;
  const full =
    error?.type === "MemoryError" && session === "kept"
      ? and(
          error,
          `earlier runs of this session hold memory, too${maxBytes > 0 ? `, of ${formatBytes(maxBytes)} in all ([session] max_memory_mb)` : ""}: ` +
            "del what isn't needed any more, await reset_session(), or use a fresh run",
        )
      : error;
  return { ...outcome, error: full, session, sessionNote: joined(notes) };
}

function joined(notes: readonly string[]): string {
  return notes.filter((note) => note !== "").join("; ");
}

function and(error: RunFailure | null, more: string): RunFailure | null {
  return error === null ? null : { ...error, message: `${error.message}; ${more}` };
}

function list(names: readonly string[]): string {
  const shown = [...new Set(names)].slice(0, 5);
  const rest = names.length - shown.length;
  return shown.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}
