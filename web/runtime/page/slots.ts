/**
 * Slots for calls on one connection. Runs share the connection's bound of unanswered calls; a call over it waits here for its turn instead of
 * failing. How many wait is bounded by what each run may have in flight.
 */
export class Slots {
  #free: number;
  #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves to the function that gives the slot back. Rejects when `signal` aborts first. */
  async take(signal: AbortSignal): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    };
  }

  #turn(signal: AbortSignal): Promise<void> {
    const cancelled = new Error("cancelled while it waited for other calls");
    if (signal.aborted) return Promise.reject(cancelled);
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== go);
        reject(cancelled);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.push(go);
    });
  }
}
