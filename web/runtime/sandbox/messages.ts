/**
 * What page, frame and workers say to each other. The page trusts the frame, which runs only our own code. Nobody trusts a worker: Python
 * holds its globals, so every message from one is read by worker-messages.ts (in the page) or checked in place (in the frame).
 */

import type { PythonSources } from "../python/install.ts";
import type { SavedState } from "./checkpoint.ts";

/** What the page fetches and hands to the frame, which has no network. */
export interface Assets {
  /** pyodide.asm.wasm; transferred. */
  readonly wasm: ArrayBuffer;
  /** python_stdlib.zip; transferred. */
  readonly stdlib: ArrayBuffer;
  /** Source of pyodide.asm.mjs, pyodide.mjs and worker.js. */
  readonly asm: string;
  readonly loader: string;
  readonly worker: string;
  /** Toolplane's Python modules. */
  readonly python: PythonSources;
  /** pyodide's `info` of its lock file. */
  readonly lockInfo: Readonly<Record<string, string>>;
}

/** How a worker gets its interpreter: loads it and makes the base snapshot, restores that snapshot, or just loads it. */
export type Mode = "make" | "restore" | "plain";

export type ToFrame =
  | { readonly t: "boot"; readonly assets: Assets }
  /** Caps the memory of each worker that is started from now on. */
  | { readonly t: "limit"; readonly maxMemoryMb: number }
  /** Starts a worker; the message carries its end of the port to the page. */
  | { readonly t: "spawn"; readonly id: number; readonly mode: Mode }
  /** Ends a worker. When it may be busy, it gets `patience` ms to stop by itself: Chromium burns a core after a hard stop. */
  | { readonly t: "end"; readonly id: number; readonly patience: number }
  /** Ends worker `from`, as end does, and gives the state that it saved before its run of that number to worker `to`. */
  | { readonly t: "swap"; readonly from: number; readonly to: number; readonly run: number; readonly patience: number }
  /** The worker's runs up to that number stand: what it saved before them isn't needed. */
  | { readonly t: "release"; readonly id: number; readonly run: number }
  /** Answers with the same id after `ms`, also where timers of pages are held back. */
  | { readonly t: "alarm"; readonly id: number; readonly ms: number }
  | { readonly t: "disarm"; readonly id: number };

export type FromFrame =
  | { readonly t: "booted"; readonly isolated: boolean; readonly compileMs: number }
  /** The worker made the base snapshot; the frame keeps it. */
  | { readonly t: "base"; readonly id: number; readonly bytes: number }
  /** The worker can't go on: its load failed, or its script did. */
  | { readonly t: "failed"; readonly id: number; readonly message: string }
  /** The worker sent the frame something that no worker of ours sends. */
  | { readonly t: "forged"; readonly id: number }
  /** The answer to swap, with the id of the worker that took over. `problem` is "" when it did. */
  | {
      readonly t: "swapped";
      readonly id: number;
      readonly lost: readonly string[];
      readonly problem: string;
      /** The run never began, for an earlier one that only seemed to be over; the state is that before that one. */
      readonly older: boolean;
    }
  | { readonly t: "alarm"; readonly id: number }
  | { readonly t: "fault"; readonly message: string };

/** First message to a worker, from the frame. */
export interface Init {
  readonly t: "init";
  readonly mode: Mode;
  readonly port: MessagePort;
  /**
   * Int32s: [0] is 1 to ask the worker to stop; [1] counts the beginnings and ends of saves, so it's odd while the buffer of the last
   * state is written over. Absent where the browser has no shared memory.
   */
  readonly flags?: SharedArrayBuffer;
  /** The worker's own copy of the base snapshot, for mode "restore". */
  readonly base?: ArrayBuffer;
  /** Its memory can't grow beyond `maxMemoryMb`, in MiB. */
  readonly module: WebAssembly.Module;
  readonly maxMemoryMb: number;
  readonly stdlib: ArrayBuffer;
  readonly asmUrl: string;
  readonly loaderUrl: string;
  readonly python: PythonSources;
  readonly lockInfo: Readonly<Record<string, string>>;
}

/** Worker → frame. `stopped` is its last word before it ends on request: no event would tell. */
export type WorkerToFrame =
  | { readonly t: "base"; readonly base: ArrayBuffer }
  | { readonly t: "failed"; readonly message: string }
  | { readonly t: "stopped" }
  /** The state before the run of that number, in a session. */
  | { readonly t: "state"; readonly run: number; readonly state: SavedState; readonly saves: number }
  /** The answer to restore: JavaScript objects that became tombstones, or why it failed ("" when it didn't). */
  | { readonly t: "restored"; readonly lost: readonly string[]; readonly problem: string };

/** Frame → worker, after Init, in sessions only. */
export type ToSessionWorker =
  | { readonly t: "restore"; readonly state: SavedState }
  /** Of a state that isn't needed any more, where it had to be moved. */
  | { readonly t: "buffer"; readonly buffer: ArrayBuffer };

/** What makes a run one in a session. */
export interface SessionRun {
  /** Counts the runs of the session, from 1. */
  readonly run: number;
  /** The interpreter is pristine. */
  readonly first: boolean;
  /** Memory that the session may have; 0 for no limit of its own. */
  readonly maxBytes: number;
}

/** Page → worker, over the worker's port. */
export type ToWorker =
  | { readonly t: "ping" }
  | { readonly t: "bind"; readonly catalog: string }
  | {
      readonly t: "run";
      readonly request: string;
      readonly timeout: number;
      readonly grace: number;
      readonly maxOutput: number;
      /** Missing for a run in an interpreter of its own. */
      readonly session?: SessionRun;
    }
  | { readonly t: "settle"; readonly id: number; readonly ok: boolean; readonly payload: string };

/** Worker → page, over the worker's port. */
export type FromWorker =
  | { readonly t: "ready"; readonly loadMs: number }
  | { readonly t: "pong" }
  | { readonly t: "call"; readonly id: number; readonly name: string; readonly arguments: string }
  /** The snippet gave up on a call. */
  | { readonly t: "cancel"; readonly id: number }
  | { readonly t: "output"; readonly stream: "stdout" | "stderr"; readonly text: string }
  /** Before the end of a run in a session: how its state is. `trouble` says why it can't be restored elsewhere, "" if it can. */
  | { readonly t: "session"; readonly bytes: number; readonly trouble: string; readonly room: boolean }
  /** The run's end; `truncated` tells that output over the cap was dropped. */
  | { readonly t: "result"; readonly json: string; readonly truncated: boolean }
  /** Time is up and Python only waits for something: there is nothing to interrupt. */
  | { readonly t: "idle" };
