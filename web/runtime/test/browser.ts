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

export interface RigOptions {
  /** For toolplane.connect(). */
  connect?: Record<string, unknown>;
  /** Changes the peer before the page connects, or the page before it loads. */
  prepare?: (peer: Peer) => void;
  page?: (page: Page) => Promise<void>;
  /** false leaves the page unconnected. */
  connected?: boolean;
  /** false doesn't wait for the first standby. */
  ready?: boolean;
}

/** Starts a peer and a browser, and connects the page. */
export async function rig(options: RigOptions = {}): Promise<Rig> {
  const peer = await Peer.start();
  options.prepare?.(peer);
  const browser = await launch();
  const lines: string[] = [];
  const close = async (): Promise<void> => {
    await browser.close();
    await peer.close();
  };
  try {
    const page = await browser.newPage();
    page.on("console", (message) => lines.push(message.text()));
    page.on("pageerror", (error) => lines.push(String(error)));
    await options.page?.(page);
    await page.goto(`${peer.origin}/executor/index.html`);
    if (options.connected !== false) {
      await connectPage(page, options.connect);
      if (options.ready !== false) await peer.ready();
    }
    return { peer, browser, page, console: lines, close };
  } catch (error) {
    await close();
    throw new Error(`${error}\nthe page said:\n${lines.join("\n")}`);
  }
}

export function launch(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: findBrowser(), headless: true, args });
}

declare global {
  /** What the page offers. */
  var toolplane: { connect(options: unknown): Promise<unknown> };
}

/** What the host does through the DevTools pipe. */
export async function connectPage(page: Page, options: Record<string, unknown> = {}): Promise<unknown> {
  await page.waitForFunction(() => typeof globalThis.toolplane === "object");
  return page.evaluate((o) => globalThis.toolplane.connect(o), { token: TOKEN, ...options });
}
