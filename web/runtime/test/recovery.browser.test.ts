/** What happens when a snapshot can't be used, when the connection ends, and when the sandbox's process dies. */

import type { Page } from "playwright-core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { connectPage, type Rig, rig } from "./browser.ts";
import { TOKEN } from "./peer.ts";

let r: Rig | undefined;
afterEach(async () => {
  await r?.close();
  r = undefined;
});

/** Changes a text in a file that the page loads. */
function patch(file: string, from: string, to: string): (page: Page) => Promise<void> {
  return async (page) => {
    await page.route(`**/${file}*`, async (route) => {
      const response = await route.fetch();
      const text = await response.text();
      if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
      await route.fulfill({ response, body: text.replace(from, to) });
    });
  };
}

async function worksAsEver({ peer }: Rig): Promise<void> {
  peer.tools.set("echo", (args) => args);
  const result = await peer.run(
    "print('hi')\nimport random\nreturn [(await call_tool('echo', {'n': 1.0}))['n'], inputs['x']]",
    {
      inputs: '{"x":9007199254740993}',
    },
  );
  expect(result).toMatchObject({ ok: true, value: "[1.0,9007199254740993]", stdout: "hi\n" });
  expect((await peer.run("left = 1\nwhile True: pass", { timeout: 300 })).error?.type).toBe("RunTimeoutError");
  expect((await peer.run("return 'left' in globals()")).value).toBe("false");
}

describe("without a snapshot", () => {
  test("because the host asked so, runs work as ever", async () => {
    r = await rig({ connect: { snapshot: false, pool: 1 } });
    expect(r.peer.statuses[0]).toMatchObject({ ready: true, snapshot: "none", detail: "snapshots are turned off" });
    await worksAsEver(r);
  });

  test("because none can be made, runs work as ever and the status says why", async () => {
    r = await rig({
      page: patch("pyodide.asm.mjs", "static makeMemorySnapshot(", "static makeNoSnapshot("),
      connect: { pool: 1 },
    });
    expect(r.peer.statuses[0]).toMatchObject({ ready: true, snapshot: "none" });
    expect(r.peer.statuses[0]?.detail).toMatch(/^making the base snapshot failed: .*makeMemorySnapshot/);
    await worksAsEver(r);
  });

  test("because none can be read, runs work as ever and the status says why", async () => {
    const from = "API.restoreSnapshot=function(t){";
    r = await rig({
      page: patch("pyodide.asm.mjs", from, `${from}throw new Error("another build");`),
      connect: { pool: 1 },
    });
    expect(r.peer.statuses[0]).toMatchObject({ ready: true, snapshot: "none" });
    expect(r.peer.statuses[0]?.detail).toMatch(/^reading the base snapshot failed: .*another build/);
    await worksAsEver(r);
  });
});

test("a Python that can't load is told, and so is a run", async () => {
  r = await rig({
    page: patch("python.json", '"loader":"', '"loader":"raise RuntimeError(\'no luck\')\\n'),
    ready: false,
  });
  while (r.peer.statuses.length === 0) await r.peer.statusChanged();
  expect(r.peer.statuses[0]).toMatchObject({ ready: false, pool: 0 });
  expect(r.peer.statuses[0]?.detail).toContain("no luck");
  await expect(r.peer.run("return 1")).rejects.toThrow(/no Python interpreter for this run: .*no luck/s);
});

describe("the connection", () => {
  test("that ends in a run ends the run, and a new session works", async () => {
    r = await rig();
    const { peer, page } = r;
    const running = peer.run("import time\nwhile True: time.sleep(0.01)", { timeout: 60_000 });
    running.catch(() => {});
    expect((await peer.run("return 1")).value).toBe("1");
    peer.connection?.close(1001, "going away");
    await expect(running).rejects.toThrow();
    await vi.waitFor(() => connectPage(page), 30_000); // refused until the page has heard of the end
    expect((await peer.run("return 2")).value).toBe("2");
  });

  test("with a wrong token is refused without repeating it", async () => {
    r = await rig({ connected: false });
    const refused = await connectPage(r.page, { token: "wrong-token" }).catch((error) => String(error));
    expect(refused).toContain("wrong token");
    expect(refused).not.toContain("wrong-token");
    await expect(connectPage(r.page)).resolves.toMatchObject({ name: "peer", protocol: "toolplane.v1" });
  });

  test("is one at a time", async () => {
    r = await rig();
    await expect(connectPage(r.page)).rejects.toThrow("connected already");
  });

  test("to nowhere fails with a way out", async () => {
    r = await rig({ connected: false });
    await expect(connectPage(r.page, { websocket: "ws://127.0.0.1:1/ws" })).rejects.toThrow("is the host running");
  });

  test("never shows the token to the page's globals or its address", async () => {
    r = await rig();
    const seen = await r.page.evaluate(() =>
      JSON.stringify({ ...globalThis.toolplane, href: location.href, keys: Object.keys(globalThis) }),
    );
    expect(seen).not.toContain(TOKEN);
    expect(r.peer.hits.join()).not.toContain(TOKEN);
  });
});

test("a sandbox whose process dies is replaced; its run fails, the next one works", async () => {
  r = await rig();
  const { peer, page } = r;
  const frame = page.frames().find((one) => one.url().includes("frame.html"));
  if (frame === undefined) throw new Error("the page has no sandboxed frame");
  const running = peer.run("import asyncio\nawait asyncio.sleep(60)", { timeout: 60_000 });
  expect((await peer.run("return 1")).value).toBe("1");
  const devtools = await page.context().newCDPSession(frame);
  devtools.send("Page.crash").catch(() => {}); // there's nobody left to answer
  expect((await running).error).toMatchObject({
    type: "InterpreterError",
    message: expect.stringContaining("process died"),
  });
  expect((await peer.run("return 2")).value).toBe("2");
});

test("bindings of the catalog, and their changes, reach snippets", async () => {
  const binding = (flat: string): string =>
    `{"name":"plugin:x/${flat}","flat":"${flat}","params":["n"],"call":"await ${flat}(n=<integer>)"}`;
  r = await rig({ prepare: (peer) => (peer.catalog = `{"revision":1,"bindings":[${binding("first")}]}`) });
  const { peer } = r;
  for (const name of ["first", "second"]) peer.tools.set(`plugin:x/${name}`, (args) => `{"${name}":${args}}`);
  expect((await peer.run("return await first(n=1)")).value).toBe('{"first":{"n":1}}');
  peer.connection?.notify("catalog.changed", `{"revision":2,"bindings":[${binding("second")}]}`);
  expect((await peer.run("return await second(n=2)")).value).toBe('{"second":{"n":2}}');
  expect((await peer.run("return 'first' in globals()")).value).toBe("false");
});
