// A real pyodide under Node with the bootstrap installed and a scripted host: what the tests of this folder run in.
import { readFileSync } from "node:fs";
import { loadPyodide, type PyodideInterface } from "pyodide";
import { installPython, type PythonEntry, type PythonSources, pythonEntry } from "../install";

const folder = new URL("../", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder), "utf8");

export function pythonSources(): PythonSources {
  const manifest = JSON.parse(read("manifest.json")) as { loader: string; modules: { name: string; file: string }[] };
  return { loader: read(manifest.loader), modules: manifest.modules.map((m) => [m.name, read(m.file)]) };
}

export interface RunError {
  type: string;
  builtin: string;
  message: string;
  traceback: string;
}

export interface RunResult {
  ok: boolean;
  /** Raw JSON text of the value, exactly as Python wrote it. */
  valueText?: string;
  value?: unknown;
  error?: RunError;
  stdout: string;
  stderr: string;
  /** What Python asked of the host: "send NAME ARGUMENTS", "cancel ID", "disarm". */
  log: string[];
}

/** Answers a capability call with raw JSON text, or throws a HostError. */
export type Answer = (name: string, argumentsJson: string) => string | Promise<string>;

/** An error frame of the host. */
export class HostError extends Error {
  readonly data: Record<string, unknown>;

  constructor(builtin: string, type: string, message: string, extra: Record<string, unknown> = {}) {
    super(message);
    this.data = { builtin, type, ...extra };
  }
}

export interface RunOptions {
  filename?: string;
  inputs?: string;
  previous?: string;
  limits?: Record<string, number>;
  seed?: boolean;
  answer?: Answer;
}

export const lines = (...text: string[]) => text.join("\n");

export class Sandbox {
  private entry!: PythonEntry;
  private finished: ((json: string) => void) | null = null;
  private answer: Answer = () => "null";
  private stdout = "";
  private stderr = "";
  private readonly log: string[] = [];
  finishes = 0;
  /** Makes the next send throw. */
  failNextSend = "";

  readonly py: PyodideInterface;

  private constructor(py: PyodideInterface) {
    this.py = py;
  }

  static async create(): Promise<Sandbox> {
    const sandbox = new Sandbox(await loadPyodide());
    const decoder = new TextDecoder();
    sandbox.py.setStdout({
      write: (b) => {
        sandbox.stdout += decoder.decode(b);
        return b.length;
      },
    });
    sandbox.py.setStderr({
      write: (b) => {
        sandbox.stderr += decoder.decode(b);
        return b.length;
      },
    });
    installPython(sandbox.py, sandbox.host(), pythonSources());
    sandbox.entry = pythonEntry(sandbox.py);
    return sandbox;
  }

  private host() {
    return {
      send: (id: number, name: string, args: string) => {
        if (this.failNextSend) {
          const message = this.failNextSend;
          this.failNextSend = "";
          throw new Error(message);
        }
        this.log.push(`send ${name} ${args}`);
        const entry = this.entry;
        Promise.resolve()
          .then(() => this.answer(name, args))
          .then(
            (json) => entry.settle(id, true, json),
            (error: unknown) => {
              if (!(error instanceof HostError)) throw error;
              entry.settle(id, false, JSON.stringify({ message: error.message, data: error.data }));
            },
          );
      },
      finish: (json: string) => {
        this.finishes++;
        this.finished?.(json);
      },
      disarm: () => void this.log.push("disarm"),
      cancel: (id: number) => void this.log.push(`cancel ${id}`),
    };
  }

  bind(bindings: unknown[]): void {
    this.entry.bind(JSON.stringify({ revision: 1, bindings }));
  }

  /** Two tools of a plugin: issues_list, issues.list and issues_get, issues.get. */
  bindIssues(): void {
    const tool = (name: string, params: string[], call: string) => ({
      name: `plugin:issues/${name}`,
      flat: `issues_${name}`,
      scope: "issues",
      tool: name,
      params,
      call,
    });
    this.bind([
      tool("list", ["count", "state"], "await issues_list(count=<integer=100>, state=<string>)"),
      tool("get", ["id"], "await issues_get(id=<integer>)"),
    ]);
  }

  async run(code: string, options: RunOptions = {}): Promise<RunResult> {
    this.answer = options.answer ?? (() => "null");
    this.log.length = 0;
    this.stdout = this.stderr = "";
    const { filename = "<snippet>", inputs = "{}", previous, limits = {} } = options;
    const head = `{"code":${JSON.stringify(code)},"filename":${JSON.stringify(filename)},"inputs":${inputs}`;
    const tail = previous === undefined ? "" : `,"previous":${previous}`;
    const json = await new Promise<string>((resolve) => {
      this.finished = resolve;
      this.entry.start(`${head}${tail},"limits":${JSON.stringify(limits)}}`, options.seed ?? false);
    });
    this.finished = null;
    const result = JSON.parse(json) as RunResult;
    if (result.ok) result.valueText = json.slice('{"ok":true,"value":'.length, -1);
    return { ...result, log: [...this.log], stdout: this.stdout, stderr: this.stderr };
  }
}
