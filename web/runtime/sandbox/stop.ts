/**
 * Ends what a snippet does, from inside the worker. CPython asks for signals every few hundred instructions; the answer is
 * "interrupt" once, at the deadline (KeyboardInterrupt: the traceback then shows where the time went), and an error that nobody can catch when
 * the run goes on in spite of it, or when the page says so. Loops inside C code don't ask; the page terminates the worker for them.
 */

const SIGINT = 2;

export class Stop {
  readonly #flags: Int32Array | null;
  readonly #stopped: () => void;
  #deadline = Number.POSITIVE_INFINITY;
  #killAt = Number.POSITIVE_INFINITY;

  /** `stopped` is called right before the worker dies of its own accord. */
  constructor(flags: Int32Array | null, stopped: () => void) {
    this.#flags = flags;
    this.#stopped = stopped;
  }

  /** Starts the clock of a run, in ms from now. */
  arm(timeout: number, grace: number): void {
    this.#deadline = performance.now() + timeout;
    this.#killAt = this.#deadline + grace;
  }

  /** The plumbing runs now: it must not be interrupted, but a run that hides in it can still be killed. */
  disarm(): void {
    this.#deadline = Number.POSITIVE_INFINITY;
  }

  /** The run is over. */
  rest(): void {
    this.#deadline = this.#killAt = Number.POSITIVE_INFINITY;
  }

  get resting(): boolean {
    return this.#killAt === Number.POSITIVE_INFINITY;
  }

  /** CPython's question whether a signal is pending. */
  signal(): number {
    this.check();
    if (performance.now() <= this.#deadline) return 0;
    this.#deadline = Number.POSITIVE_INFINITY; // once: a second interrupt would hit the plumbing
    return SIGINT;
  }

  /** Throws when the worker has to die. */
  check(): void {
    const asked = this.#flags !== null && Atomics.load(this.#flags, 0) !== 0;
    if (!asked && performance.now() <= this.#killAt) return;
    this.#killAt = Number.POSITIVE_INFINITY;
    this.#stopped();
    // pyodide treats an error with this mark as its own end: Python can't catch it and runs no further.
    throw Object.assign(new Error("the run was stopped"), { pyodide_fatal_error: true });
  }
}
