import { existsSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client } from "../setup/client.ts";
import { type RunningStack, type StackOptions, startStackProcess } from "../setup/stack.ts";
import { hearsSignals, processesOf } from "../setup/stack-processes.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { measuredSlowness, patient } from "../setup/wait.ts";
import { launch } from "./launch-on-chain.ts";

/** The guard of the database looks every tenth of a second whether the server has ended, and goes too. */
const noneLeft = async (stack: { dir: string }) => await expect.poll(() => processesOf(stack), patient).toEqual([]);

/** A token of its own contract, and its page when nothing is added to it any more. */
async function mintTo(client: Client, digit: string): Promise<{ page: string; shown: unknown }> {
  const mint = { chain: "goerli", name: "One", description: "", file_url: "ipfs://x" };
  const { body } = await client.json("/mints/easy/urls", { ...mint, mint_to_address: `0x${digit.repeat(40)}` });
  const { body: minted } = await client.until(
    `/mints/${body["transaction_hash"]}?chain=goerli`,
    (answer) => typeof answer.body["token_id"] === "string",
  );
  const page = `/nfts/${body["contract_address"]}/${minted["token_id"]}?chain=goerli&include=all`;
  // That its picture is nowhere is found last of all.
  const whole = await client.until(
    page,
    ({ status, body }) => status === 200 && body["nft"]?.["metadata_warnings"]?.length > 0,
  );
  return { page, shown: whole.body };
}

// One folder and its service, started twice, first with two chains: each test needs those above it.
describe("npm start", () => {
  let stack: RunningStack;
  beforeAll(async () => {
    stack = await startStackProcess({ env: { MINTYARD_LOCAL_CHAINS: "goerli,polygon" } });
  });
  afterAll(() => stack?.remove());

  /** SIGKILL, until the launcher has said so and started it again. */
  async function killed(name: string, victim: number): Promise<void> {
    process.kill(victim, "SIGKILL");
    await stack.untilLine(new RegExp(`^mintyard: ${name} \\(process ${victim}\\) ended with SIGKILL; restarting it`));
    await stack.untilLine(new RegExp(`^mintyard: ${name} is running again`));
  }

  test("says how far it is: a line with its time for each part", () => {
    const ofChains = ["chain-goerli", "chain-polygon", "indexer-goerli", "indexer-polygon"];
    const parts = ["postgres", "signer", "api", "worker", ...ofChains];
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
      factory: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      relayer: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
    });
    const { password } = new URL(stack.ready.databaseUrl);
    expect(password).toHaveLength(24);
    expect(stack.lines.filter((line) => line.includes(password))).toEqual([]);
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

  test("two chains at once, each with its own indexer: one stands still and is killed while the other goes on", async () => {
    const goerli = await launch(stack, "goerli");
    const polygon = await launch(stack, "polygon");
    expect(goerli.address).not.toBe(polygon.address);
    await goerli.mint();
    await polygon.mint();
    await goerli.untilOwned(["0"]);
    await polygon.untilOwned(["0"]);

    const indexers = processesOf(stack).filter(({ command }) => command.includes("src/processes/indexer.ts --chain"));
    expect(indexers).toHaveLength(2);
    const victim = indexers.find(({ command }) => command.endsWith("--chain polygon"))?.pid ?? 0;
    process.kill(victim, "SIGSTOP");
    await goerli.mint();
    await polygon.mint();
    await goerli.untilOwned(["0", "1"]);
    expect(await polygon.owned()).toEqual(["0"]);

    const again = killed("indexer-polygon", victim);
    await goerli.mint();
    await goerli.untilOwned(["0", "1", "2"]);
    await again;
    await polygon.untilOwned(["0", "1"]);
    expect(await goerli.owned()).toEqual(["0", "1", "2"]);
  });

  test("a second one runs beside it, and a folder in use is refused by name", async () => {
    // Without a chain: the files that run beside this one have whole ones.
    const other = await startStackProcess({ env: { MINTYARD_LOCAL_CHAINS: "" } });
    try {
      for (const { ready } of [stack, other])
        expect((await new Client(ready).graphql("{ viewer { id } }")).body["errors"]).toBeUndefined();
      expect((await new Client(stack.ready, other.ready.apiKey).get("/nfts?chain=goerli")).status).toBe(403);
    } finally {
      await other.remove();
    }
    await expect(startStackProcess({ dir: stack.dir })).rejects.toThrow(
      /uses .* already; stop it, or set MINTYARD_DATA_DIR/,
    );
  });

  test("a start right after the launcher was killed takes the database over and continues where it was", async () => {
    const { dir } = stack;
    const first = await mintTo(new Client(stack.ready), "a");
    await stack.terminate("SIGKILL");
    // The server still runs: it waits for its clients' end. stop-with-parent.long.test.ts waits for its own.
    expect(processesOf(stack).filter(({ command }) => command.includes("postgres -D"))).not.toEqual([]);
    // One chain, as usual.
    stack = await startStackProcess({ dir });
    const client = new Client(stack.ready);
    expect((await client.until(first.page, ({ status }) => status === 200)).body).toEqual(first.shown);
    const second = await mintTo(client, "b");
    expect(second.page).not.toBe(first.page);
    // The guard of the server before would have ended another one by now.
    await sleep(9_000);
    expect((await client.get("/nfts?chain=goerli")).status).toBe(200);
    expect(stack.lines.filter((line) => line.includes("restarting it"))).toEqual([]);
  });

  // An indexer is killed above.
  test.each([
    ["api", "src/processes/api.ts"],
    ["worker", "src/processes/worker.ts"],
    ["signer", "src/processes/signer.ts"],
    ["chain-goerli", "bin/local-chain.ts"],
    ["postgres", "postgres -D"],
  ])("kill -9 of %s is reported, and it runs again", async (name, command) => {
    const found = processesOf(stack).filter((candidate) => candidate.command.includes(command));
    expect(found).not.toEqual([]);
    await killed(name, found[0]?.pid ?? 0);
    const answer = await new Client(stack.ready).until("/nfts?chain=goerli", ({ status }) => status === 200);
    expect(answer.body["response"]).toBe("OK");
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

  test("SIGTERM while it starts ends it as well, with nothing left", async () => {
    const dir = temporaryFolder();
    const ready = (lines: readonly string[]) => lines.filter((line) => line.endsWith("s  ready")).length;
    // Stopped as soon as it handles signals, then once its database runs, then once its chain runs too.
    const moments: StackOptions["stopWhen"][] = [
      (_, pid) => hearsSignals(pid),
      (lines) => ready(lines) >= 1,
      (lines) => ready(lines) >= 2,
    ];
    for (const stopWhen of moments) {
      await expect(startStackProcess({ dir, ...(stopWhen ? { stopWhen } : {}) })).rejects.toThrow(
        /^start ended with code 0/,
      );
      await noneLeft({ dir });
    }
  });
});
