/**
 * Takes away what a worker offers for reaching others. The frame's opaque origin and its policy are the boundary, and hold without this; it
 * closes what they leave open between the workers of one frame, which share an origin (channels, locks, nested workers), and tells who
 * tries the network what to do instead.
 */

const NO_NETWORK = "snippets have no network: call a capability of the host instead, or pass data as an input";

/** Replaced, because snippets and libraries do try these. */
const EXPLAINED = ["EventSource", "WebSocket", "XMLHttpRequest", "fetch"] as const;

const REMOVED = [
  "BroadcastChannel",
  "CacheStorage",
  "FileSystemObserver",
  "IDBFactory",
  "LockManager",
  "Notification",
  "ServiceWorkerRegistration",
  "SharedWorker",
  "StorageManager",
  "WebSocketStream",
  "WebTransport",
  "Worker",
  "caches",
  "close",
  "cookieStore",
  "fetchLater",
  "importScripts",
  "indexedDB",
  "navigator",
  "postMessage", // to the frame; the worker's script keeps it for itself
] as const;

/** Changes a worker's globals for good. */
export function harden(scope: object): void {
  for (const name of REMOVED) {
    remove(scope, name);
    // Where the browser forbids to remove it, it's covered.
    if (name in scope) Reflect.defineProperty(scope, name, { value: undefined, writable: false, configurable: false });
  }
  for (const name of EXPLAINED) {
    remove(scope, name);
    Reflect.defineProperty(scope, name, { value: refuse, writable: false, configurable: false });
  }
}

/** Works as a function and as a constructor. */
function refuse(): never {
  throw new TypeError(NO_NETWORK);
}

/** Removes a name from an object and its prototypes. */
export function remove(scope: object, name: string): void {
  for (let at: object | null = scope; at !== null; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, name)) Reflect.deleteProperty(at, name);
  }
}
