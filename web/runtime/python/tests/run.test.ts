import { expect, test } from "vitest";
import { Sandbox } from "./sandbox";

test("first", async () => {
  const s = await Sandbox.create();
  s.bind([
    {
      name: "plugin:issues/list",
      flat: "issues_list",
      scope: "issues",
      tool: "list",
      params: ["count"],
      call: "await issues_list(count=<integer>)",
    },
  ]);
  const show = async (c: string, o = {}) => console.log(JSON.stringify(await s.run(c, o), null, 1));
  await show("return 1");
  await show(
    "x: int = 5\nfrom math import *\ny = [pi for q in range(2)]\nf = lambda: 1\n[x, y, f.__qualname__, __name__]",
  );
  await show("a = await issues_list(count=5)\nprint(a)\nawait issues.list(x=1);", {
    answer: (n: string, a: string) => `[${JSON.stringify(n)},${a}]`,
  });
  await show("def f():\n    return {}['k']\nf()");
  await show("x = (1\n");
  await show("issues = 1");
  await show("for i in [1]:\n  yield i");
  expect(s.finishes).toBe(7);
});
