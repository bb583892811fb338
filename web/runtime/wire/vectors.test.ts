import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { decodeFrame, type Message } from "./envelope.ts";
import { FrameError } from "./errors.ts";
import { checkAnswer, checkCall, type Side } from "./methods.ts";
import { Scanner } from "./scanner.ts";

interface Vector {
  name: string;
  direction: Side | "either";
  frame: string;
  valid: boolean;
  code?: number;
  answer_id?: number | null;
  fails_id?: number;
  message_kind?: Message["kind"];
  id?: number;
  method?: string;
  answers?: string;
  raw?: Record<string, string>;
  schema_accepts?: boolean;
}

const folder = path.resolve(import.meta.dirname, "../../../wsbridge/protocol/vectors");
const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
const all = files.map((file) => ({
  file,
  cases: (JSON.parse(readFileSync(path.join(folder, file), "utf8")) as { cases: Vector[] }).cases,
}));

/** Reads the frame and judges it as a receiver does. */
function receive(vector: Vector, side: Side): Message {
  const message = decodeFrame(vector.frame);
  if (vector.answers === undefined) checkCall(side, message);
  else checkAnswer(vector.answers, message);
  return message;
}

function refusalOf(vector: Vector, side: Side): FrameError {
  try {
    receive(vector, side);
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
  throw new Error("accepted");
}

/** The exact text at a path of names, `params.inputs.rows`, found by walking down. */
function rawAt(message: Message, at: string): string | undefined {
  const [root, ...names] = at.split(".");
  let text: string | undefined;
  if (root === "params" && (message.kind === "request" || message.kind === "notification")) text = message.params;
  else if (root === "result" && message.kind === "response") text = message.result;
  else if (root === "error" && message.kind === "error" && names.shift() === "data") text = message.data;
  for (const wanted of names) {
    const scanner: Scanner = new Scanner(text ?? "{}");
    text = undefined;
    scanner.object((name) => {
      const value = scanner.value();
      if (name === wanted) text = value;
    });
  }
  return text;
}

for (const { file, cases } of all) {
  describe(file, () => {
    for (const vector of cases) {
      const sides: Side[] = vector.direction === "either" ? ["client-to-host", "host-to-client"] : [vector.direction];
      test.each(sides)(`${vector.name} (%s)`, (side) => {
        if (vector.valid) {
          const message = receive(vector, side);
          expect(message.kind).toBe(vector.message_kind);
          expect("method" in message ? message.method : undefined).toBe(vector.method);
          expect(("id" in message ? message.id : null) ?? undefined).toBe(vector.id);
          for (const [at, text] of Object.entries(vector.raw ?? {})) expect(rawAt(message, at), at).toBe(text);
        } else {
          const refusal = refusalOf(vector, side);
          expect(refusal.code, refusal.message).toBe(vector.code);
          if (vector.answer_id !== undefined) {
            expect(refusal.answer).toBe(false);
            expect(refusal.id).toBe(vector.answer_id);
          }
          if (vector.fails_id !== undefined) {
            expect(refusal.answer).toBe(true);
            expect(refusal.id).toBe(vector.fails_id);
          }
        }
      });
    }
  });
}

test("there are at least 60 vectors, half of them invalid", () => {
  const vectors = all.flatMap(({ cases }) => cases);
  expect(vectors.length).toBeGreaterThanOrEqual(60);
  expect(vectors.filter((v) => !v.valid).length).toBeGreaterThanOrEqual(30);
  expect(vectors.filter((v) => v.valid).length).toBeGreaterThanOrEqual(30);
});
