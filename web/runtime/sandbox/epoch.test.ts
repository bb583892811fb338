import { expect, test } from "vitest";
import { guardFinalizers, raiseEpoch } from "./epoch.ts";

/** A registry whose collections the test says. */
class Manual<T> {
  static held: { value: unknown; token: unknown }[] = [];
  readonly #cleanUp: (value: T) => void;
  constructor(cleanUp: (value: T) => void) {
    this.#cleanUp = cleanUp;
  }
  register(_target: WeakKey, value: T, token?: WeakKey): void {
    Manual.held.push({ value, token });
  }
  unregister(): boolean {
    return true;
  }
  collect(): void {
    for (const { value } of Manual.held.splice(0)) this.#cleanUp(value as T);
  }
}

test("what is from before a restore cleans nothing up", () => {
  const scope = { FinalizationRegistry: Manual as unknown as typeof FinalizationRegistry };
  guardFinalizers(scope);
  const cleaned: string[] = [];
  const registry = new scope.FinalizationRegistry<string>((value) => cleaned.push(value));
  const collect = (): void => (registry as unknown as Manual<string>).collect();
  const token = {};
  registry.register({}, "first", token);
  expect(Manual.held[0]?.token).toBe(token);
  collect();
  registry.register({}, "before");
  raiseEpoch();
  registry.register({}, "after");
  collect();
  expect(cleaned).toEqual(["first", "after"]);
});

test("the real one takes targets without a token", () => {
  const scope = { FinalizationRegistry };
  guardFinalizers(scope);
  const registry = new scope.FinalizationRegistry(() => {});
  const target = {};
  registry.register(target, 1);
  expect(registry.unregister(target)).toBe(false);
  registry.register(target, 1, target);
  expect(registry.unregister(target)).toBe(true);
});
