/**
 * Marks what JavaScript's garbage collector tells about by the state that it belongs to. pyodide frees Python objects when their proxies
 * are collected; after a restore, a proxy from before it must not free what happens to be at its address now.
 */

interface Held {
  readonly epoch: number;
  readonly value: unknown;
}

let epoch = 0;

/** Proxies that exist now free nothing any more. */
export function raiseEpoch(): void {
  epoch++;
}

/** Replaces FinalizationRegistry in `scope`. Before pyodide is loaded, which makes its registries once. */
export function guardFinalizers(scope: { FinalizationRegistry: typeof FinalizationRegistry }): void {
  const Native = scope.FinalizationRegistry;
  scope.FinalizationRegistry = class<T> extends Native<T> {
    constructor(cleanUp: (value: T) => void) {
      super((held) => {
        const { epoch: then, value } = held as unknown as Held;
        if (then === epoch) cleanUp(value as T);
      });
    }
    override register(target: WeakKey, value: T, token?: WeakKey): void {
      const held: Held = { epoch, value };
      if (token === undefined) super.register(target, held as unknown as T);
      else super.register(target, held as unknown as T, token);
    }
  };
}
