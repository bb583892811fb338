// The encoder and decoder beside the standard library's, in one run: npx vitest bench web/runtime/python
import { bench, describe } from "vitest";
import { lines, Sandbox } from "./sandbox";

const sandbox = await Sandbox.create();
const setUp = lines(
  "import json, random",
  "from _toolplane.encode import decode, encode",
  "def records(n):",
  "  return [{'id': 2**53 + i, 'title': f'Issue {i} – fällt', 'state': 'open', 'labels': ['bug', 'ui'],",
  "           'author': {'login': 'ann', 'name': 'Ann Ö'}, 'created_at': '2026-01-01T00:00:00Z', 'comments': i % 7,",
  "           'score': i / 7, 'body': 'lorem ipsum dolor sit amet ' * 3, 'milestone': None} for i in range(n)]",
  "values = {",
  "  '1 MB of records': records(3_300),",
  "  '8 MB of records': records(26_400),",
  "  '1 MB of numbers': [random.random() for _ in range(53_000)],",
  "  '1 MB in small containers': [{'a': [1, [2, {'b': 3}]]} for _ in range(47_000)],",
  "}",
  "texts = {name: encode(value) for name, value in values.items()}",
);
const { error } = await sandbox.run(setUp);
if (error) throw new Error(error.traceback);

const names = ["1 MB of records", "8 MB of records", "1 MB of numbers", "1 MB in small containers"];
for (const name of names) {
  const python = (expression: string) =>
    sandbox.evaluate(expression.replaceAll("NAME", JSON.stringify(name))) as () => unknown;
  const options = { time: 2_000, warmupTime: 500 };
  describe(`write ${name}`, () => {
    bench("json.dumps", python("lambda: len(json.dumps(values[NAME]))") as () => void, options);
    bench("encode", python("lambda: len(encode(values[NAME]))") as () => void, options);
  });
  describe(`read ${name}`, () => {
    bench("json.loads", python("lambda: len(json.loads(texts[NAME]))") as () => void, options);
    bench("decode", python("lambda: len(decode(texts[NAME]))") as () => void, options);
  });
}
