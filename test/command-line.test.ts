import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
// A database that does not answer: what is wrong with the arguments has to be said before it is asked.
const env = { PATH: process.env["PATH"], DATABASE_URL: "postgres://nobody@127.0.0.1:9/none" };

function mintyard(line: string) {
  const args = line.split(" ").filter(Boolean);
  const { status, stdout, stderr } = spawnSync(process.execPath, ["bin/mintyard.ts", ...args], {
    cwd: root,
    env,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

const usageOf = {
  analystCreate: "mintyard analyst create --name N",
  accountsCreate: "mintyard accounts create [--name N] [--tier T] [--email E]",
};

test.each([
  ["analyst create ada", '--name N is missing; unexpected argument "ada"', usageOf.analystCreate],
  ["analyst create --nmae ada", "Unknown option '--nmae'", usageOf.analystCreate],
  [
    "accounts create --tier gold",
    '--tier is one of free, growth, scale, enterprise, not "gold"',
    usageOf.accountsCreate,
  ],
  ["accounts tier", "ACCOUNT and T are missing", "mintyard accounts tier ACCOUNT T"],
  ["factory deploy", "--chain NAME is missing", "mintyard factory deploy --chain NAME"],
  ["export", "CID is missing", "mintyard export CID [FILE.car]"],
  ["wallets open 0x12", 'ADDRESS is 0x and 40 hex digits, not "0x12"', "mintyard wallets open ADDRESS"],
  ["wallets grant --timeout soon", '--timeout is a whole number, not "soon"', "mintyard wallets grant [--timeout S]"],
  ["doctor --samples many", '--samples is a whole number, not "many"', "mintyard doctor [--samples N]"],
])("mintyard %s is refused with what is wrong with it, and the usage of that command alone", (line, message, usage) => {
  const { status, stdout, stderr } = mintyard(line);
  const [first, second, third = "", ...rest] = stderr.trimEnd().split("\n");
  expect(first).toMatch(/^mintyard [a-z]+( [a-z]+)?: /);
  expect(first).toContain(message);
  expect(second).toBe("usage:");
  expect(third.trimStart().startsWith(`${usage}  `)).toBe(true);
  expect({ status, stdout, rest }).toEqual({ status: 2, stdout: "", rest: [] });
});

test("an action that does not exist, or is left out, is answered with those that do", () => {
  const wrong = mintyard("wallets frob");
  expect(wrong.stderr).toMatch(
    /^mintyard wallets: there is no wallets frob; wallets takes open, halt, reconcile, grant\n/,
  );
  expect(wrong.status).toBe(2);
  const absent = mintyard("keys");
  expect(absent.stderr).toMatch(/^mintyard keys: an action is missing; keys takes create, add, list, revoke\n/);
  expect(absent.stderr.match(/^ {2}mintyard keys /gm)).toHaveLength(4);
  expect(absent.stderr).not.toContain("mintyard wallets");
});

test("a command that does not exist is answered with the names of those that do", () => {
  const { status, stderr } = mintyard("strat");
  expect(stderr).toMatch(/^mintyard strat: there is no command "strat"; there are start, demo, .*, test, dev\n/);
  expect(stderr.trimEnd().split("\n")).toHaveLength(2);
  expect(status).toBe(2);
});

test("help shows everything, or what it is asked about, and asks nobody", () => {
  const all = mintyard("help");
  expect(all.status).toBe(0);
  expect(all.stdout).toMatch(/^usage: mintyard <command>\n/);
  expect(all.stdout.match(/^ {2}[a-z]/gm)?.length).toBeGreaterThan(30);
  expect(mintyard("")).toEqual(all);
  const one = mintyard("keys add --help");
  expect(one.stdout).toMatch(/^usage:\n {2}mintyard keys add ACCOUNT .*\n$/);
  expect(mintyard("help keys add")).toEqual(one);
});

test("what the arguments allow is begun", () => {
  const { status, stderr } = mintyard("accounts list");
  expect(stderr).toMatch(/^mintyard accounts list: .*ECONNREFUSED/);
  expect(stderr).not.toContain("usage");
  expect(status).toBe(1);
});
