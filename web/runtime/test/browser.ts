import { type Browser, chromium, type Page } from "playwright-core";
import { findBrowser } from "./find-browser.ts";
import { Peer, TOKEN } from "./peer.ts";

export interface Rig {
  peer: Peer;
  browser: Browser;
  page: Page;
  /** What the page wrote to its console. */
  console: string[];
  close(): Promise<void>;
}

/** Starts a peer and a browser, and connects the page. */
export async function rig(
  connect: Record<string, unknown> = {},
  prepare: (peer: Peer) => void = () => {},
): Promise<Rig> {
  const peer = await Peer.start();
  prepare(peer);
  const browser = await launch();
  const lines: string[] = [];
  try {
    const page = await browser.newPage();
    page.on("console", (message) => lines.push(message.text()));
    page.on("pageerror", (error) => lines.push(String(error)));
    await page.goto(`${peer.origin}/executor/index.html`);
    await connectPage(page, connect);
    await peer.ready();
    return {
      peer,
      browser,
      page,
      console: lines,
      close: async () => {
        await browser.close();
        await peer.close();
      },
    };
  } catch (error) {
    await browser.close();
    await peer.close();
    throw new Error(`${error}\nthe page said:\n${lines.join("\n")}`);
  }
}

export function launch(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: findBrowser(), headless: true, args });
}

/** What the host does through the DevTools pipe. */
export function connectPage(page: Page, options: Record<string, unknown> = {}): Promise<unknown> {
  return page.evaluate(
    (o) => (globalThis as unknown as { toolplane: { connect(o: unknown): Promise<unknown> } }).toolplane.connect(o),
    { token: TOKEN, ...options },
  );
}
