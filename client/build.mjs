// Builds dist/ by the compiler of the repository; `npm pack` runs it.
import { spawnSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
rmSync(here("dist"), { recursive: true, force: true });
const options = ["--noEmit", "false", "--declaration", "--outDir", here("dist"), "--singleThreaded"];
const compiler = here("../node_modules/typescript-native/bin/tsc");
const { status } = spawnSync(process.execPath, [compiler, "-p", here("tsconfig.json"), ...options], {
  stdio: "inherit",
});
if (status !== 0)
  throw new Error("the compiler did not build dist/; in a fresh clone run `npm test` of the repository once");
// The compiler changes the endings of imports in code alone.
for (const name of readdirSync(here("dist"), { recursive: true }).filter((file) => file.endsWith(".d.ts"))) {
  const text = readFileSync(here(`dist/${name}`), "utf8");
  writeFileSync(here(`dist/${name}`), text.replaceAll(/(from "\.{1,2}\/[^"]+)\.ts"/g, '$1.js"'));
}
copyFileSync(here("../LICENSE"), here("LICENSE"));
