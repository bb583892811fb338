/** A headless Firefox with one page, driven by WebDriver BiDi. */

import { spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { Peer, TOKEN } from "./peer.ts";

const NAMES = ["firefox-esr", "firefox"];
const MAC = "/Applications/Firefox.app/Contents/MacOS/firefox";
const START_TIMEOUT_MS = 60_000;

/** It stays at home: no updates, no telemetry, no first-run pages. */
const PREFS = {
  "app.update.enabled": false,
  "browser.safebrowsing.malware.enabled": false,
  "browser.safebrowsing.phishing.enabled": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "remote.prefs.recommended": true,
  "services.settings.server": "data:,",
  "toolkit.telemetry.enabled": false,
};

/** TOOLPLANE_FIREFOX, or the first Firefox found; undefined when there's none. */
export function findFirefox(): string | undefined {
  const named = process.env.TOOLPLANE_FIREFOX;
  if (named) return named;
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  return [...NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name))), MAC].find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

interface Answer {
  readonly id?: number;
  readonly type?: string;
  readonly message?: string;
  readonly result?: unknown;
}

export class Firefox {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #end: () => Promise<void>;
  #last = 0;

  private constructor(socket: WebSocket, end: () => Promise<void>) {
    this.#socket = socket;
    this.#end = end;
    socket.on("message", (data) => {
      const answer = JSON.parse(data.toString()) as Answer;
      if (answer.id === undefined) return this.#note(answer as { params?: { text?: unknown } });
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  /** What pages wrote to their consoles. */
  readonly console: string[] = [];
  #note({ params }: { params?: { text?: unknown } }): void {
    if (typeof params?.text === "string") this.console.push(params.text);
  }

  static async launch(program: string): Promise<Firefox> {
    const profile = mkdtempSync(path.join(os.tmpdir(), "toolplane-firefox-"));
    const prefs = Object.entries(PREFS).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
    writeFileSync(path.join(profile, "user.js"), prefs.join("\n"));
    const child = spawn(program, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, HOME: profile },
    });
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const end = async (): Promise<void> => {
      const patience = setTimeout(() => child.kill("SIGKILL"), 10_000);
      child.kill("SIGTERM");
      await gone;
      clearTimeout(patience);
      rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    };
    try {
      const address = await new Promise<string>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error("it didn't start in time")), START_TIMEOUT_MS);
        const lines = createInterface({ input: child.stderr });
        lines.on("line", (line) => {
          const found = /WebDriver BiDi listening on (ws:\S+)/.exec(line)?.[1];
          if (found === undefined) return;
          clearTimeout(timer);
          resolve(`${found}/session`);
        });
        child.once("error", reject);
        child.once("exit", (code) => reject(new Error(`it ended with code ${code}`)));
      });
      const socket = new WebSocket(address);
      await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
      const firefox = new Firefox(socket, end);
      await firefox.#send("session.new", { capabilities: {} });
      await firefox.#send("session.subscribe", { events: ["log.entryAdded"] });
      return firefox;
    } catch (error) {
      await end();
      throw new Error(`${program} can't be driven`, { cause: error });
    }
  }

  #send(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ type, message, result }) =>
        type === "error" ? reject(new Error(`${method}: ${message}`)) : resolve(result),
      );
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  /** Opens an address in a tab and returns what evaluates an expression there. Its value, or that of its promise, comes back as text. */
  async open(url: string): Promise<(expression: string) => Promise<string>> {
    const { context } = (await this.#send("browsingContext.create", { type: "tab" })) as { context: string };
    await this.#send("browsingContext.navigate", { context, url, wait: "complete" });
    return async (expression) => {
      const answer = (await this.#send("script.evaluate", {
        expression: `(async () => String(await (${expression})))()`,
        target: { context },
        awaitPromise: true,
      })) as { result?: { value: string }; exceptionDetails?: { text: string } };
      if (answer.exceptionDetails !== undefined) throw new Error(answer.exceptionDetails.text);
      return answer.result?.value ?? "";
    };
  }

  async close(): Promise<void> {
    this.#socket.terminate();
    await this.#end();
  }
}

/** A peer whose page runs in Firefox, ready to run. */
export async function firefoxRig(
  program: string,
  prepare: (peer: Peer) => void,
  connect: Record<string, unknown>,
): Promise<{ peer: Peer; evaluate(expression: string): Promise<string>; close(): Promise<void> }> {
  const peer = await Peer.start();
  prepare(peer);
  let firefox: Firefox | undefined;
  const close = async (): Promise<void> => {
    await firefox?.close();
    await peer.close();
  };
  try {
    firefox = await Firefox.launch(program);
    const evaluate = await firefox.open(`${peer.origin}/executor/index.html`);
    await evaluate(`toolplane.connect(${JSON.stringify({ token: TOKEN, ...connect })})`);
    await peer.ready();
    return { peer, evaluate, close };
  } catch (error) {
    await close();
    throw new Error(`${error}\nthe page said:\n${firefox?.console.join("\n")}`);
  }
}
