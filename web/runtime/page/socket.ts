import { PROTOCOL } from "../wire/methods.ts";

const OPEN_TIMEOUT_MS = 10_000;

/** Opens a WebSocket with Toolplane's subprotocol. Rejects when the host doesn't accept it within 10 s. */
export function openSocket(url: string): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, PROTOCOL);
    const fail = (why: string): void => {
      clearTimeout(timer);
      socket.onopen = socket.onerror = socket.onclose = null;
      socket.close();
      reject(new Error(`connecting to ${url}: ${why}`));
    };
    const timer = setTimeout(() => fail(`no answer within ${OPEN_TIMEOUT_MS / 1000} s`), OPEN_TIMEOUT_MS);
    socket.onopen = () => {
      clearTimeout(timer);
      socket.onopen = socket.onerror = socket.onclose = null;
      resolve(socket);
    };
    socket.onerror = () => fail("refused: is the host running, and is this page's origin allowed?");
    socket.onclose = ({ code }) => fail(`closed by the host (${code})`);
  });
}
