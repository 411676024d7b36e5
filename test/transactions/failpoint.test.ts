import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { ConfigError } from "../../src/setting-words.ts";

const source = join(import.meta.dirname, "../../src");
const local = {
  DATABASE_URL: "postgres://x",
  RPC_URL_GOERLI: "http://127.0.0.1:1",
  CHAIN_ID_GOERLI: "31337",
  LOCAL_GOERLI: "true",
};
const production = { NODE_ENV: "production", KEY_PEPPER: "of this test" };

/** A process with this environment goes past a failpoint, as each process of the service does. */
async function pass(env: Record<string, string>): Promise<{ signal: string | null; output: string }> {
  const module = (file: string) => JSON.stringify(join(source, file));
  const program = `
    import { loadConfig } from ${module("config/config.ts")};
    import { armFailpoints, failpoint } from ${module("transactions/store/failpoint.ts")};
    armFailpoints(loadConfig(process.env).failpoints);
    failpoint("send-after");
    console.log("passed");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { env });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece: Buffer) => {
      output += piece.toString();
    });
  const signal = await new Promise<string | null>((done) => child.once("close", (_, name) => done(name)));
  return { signal, output };
}

test("a failpoint kills the process where its variable says so, and does nothing without it", async () => {
  const [without, armed, refused] = await Promise.all([
    pass(local),
    pass({ ...local, MINTYARD_CHAOS_CRASH: "send-after:1" }),
    pass({ ...local, ...production, MINTYARD_CHAOS_CRASH: "send-after:1" }),
  ]);
  expect(without).toEqual({ signal: null, output: "passed\n" });
  expect(armed).toEqual({ signal: "SIGKILL", output: "CHAOS_CRASH send-after\n" });
  expect(refused).toMatchObject({ signal: null, output: expect.stringContaining("MINTYARD_CHAOS_CRASH: failpoints") });
  expect(refused.output).not.toContain("passed");
});

test("failpoints are refused in production and where a chain is not local", () => {
  const env = { ...local, MINTYARD_CHAOS_CRASH: "send-after:1" };
  expect(loadConfig(local).failpoints).toBeNull();
  expect(loadConfig({ ...local, ...production }).failpoints).toBeNull();
  expect(loadConfig(env).failpoints).toBe("send-after:1");
  expect(() => loadConfig({ ...env, ...production })).toThrow(ConfigError);
  expect(() => loadConfig({ ...env, LOCAL_GOERLI: "false" })).toThrow(ConfigError);
  // Somebody who calls a real chain local all the same: by its id, or by where it is.
  for (const real of [{ CHAIN_ID_GOERLI: "1" }, { CHAIN_ID_GOERLI: "" }, { RPC_URL_GOERLI: "https://rpc.example/key" }])
    expect(() => loadConfig({ ...env, ...real })).toThrow(ConfigError);
});

test("only what the configuration accepted arms failpoints", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const containing = (text: string) => files.filter((file) => readFileSync(join(source, file), "utf8").includes(text));
  expect(containing("armFailpoints(").sort()).toEqual([
    "processes/create-services.ts",
    "transactions/store/failpoint.ts",
  ]);
  expect(containing("armFailpoints(config.failpoints)")).toEqual(["processes/create-services.ts"]);
  expect(containing('env["MINTYARD_CHAOS_CRASH"]')).toEqual(["config/failpoints.ts"]);
});
