import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "./setup/temporary-folder.ts";
import { slowness } from "./setup/wait.ts";

const root = join(import.meta.dirname, "..");

/** The tree as a clone would have it: tracked files and new ones, nothing installed, nothing ignored. */
function freshCopy(): string {
  const folder = temporaryFolder();
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const file of files.split("\0").filter((name) => name && existsSync(join(root, name)))) {
    cpSync(join(root, file), join(folder, file));
  }
  return folder;
}

test("the README's first command installs and runs a whole launch in a fresh clone", {
  timeout: 600_000 * slowness,
}, () => {
  const folder = freshCopy();
  // Without this process's own runtime in front: the clone has to bring what it needs.
  const path = (process.env["PATH"] ?? "").split(":").filter((entry) => !entry.startsWith(root));
  const env = { PATH: path.join(":"), HOME: process.env["HOME"], TMPDIR: folder };
  const demo = spawnSync("npm", ["run", "demo"], { cwd: folder, env, encoding: "utf8", timeout: 300_000 * slowness });
  const output = demo.stdout;
  expect(demo.status, `${output}\n${demo.stderr}`).toBe(0);
  expect(output).toMatch(/https:\/\/ipfs\.io\/ipfs\/bafkrei\w+/);
  expect(output).toMatch(/ipfs:\/\/bafybei\w+\//);
  expect(output).toMatch(/deploy: accepted.*\n\s+0x[0-9a-f]{64}\n/);
  expect(output).toMatch(/contract address by that hash.*\n\s+0x[0-9a-fA-F]{40}\n/);
  expect(output).toMatch(/presale: .*\n\s+0x[0-9a-fA-F]{40}, proof of 2 hashes\n/);
  const apis = ["REST", "GraphQL", "SQL"].map(
    (label) => new RegExp(`${label}\\s+(Yard #4, held by 0x[0-9a-f]{40})`).exec(output)?.[1],
  );
  expect(apis[0]).toBeDefined();
  expect(new Set(apis).size).toBe(1);
  expect(output).toMatch(/received 0\.04 ETH/);
  expect(output.match(/holds \d+: Yard #\d/g)).toHaveLength(5);
});
