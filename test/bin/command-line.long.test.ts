import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findCommand, needsService } from "../../bin/command-line.ts";
import { createProgram } from "../../bin/commands.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";

const root = join(import.meta.dirname, "../..");
// A database that does not answer: what is wrong with the arguments has to be said before it is asked.
const env = { ...bareEnvironment, DATABASE_URL: "postgres://nobody@127.0.0.1:9/none" };

function mintyard(line: string) {
  const args = line.split(" ").filter(Boolean);
  const { status, stdout, stderr } = spawnSync(process.execPath, ["bin/mintyard.ts", ...args], {
    cwd: root,
    env,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

test.each([
  ["analyst create ada", "Expected 0 arguments but got 1: ada", "analyst create --name <name>"],
  ["analyst create", "--name <name> is missing", "analyst create --name <name>"],
  ["analyst create --nmae ada", "unknown option '--nmae'", "analyst create --name <name>"],
  ["accounts create --tier gold", "Allowed choices are free, growth, scale, enterprise", "accounts create [options]"],
  ["accounts tier", "missing required argument 'account'", "accounts tier <account> <tier>"],
  ["factory deploy", "--chain <name> is missing", "factory deploy --chain <name>"],
  ["export", "missing required argument 'cid'", "export <cid> [file.car]"],
  ["wallets open 0x12", "An address is 0x and 40 hex digits", "wallets open <address>"],
  ["wallets reconcile --acept-external", "unknown option '--acept-external'", "wallets reconcile [options] <address>"],
  ["wallets --frob", "unknown option '--frob'", "wallets"],
  ["wallets grant --timeout soon", "argument 'soon' is invalid", "wallets grant [options]"],
  ["doctor --samples many", "argument 'many' is invalid", "doctor [options]"],
  ["keys add 1 --scopes read,rite", '--scopes is one of read, upload, deploy, admin, not "rite"', "keys add [options]"],
])("mintyard %s is refused with what is wrong with it, and the help of that command alone", (line, message, usage) => {
  const { status, stdout, stderr } = mintyard(line);
  const [first = ""] = stderr.split("\n");
  expect(first).toMatch(/^mintyard [a-z]+( [a-z]+)?: /);
  expect(first).toContain(message);
  expect(stderr.match(/^Usage: .*$/gm)).toHaveLength(1);
  expect(stderr).toContain(`\nUsage: mintyard ${usage}`);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
});

test("an action that does not exist, or is left out, is answered with those that do", () => {
  const wrong = mintyard("wallets frob");
  expect(wrong.stderr).toMatch(
    /^mintyard wallets: there is no wallets frob; wallets takes open, halt, reconcile, grant\n/,
  );
  expect(wrong.status).toBe(2);
  const absent = mintyard("keys");
  expect(absent.stderr).toMatch(/^mintyard keys: an action is missing; keys takes create, add, list, revoke\n/);
  expect(absent.stderr.match(/^ {2}keys /gm)).toHaveLength(4);
  expect(absent.stderr).not.toContain("wallets");
});

test("a command that does not exist is answered with the one that was meant", () => {
  const { status, stderr } = mintyard("strat");
  expect(stderr).toMatch(/^mintyard strat: unknown command 'strat'\n\(Did you mean start\?\)\n`mintyard help` /);
  expect(status).toBe(2);
});

test("help shows everything, or what it is asked about, and asks nobody", () => {
  const all = mintyard("help");
  expect(all.status).toBe(0);
  expect(all.stdout).toMatch(/^Usage: mintyard <command>\n/);
  expect(all.stdout.match(/^ {2}[a-z]/gm)?.length).toBeGreaterThan(30);
  expect(mintyard("")).toEqual(all);
  expect(mintyard("--help")).toEqual(all);
  const one = mintyard("keys add --help");
  expect(one.stdout).toMatch(/^Usage: mintyard keys add \[options\] <account>\n/);
  expect(one.stdout).toMatch(/^ {2}--scopes <list> +of read,upload,deploy,admin/m);
  expect(mintyard("help keys add")).toEqual(one);
  expect(mintyard("help frob").status).toBe(2);
});

test("the version is that of the package", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  expect(mintyard("--version")).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
});

test("what the arguments allow is begun", () => {
  const { status, stderr } = mintyard("accounts list");
  expect(stderr).toMatch(/^mintyard accounts list: .*ECONNREFUSED/);
  expect(stderr).not.toContain("Usage");
  expect(status).toBe(1);
});

test("commands on the database take that of the stack that runs here, those on the API find it by themselves", () => {
  const program = createProgram();
  const joins = (line: string) => {
    const command = findCommand(program, line.split(" "));
    return command && needsService(command);
  };
  for (const line of ["accounts list", "wallets open", "events operator create", "events operator deliveries"])
    expect([line, joins(line)]).toEqual([line, true]);
  for (const line of ["start", "launch status", "events listen", "events trigger", "events endpoints create"])
    expect([line, joins(line)]).toEqual([line, false]);
});
