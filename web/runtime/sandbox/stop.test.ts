import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Stop } from "./stop.ts";

const SIGINT = 2;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function start(flags: Int32Array | null = null) {
  const stopped = vi.fn();
  const stop = new Stop(flags, stopped);
  stop.arm(100, 20);
  return { stop, stopped };
}

test("interrupts once, right after the deadline", () => {
  const { stop } = start();
  vi.advanceTimersByTime(100);
  expect(stop.signal()).toBe(0);
  vi.advanceTimersByTime(1);
  expect(stop.signal()).toBe(SIGINT);
  expect(stop.signal()).toBe(0);
});

test("kills what goes on after the grace, with an error that pyodide takes for its end", () => {
  const { stop, stopped } = start();
  vi.advanceTimersByTime(121);
  expect(() => stop.signal()).toThrow(expect.objectContaining({ pyodide_fatal_error: true }));
  expect(stopped).toHaveBeenCalledOnce();
  expect(stop.resting).toBe(true);
});

test("doesn't interrupt the plumbing, but kills it", () => {
  const { stop } = start();
  stop.disarm();
  vi.advanceTimersByTime(110);
  expect(stop.signal()).toBe(0);
  vi.advanceTimersByTime(20);
  expect(() => stop.check()).toThrow("stopped");
});

test("leaves a worker in peace that has no run", () => {
  const { stop, stopped } = start();
  stop.rest();
  vi.advanceTimersByTime(1e6);
  expect(stop.signal()).toBe(0);
  expect(stop.resting).toBe(true);
  expect(stopped).not.toHaveBeenCalled();
});

test("kills when the page raises its flag", () => {
  const flags = new Int32Array(new SharedArrayBuffer(4));
  const { stop, stopped } = start(flags);
  expect(stop.signal()).toBe(0);
  Atomics.store(flags, 0, 1);
  expect(() => stop.signal()).toThrow("stopped");
  expect(stopped).toHaveBeenCalledOnce();
});
