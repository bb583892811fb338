import { expect, test } from "vitest";
import { Slots } from "./slots.ts";

const never = new AbortController().signal;

test("calls over the bound wait for their turn, first come first served", async () => {
  const slots = new Slots(2);
  const releases = [await slots.take(never), await slots.take(never)];
  const order: number[] = [];
  const waiting = [1, 2, 3].map((n) =>
    slots.take(never).then((release) => {
      order.push(n);
      release();
    }),
  );
  await Promise.resolve();
  expect(order).toEqual([]);
  releases[0]?.();
  await Promise.all(waiting);
  expect(order).toEqual([1, 2, 3]);
});

test("a slot that is given back twice counts once", async () => {
  const slots = new Slots(1);
  const release = await slots.take(never);
  release();
  release();
  await slots.take(never);
  const cancel = new AbortController();
  const third = slots.take(cancel.signal);
  cancel.abort();
  await expect(third).rejects.toThrow("cancelled");
});

test("who gives up waiting takes no slot", async () => {
  const slots = new Slots(1);
  const release = await slots.take(never);
  const cancel = new AbortController();
  const gone = slots.take(cancel.signal);
  const stays = slots.take(never);
  cancel.abort();
  await expect(gone).rejects.toThrow("cancelled");
  release();
  await expect(stays).resolves.toBeDefined();
});

test("an aborted signal takes no slot", async () => {
  const slots = new Slots(0);
  await expect(slots.take(AbortSignal.abort())).rejects.toThrow("cancelled");
});
