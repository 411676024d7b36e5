import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { temporaryFolder } from "./setup/temporary-folder.ts";

interface Lock {
  packages: Record<string, { version?: string; optionalDependencies?: Record<string, string> }>;
}
const root = join(import.meta.dirname, "..");
let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
  mkdirSync(join(dir, "bin"));
  for (const file of ["bin/complete-lockfile.mjs", "package-lock.json"]) cpSync(join(root, file), join(dir, file));
});

const text = () => readFileSync(join(dir, "package-lock.json"), "utf8");
const complete = () => spawnSync(process.execPath, ["bin/complete-lockfile.mjs"], { cwd: dir, encoding: "utf8" });

/** Writes the lockfile after a change of its packages. */
function change(edit: (packages: Lock["packages"]) => void): void {
  const lock = JSON.parse(text()) as Lock;
  edit(lock.packages);
  writeFileSync(join(dir, "package-lock.json"), `${JSON.stringify(lock, null, 2)}\n`);
}

test("platform packages that npm left out of the lockfile are added", () => {
  const before = JSON.parse(text()) as Lock;
  const gone = Object.keys(before.packages).filter((path) =>
    /node_modules\/@(biomejs|esbuild)\/.*(win32|musl|darwin)/.test(path),
  );
  expect(gone.length).toBeGreaterThan(20);
  change((packages) => {
    for (const path of gone) delete packages[path];
  });
  const { status, stdout } = complete();
  expect(status).toBe(0);
  for (const path of gone) expect(stdout).toContain(path.replace(/^.*node_modules\//, ""));
  const after = JSON.parse(text()) as Lock;
  expect(Object.keys(after.packages)).toEqual(Object.keys(before.packages));
  const details = ({ version, os, cpu, libc, optional }: Record<string, unknown>) => ({
    version,
    os,
    cpu,
    libc,
    optional,
  });
  for (const path of gone)
    expect(details(after.packages[path] ?? {}), path).toEqual(details(before.packages[path] ?? {}));
});

test("a lockfile that lacks nothing is not touched, and nothing is said", () => {
  const before = text();
  expect(complete()).toMatchObject({ status: 0, stdout: "", stderr: "" });
  expect(text()).toBe(before);
});

test("a package whose platform cannot be determined stops the installation and is named", () => {
  change((packages) => {
    packages["node_modules/zod"] = { version: "1.0.0", optionalDependencies: { "zod-native": "1.0.0" } };
  });
  const { status, stderr } = complete();
  expect(stderr).toContain("package-lock.json lacks zod-native");
  expect(status).toBe(1);
});

test("each package has the hash that npm checks it by", () => {
  const { packages } = JSON.parse(text()) as { packages: Record<string, { integrity?: string; link?: boolean }> };
  const unchecked = Object.entries(packages).filter(([path, entry]) => path && !entry.link && !entry.integrity);
  expect(unchecked.map(([path]) => path)).toEqual([]);
});

test("npm runs it by itself after each installation", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  };
  expect(scripts["dependencies"]).toBe("node bin/complete-lockfile.mjs");
});
