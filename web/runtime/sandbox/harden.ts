/**
 * Takes away what a worker offers for reaching others. The frame's opaque origin and its policy are the boundary, and hold without this; it
 * closes what they leave open between the workers of one frame, which share an origin: channels, locks and nested workers.
 */

const GLOBALS = [
  "BroadcastChannel",
  "CacheStorage",
  "EventSource",
  "FileSystemObserver",
  "IDBFactory",
  "LockManager",
  "Notification",
  "ServiceWorkerRegistration",
  "SharedWorker",
  "StorageManager",
  "WebSocket",
  "WebSocketStream",
  "WebTransport",
  "Worker",
  "XMLHttpRequest",
  "caches",
  "cookieStore",
  "fetch",
  "fetchLater",
  "importScripts",
  "indexedDB",
  "navigator",
] as const;

/** Removes each name wherever the chain of prototypes has it. Where a browser forbids that, the property is covered by undefined. */
export function harden(scope: object): void {
  for (const name of GLOBALS) {
    for (let at: object | null = scope; at !== null; at = Object.getPrototypeOf(at)) {
      if (Object.hasOwn(at, name)) Reflect.deleteProperty(at, name);
    }
    if (name in scope) Reflect.defineProperty(scope, name, { value: undefined, writable: false, configurable: false });
  }
}
