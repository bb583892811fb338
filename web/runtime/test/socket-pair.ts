import type { Socket } from "../wire/connection.ts";

/** One end of a pair of sockets in memory. Messages arrive in order, each in a microtask of its own. */
export class MemorySocket extends EventTarget {
  other: MemorySocket | undefined;
  bufferedAmount = 0;
  readonly sent: string[] = [];
  closed: { code: number; reason: string } | null = null;

  send(data: string): void {
    this.sent.push(data);
    const { other } = this;
    if (other === undefined || this.closed !== null) return;
    queueMicrotask(() => other.receive(data));
  }

  receive(data: unknown): void {
    if (this.closed === null) this.dispatchEvent(Object.assign(new Event("message"), { data }));
  }

  close(code = 1000, reason = ""): void {
    if (this.closed !== null) return;
    this.closed = { code, reason };
    const { other } = this;
    queueMicrotask(() => other?.hangUp(code, reason));
  }

  hangUp(code: number, reason: string): void {
    if (this.closed !== null) return;
    this.closed = { code, reason };
    this.dispatchEvent(Object.assign(new Event("close"), { code, reason }));
  }

  asSocket(): Socket {
    return this as unknown as Socket;
  }
}

export function socketPair(): [MemorySocket, MemorySocket] {
  const a = new MemorySocket();
  const b = new MemorySocket();
  a.other = b;
  b.other = a;
  return [a, b];
}
