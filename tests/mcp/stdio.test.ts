// A client that others use, the official TypeScript SDK, drives the real binary over stdio: nothing here knows Toolplane's code.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const binary = resolve(import.meta.dirname, "../../bin/toolplane");

interface RunResult {
  ok: boolean;
  value: unknown;
  stdout: string;
  stderr: string;
  error: { type: string; builtin: string; message: string; traceback: string } | null;
  artifacts: unknown[];
  duration_ms: number;
  run_id: string;
  executor: string;
}

let folder: string;
let client: Client;
const stderr: string[] = [];

beforeAll(async () => {
  if (!existsSync(binary)) throw new Error(`${binary} is missing: run \`make build\`, or \`make test\` for everything`);
  folder = mkdtempSync(join(tmpdir(), "toolplane-mcp-"));
  writeFileSync(join(folder, "toolplane.toml"), '[plugins.issues]\nsource = "builtin:issues"\n');
  const transport = new StdioClientTransport({
    command: binary,
    args: ["serve", "mcp", "--config", join(folder, "toolplane.toml")],
    stderr: "pipe",
  });
  transport.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk.toString()));
  client = new Client({ name: "toolplane-tests", version: "1.0.0" });
  await client.connect(transport);
}, 30_000);

afterAll(async () => {
  await client?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function execute(
  code: string,
  more: Record<string, unknown> = {},
): Promise<{ result: RunResult; bytes: number; isError: boolean; text: string }> {
  const answer = await client.callTool({ name: "execute_code", arguments: { code, ...more } }, undefined, {
    timeout: 120_000,
  });
  const content = answer.content as { type: string; text: string }[];
  return {
    result: answer.structuredContent as RunResult,
    bytes: JSON.stringify(answer).length,
    isError: answer.isError === true,
    text: content.map((item) => item.text).join("\n"),
  };
}

describe("toolplane serve mcp, by the TypeScript SDK", () => {
  test("lists its tools with schemas", async () => {
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name).sort()).toEqual([
      "execute_code",
      "get_capability_schemas",
      "reset_session",
      "result_query",
      "search_capabilities",
    ]);
    for (const tool of tools) {
      expect(tool.description?.length, tool.name).toBeGreaterThan(40);
      expect(tool.inputSchema.type, tool.name).toBe("object");
    }
    expect(tools.find((tool) => tool.name === "execute_code")?.outputSchema?.properties).toHaveProperty("run_id");
  });

  test("finds a capability and its schema", async () => {
    const found = await client.callTool({ name: "search_capabilities", arguments: { query: "list issues" } });
    expect(JSON.stringify(found)).toContain("plugin:issues/list");
    const schemas = await client.callTool({
      name: "get_capability_schemas",
      arguments: { names: ["plugin:issues/list"] },
    });
    expect(JSON.stringify(schemas)).toContain("count");
    const missed = await client.callTool({
      name: "get_capability_schemas",
      arguments: { names: ["plugin:issues/lst"] },
    });
    expect(JSON.stringify(missed)).toContain("plugin:issues/list");
  });

  test("runs the two-run flow: the data stays on the host", async () => {
    const first = await execute(`
page = await issues.list(count=5000)
handle = await save_result(page["issues"], label="issues")
return {"handle": handle, "count": len(page["issues"]), "sample": [r["title"] for r in page["issues"][:3]]}
`);
    expect(first.result.error).toBeNull();
    expect(first.isError).toBe(false);
    expect(first.bytes).toBeLessThan(6_000);
    const value = first.result.value as { handle: string; count: number; sample: string[] };
    expect(value.count).toBe(5000);
    expect(value.sample).toHaveLength(3);
    expect(value.handle).toMatch(/^res_[A-Za-z0-9_-]{22,}$/);
    expect(first.text).toContain(value.handle);

    const second = await execute(
      `
records = await load_result(inputs["handle"])
print("loaded", len(records))
return {"count": len(records), "open": sum(r["state"] == "open" for r in records)}
`,
      { inputs: { handle: value.handle } },
    );
    expect(second.result).toMatchObject({
      ok: true,
      error: null,
      stdout: "loaded 5000\n",
      artifacts: [],
      executor: "headless",
    });
    expect((second.result.value as { count: number }).count).toBe(5000);
    expect(second.result.run_id).not.toBe(first.result.run_id);
  });

  test("a large value comes folded, and is read in slices", async () => {
    const { result, bytes, text } = await execute("return await issues.list(count=3000)");
    const { folded } = result as unknown as { folded: { handle: string; bytes: number } };
    expect(folded.bytes).toBeGreaterThan(1_000_000);
    expect(bytes).toBeLessThan(6_000);
    expect(text).toContain(folded.handle);
    const slice = await client.callTool({
      name: "result_query",
      arguments: { handle: folded.handle, path: "/issues", offset: 10, limit: 2, fields: ["id"] },
    });
    expect(slice.structuredContent).toMatchObject({ path: "$.issues", total: 3000, offset: 10, nextOffset: 12 });
  });

  test("a failing run is an answer that holds the next move", async () => {
    const { result, isError, text } = await execute('x = 1\nawait load_result("res_AAAAAAAAAAAAAAAAAAAAAA")');
    expect(isError).toBe(true);
    expect(result).toMatchObject({ ok: false, error: { type: "ResultStoreError", builtin: "ValueError" } });
    expect(result.error?.traceback).toContain("line 2");
    expect(text).toContain("save_result");
  });

  test("cancelling a call stops the run, and the next one works", async () => {
    const controller = new AbortController();
    const endless = client.callTool({ name: "execute_code", arguments: { code: "while True: pass" } }, undefined, {
      signal: controller.signal,
    });
    setTimeout(() => controller.abort("no longer needed"), 300);
    await expect(endless).rejects.toThrow();
    const { result } = await execute("return 1 + 1");
    expect(result.value).toBe(2);
  });

  test("bad arguments are refused by name", async () => {
    const answer = await client
      .callTool({ name: "execute_code", arguments: { cod: "return 1" } })
      .catch((error: Error) => error.message);
    expect(JSON.stringify(answer)).toContain("code");
  });
});
