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
  /** Interrupts the run once, this many ms after it began, as the worker does at the time limit. */
  interruptAfter?: number;
}

export const lines = (...text: string[]) => text.join("\n");

export class Sandbox {
  /** How often `finish` was called. */
  finishes = 0;
  /** Makes the next send throw an error of this text. */
  failNextSend = "";

  private py!: PyodideInterface;
  private entry!: PythonEntry;
  private finished: ((json: string) => void) | null = null;
  private answer: Answer = () => "null";
  private stdout = "";
  private stderr = "";
  private readonly log: string[] = [];
  private interruptAt = Number.POSITIVE_INFINITY;

  /** A new interpreter, or one restored from a snapshot that holds the bootstrap already. */
  static async create(snapshot?: Uint8Array): Promise<Sandbox> {
    const sandbox = new Sandbox();
    const host = sandbox.host();
    // Underscore options of this pyodide version, missing from its types.
    const restored: object = { _loadSnapshot: snapshot, _snapshotDeserializer: () => host };
    const py = await loadPyodide(snapshot ? restored : {});
    sandbox.py = py;
    sandbox.connect(py);
    if (!snapshot) installPython(py, host, pythonSources());
    sandbox.entry = pythonEntry(py);
    return sandbox;
  }

  private connect(py: PyodideInterface): void {
    const decoder = new TextDecoder();
    py.setStdout({
      write: (bytes) => {
        this.stdout += decoder.decode(bytes);
        return bytes.length;
      },
    });
    py.setStderr({
      write: (bytes) => {
        this.stderr += decoder.decode(bytes);
        return bytes.length;
      },
    });
    const interrupt = () => {
      if (performance.now() < this.interruptAt) return 0;
      this.interruptAt = Number.POSITIVE_INFINITY;
      return 2;
    };
    const buffer = Object.defineProperty({}, 0, { get: interrupt, set: () => {} });
    py.setInterruptBuffer(buffer as unknown as Uint8Array);
  }

  private host() {
    return {
      send: (id: number, name: string, args: string) => {
        const failure = this.failNextSend;
        this.failNextSend = "";
        if (failure) throw new Error(failure);
        this.log.push(`send ${name} ${args}`);
        void this.settleLater(id, name, args);
      },
      finish: (json: string) => {
        this.finishes++;
        this.finished?.(json);
      },
      disarm: () => void this.log.push("disarm"),
      cancel: (id: number) => void this.log.push(`cancel ${id}`),
    };
  }

  private async settleLater(id: number, name: string, args: string): Promise<void> {
    await Promise.resolve(); // never within send
    try {
      this.entry.settle(id, true, await this.answer(name, args));
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      this.entry.settle(id, false, JSON.stringify({ message: error.message, data: error.data }));
    }
  }

  /** The value of an expression in the snippet's globals, past the bootstrap. */
  evaluate(expression: string): unknown {
    return this.py.runPython(expression);
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

  run(code: string, options: RunOptions = {}): Promise<RunResult> {
    const { filename = "<snippet>", inputs = "{}", previous, limits = {} } = options;
    const head = `{"code":${JSON.stringify(code)},"filename":${JSON.stringify(filename)},"inputs":${inputs}`;
    const tail = previous === undefined ? "" : `,"previous":${previous}`;
    return this.raw(`${head}${tail},"limits":${JSON.stringify(limits)}}`, options);
  }

  /** Starts a run with the request's own text. */
  async raw(requestJson: string, options: RunOptions = {}): Promise<RunResult> {
    this.answer = options.answer ?? (() => "null");
    this.log.length = 0;
    this.stdout = this.stderr = "";
    this.interruptAt = performance.now() + (options.interruptAfter ?? Number.POSITIVE_INFINITY);
    const json = await new Promise<string>((resolve) => {
      this.finished = resolve;
      this.entry.start(requestJson, options.seed ?? false);
    });
    this.finished = null;
    const result = JSON.parse(json) as RunResult;
    if (result.ok) result.valueText = json.slice('{"ok":true,"value":'.length, -1);
    return { ...result, log: [...this.log], stdout: this.stdout, stderr: this.stderr };
  }
}
