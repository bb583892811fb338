/**
 * The session page of a headless browser. It holds the socket and the token; Python runs in the sandboxed frame below it.
 * The host opens the page, then calls `toolplane.connect(…)` through the DevTools pipe, so that the token is never part of an address.
 */

import { assetUrl, fetchAssets } from "./page/assets.ts";
import { Executor } from "./page/executor.ts";
import { FrameLink } from "./page/frame-link.ts";
import { type HostInfo, type Kind, openSession, reportStatus } from "./page/session.ts";
import { openSocket } from "./page/socket.ts";
import { Connection } from "./wire/connection.ts";

export interface ConnectOptions {
  readonly token: string;
  readonly kind?: Kind;
  readonly name?: string;
  readonly version?: string;
  /** Standbys to keep ready; 2 when missing. */
  readonly pool?: number;
  /** Address of the host's socket; /ws of the page's own origin when missing. */
  readonly websocket?: string;
  /** false loads each worker plainly, as where a snapshot can't be made. */
  readonly snapshot?: boolean;
}

// Both are started at once: the files and the compiler need seconds that a session shouldn't wait for.
const opening = FrameLink.open(assetUrl("frame.html"), fetchAssets());
opening.catch(() => {}); // connect() tells

let executor: Executor | undefined;
let current: Connection | undefined;

async function connect(options: ConnectOptions): Promise<HostInfo> {
  if (current?.isOpen) throw new Error("this page is connected already");
  const { token, kind = "headless", name = "toolplane-page", version = "0" } = options;
  const url =
    options.websocket ??
    Object.assign(new URL("/ws", location.href), { protocol: location.protocol.replace("http", "ws") }).href;
  const { frame } = await opening;
  executor ??= new Executor(frame, {
    size: Math.max(1, options.pool ?? 2),
    snapshot: options.snapshot ?? true,
    onStatus: (status) => {
      if (current?.isOpen) reportStatus(current, status);
    },
  });
  executor.prepare();
  const connection = new Connection(await openSocket(url));
  current = connection;
  return openSession(connection, { token, kind, name, version }, executor);
}

Object.defineProperty(globalThis, "toolplane", { value: Object.freeze({ connect }) });
