import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["web/**/*.test.ts", "tests/**/*.test.ts"],
    // Real browsers and real hosts: one file at a time, so that measured limits aren't those of a busy machine.
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
