import { createRequire } from "node:module";
import { defineConfig } from "vitest/config";

export default defineConfig({
  // graphql refuses types of a second copy of itself, and Vite would load its ES modules beside the
  // CommonJS ones that the packages load.
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve("graphql") }] },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/setup/global.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ["default"],
  },
});
