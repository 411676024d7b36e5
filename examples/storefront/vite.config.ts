import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const source = (name: string) => fileURLToPath(new URL(`../../client/src/${name}.ts`, import.meta.url));

export default defineConfig({
  // In this repository the client is its source. A project that has installed the package leaves this out.
  resolve: { alias: { "@mintyard/client/graphql": source("graphql"), "@mintyard/client": source("client") } },
  // The page waits for its first answer at the top of its module.
  build: { target: "es2022" },
});
