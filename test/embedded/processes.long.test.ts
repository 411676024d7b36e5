import { existsSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client } from "../setup/client.ts";
import { type RunningStack, type StackOptions, startStackProcess } from "../setup/stack.ts";
import { processesOf } from "../setup/stack-processes.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { measuredSlowness, patient } from "../setup/wait.ts";

/** The guard of the database looks every tenth of a second whether the server has ended, and goes too. */
const noneLeft = async (stack: { dir: string }) => await expect.poll(() => processesOf(stack), patient).toEqual([]);

describe("npm start", () => {
  let stack: RunningStack;
  let other: RunningStack;
  beforeAll(async () => {
    stack = await startStackProcess();
  });
  afterAll(async () => {
    await stack?.remove();
    await other?.remove();
  });

  test("says how far it is: a line with its time for each part", () => {
    const parts = ["postgres", "chain-goerli", "signer", "api", "worker", "indexer-goerli"];
    for (const part of parts)
      expect(stack.lines.filter((line) => line.startsWith(`mintyard: ${part} `))).toEqual([
        expect.stringMatching(/^mintyard: \S+ +\d+\.\d s {2}ready$/),
      ]);
    const last = stack.lines.findIndex((line) => line.startsWith("MINTYARD_READY "));
    const shown = stack.lines.flatMap((line, index) => (line.endsWith("s  ready") && index < last ? [line] : []));
    expect(shown).toHaveLength(parts.length);
  });

  test("prints the ready line, with everything a client needs", () => {
    expect(stack.ready).toMatchObject({
      graphql: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/graphql$/),
      rest: expect.stringMatching(/\/v0$/),
      gateway: expect.stringMatching(/\/ipfs$/),
      rpcUrl: expect.stringMatching(/^http/),
      chainId: 31337,
      databaseUrl: expect.stringMatching(/^postgres:/),
      factory: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      relayer: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
    });
  });

  test("commands find the service that runs in their folder, and nothing when none does", async () => {
    const created = await stack.command(["keys", "create", "--tier", "growth", "--name", "studio"]);
    expect(created.code).toBe(0);
    const [key = ""] = /mty_\w+/.exec(created.output) ?? [];
    expect((await new Client(stack.ready, key).get("/nfts?chain=goerli")).status).toBe(200);
    const wallets = await stack.command(["wallets"]);
    expect(wallets.output.toLowerCase()).toContain(String(stack.ready.relayer).toLowerCase());
    const elsewhere = await stack.command(["wallets"], { MINTYARD_DATA_DIR: `${stack.dir}/nothing` });
    expect(elsewhere).toMatchObject({ code: 1, output: expect.stringContaining("DATABASE_URL: missing") });
    expect((statSync(`${stack.dir}/environment.json`).mode & 0o777).toString(8)).toBe("600");
  });

  test.each([
    ["api", "src/processes/api.ts"],
    ["worker", "src/processes/worker.ts"],
    ["signer", "src/processes/signer.ts"],
    ["indexer-goerli", "src/processes/indexer.ts"],
    ["chain-goerli", "bin/local-chain.ts"],
    ["postgres", "postgres -D"],
  ])("kill -9 of %s is reported, and it runs again", async (name, command) => {
    const before = stack.lines.length;
    const found = processesOf(stack).filter((candidate) => candidate.command.includes(command));
    expect(found).not.toEqual([]);
    const victim = found[0]?.pid ?? 0;
    process.kill(victim, "SIGKILL");
    await stack.untilLine(new RegExp(`^mintyard: ${name} \\(process ${victim}\\) ended with SIGKILL; restarting it`));
    await stack.untilLine(new RegExp(`^mintyard: ${name} is running again`));
    expect(stack.lines.length).toBeGreaterThan(before);
    const answer = await new Client(stack.ready).until("/nfts?chain=goerli", ({ status }) => status === 200);
    expect(answer.body["response"]).toBe("OK");
  });

  test("a second one runs beside it, and a folder in use is refused by name", async () => {
    other = await startStackProcess();
    for (const { ready } of [stack, other])
      expect((await new Client(ready).get("/nfts?chain=goerli")).status).toBe(200);
    expect((await new Client(stack.ready, other.ready.apiKey).get("/nfts?chain=goerli")).status).toBe(403);
    await expect(startStackProcess({ dir: stack.dir })).rejects.toThrow(
      /uses .* already; stop it, or set MINTYARD_DATA_DIR/,
    );
  });

  test("SIGTERM ends it with code 0 within 10 seconds and leaves no process behind", async () => {
    const running = processesOf(stack);
    expect(running.length).toBeGreaterThanOrEqual(6);
    const { code, tookMs } = await stack.terminate();
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(10_000 * measuredSlowness);
    await noneLeft(stack);
    expect(existsSync(`${stack.dir}/environment.json`)).toBe(false);
  });

  test("a start on the same folder continues where it was", async () => {
    const mint = { chain: "goerli", name: "One", description: "", file_url: "ipfs://x" };
    const mintTo = async (client: Client, digit: string) => {
      const { body } = await client.json("/mints/easy/urls", { ...mint, mint_to_address: `0x${digit.repeat(40)}` });
      const { body: minted } = await client.until(
        `/mints/${body["transaction_hash"]}?chain=goerli`,
        (answer) => typeof answer.body["token_id"] === "string",
      );
      const page = `/nfts/${body["contract_address"]}/${minted["token_id"]}?chain=goerli&include=all`;
      // That its picture is nowhere is found last of all.
      return {
        page,
        shown: await client.until(
          page,
          ({ status, body }) => status === 200 && body["nft"]?.["metadata_warnings"]?.length > 0,
        ),
      };
    };
    const { dir } = other;
    const first = await mintTo(new Client(other.ready), "a");
    expect((await other.terminate()).code).toBe(0);
    other = await startStackProcess({ dir });
    const client = new Client(other.ready);
    expect((await client.until(first.page, ({ status }) => status === 200)).body).toEqual(first.shown.body);
    const second = await mintTo(client, "b");
    expect(second.page).not.toBe(first.page);
  });

  test("a start right after the launcher was killed takes the database over", async () => {
    const { dir } = other;
    await other.terminate("SIGKILL");
    // The server still runs: it waits for its clients' end. stop-with-parent.long.test.ts waits for its own.
    expect(processesOf(other).filter(({ command }) => command.includes("postgres -D"))).not.toEqual([]);
    other = await startStackProcess({ dir });
    expect((await new Client(other.ready).get("/nfts?chain=goerli")).status).toBe(200);
    // The guard of the server before would have ended another one by now.
    await sleep(9_000);
    expect((await new Client(other.ready).get("/nfts?chain=goerli")).status).toBe(200);
    expect(other.lines.filter((line) => line.includes("restarting it"))).toEqual([]);
    await other.remove();
    await noneLeft(other);
  });

  test("SIGTERM while it starts ends it as well, with nothing left", async () => {
    const dir = temporaryFolder();
    const stopWhen = async (when: StackOptions["stopWhen"]) => {
      const started = startStackProcess({ dir, ...(when ? { stopWhen: when } : {}) });
      const { message } = await started.then(
        () => new Error("it was not stopped"),
        (error: Error) => error,
      );
      await noneLeft({ dir });
      return message;
    };
    // A signal before it listens for one ends it as any other Node: then the next one comes later.
    let message = "";
    for (let ms = 250; message === "" || message.endsWith("with code null:\n"); ms *= 1.3)
      message = await stopWhen((_, startMs) => startMs > ms);
    expect(message).toMatch(/^start ended with code 0/);
    for (const parts of [1, 2]) {
      const ready = (lines: readonly string[]) => lines.filter((line) => line.endsWith("s  ready")).length;
      expect(await stopWhen((lines) => ready(lines) >= parts)).toMatch(/^start ended with code 0/);
    }
  });
});
