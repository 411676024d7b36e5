#!/usr/bin/env node
// The command `mintyard`, for `./bin/mintyard.mjs …`, `npx mintyard …` and packages that depend on this one: the same
// as `npm run -s mintyard -- …`, on any Node.
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { programFolder } from "./installed-package.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
process.argv.splice(2, 0, "bin/mintyard.ts");
await import(pathToFileURL(join(programFolder(root), "bin/bootstrap.mjs")).href);
