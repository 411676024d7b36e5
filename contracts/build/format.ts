// Formats the Solidity of the repository with `forge fmt`, by foundry.toml.
//   node contracts/build/format.ts [--check]
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const folders = ["contracts", "bench/gas/contracts", "test/fixtures"];
const system = `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
// Not the package's own bin.mjs: it ends with 0 whatever forge ends with.
const forge = createRequire(import.meta.url).resolve(
  `@foundry-rs/forge-${system}/bin/forge${process.platform === "win32" ? ".exe" : ""}`,
);
const { status, error } = spawnSync(forge, ["fmt", ...process.argv.slice(2), ...folders], {
  cwd: new URL("../..", import.meta.url),
  stdio: "inherit",
});
if (error) throw error;
process.exitCode = status ?? 1;
