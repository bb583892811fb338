/**
 * The session page of a headless browser. It holds the socket and the token; Python runs in the sandboxed frame below it.
 * The host opens the page, then calls `toolplane.connect(…)` through the DevTools pipe, so that the token is never part of an address.
 */

import { assetUrl, fetchAssets } from "./page/assets.ts";
import { Executor, MAX_RUNS } from "./page/executor.ts";
import { FrameLink } from "./page/frame-link.ts";
import { type HostInfo, type Kind, openSession } from "./page/session.ts";
import { openSocket } from "./page/socket.ts";
import { Connection } from "./wire/connection.ts";

export interface ConnectOptions {
  readonly token: string;
  readonly kind?: Kind;
  readonly name?: string;
  readonly version?: string;
  /** Standbys to keep ready, 1 to 16; 2 when missing. */
  readonly pool?: number;
  /** Cap on the memory of each interpreter in MiB, 64 to 4096; 512 when missing. */
  readonly max_memory_mb?: number;
  /** Address of the host's socket; /ws of the page's own origin when missing. */
  readonly websocket?: string;
  /** false loads each worker plainly, as where a snapshot can't be made. */
  readonly snapshot?: boolean;
}

// At once: the files and the compiler need seconds that no session should wait for.
const executor = new Executor(async () => (await FrameLink.open(assetUrl("frame.html"), fetchAssets())).frame);

let current: Connection | undefined;
let connecting = false;

/** Opens the session. Resolves after hello; the host hears by executor.status when the first run can start. */
async function connect(options: ConnectOptions): Promise<HostInfo> {
  if (connecting || current?.isOpen) throw new Error("this page is connected already");
  const { token, kind = "headless", name = "toolplane-page", version = "0", pool = 2, snapshot = true } = options;
  const memory = options.max_memory_mb;
  connecting = true;
  try {
    const connection = new Connection(await openSocket(options.websocket ?? ownSocket()));
    current = connection;
    const settings = {
      size: Math.min(MAX_RUNS, Math.max(1, Math.floor(pool))),
      snapshot,
      ...(memory === undefined ? {} : { maxMemoryMb: Math.min(4096, Math.max(64, Math.floor(memory))) }),
    };
    return await openSession(connection, { token, kind, name, version }, executor, settings);
  } finally {
    connecting = false;
  }
}

function ownSocket(): string {
  const url = new URL("/ws", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

Object.defineProperty(globalThis, "toolplane", { value: Object.freeze({ connect }) });
