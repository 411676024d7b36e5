import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { readHistory } from "../../src/accounts/read-history.ts";
import { takeSamples } from "../../src/accounts/take-samples.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { deployments } from "../../src/collections/deployment-input.ts";
import { findDeployedContract } from "../../src/collections/find-deployed-contract.ts";
import { toBytes } from "../../src/db/bytes.ts";
import { getRequest } from "../../src/requests/requests.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { runRelay } from "../../src/transactions/track/run-relay.ts";
import { createIndexedDatabase } from "../setup/database.ts";
import { wait } from "../setup/wait.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";

/** Of `/console/history`, what is compared here. */
interface History {
  now: number;
  chains: {
    points: { at: number }[];
    wallets: { wallet: string; points: { at: number; wei: string }[] }[];
    spending: { hour: number; wei: string }[];
  }[];
}

let h: RelayHarness;
let api: Services;
let worker: Services;
beforeAll(async () => {
  // The state of the service is read of the index too.
  h = await RelayHarness.start(async () => (await createIndexedDatabase([31337])).database);
  api = h.process();
  worker = h.process();
});
afterAll(() => h?.stop());
afterEach(() => h.proxy.heal());

describe("a deployment", () => {
  test("is answered with a hash before it is mined and stands at the predicted address", async () => {
    const caller = await h.caller();
    const input = launch({
      royaltiesBps: 500n,
      allowlist: [launch().ownerAddress],
      presaleMintStart: new Date("2022-07-01"),
    });
    const { deployment } = await deployCollection(api, caller, input);
    expect(deployment.confirmed).toBe(false);

    await h.until(worker, deployment.id, ["confirmed", "finalized"]);
    const stands = await getRequest(api, caller, deployments, { id: deployment.id });
    expect(stands).toMatchObject({ contract: deployment.contract, confirmed: true });
    expect(stands.transactionHash).toBe(deployment.transactionHash);

    const receipt = await h.chain.getTransactionReceipt({ hash: deployment.transactionHash });
    expect(receipt.status).toBe("success");
    const info = await h.chain.readContract({
      address: deployment.contract,
      abi: collectionAbi,
      functionName: "getInfo",
    });
    expect(info.deploymentConfig).toMatchObject({
      name: input.name,
      symbol: "TSK",
      maxSupply: 100n,
      reservedSupply: 5n,
      tokensPerMint: 10n,
    });
    expect(info.deploymentConfig.owner.toLowerCase()).toBe(input.ownerAddress);
    expect(info.deploymentConfig.treasuryAddress.toLowerCase()).toBe(input.treasuryAddress);
    expect(info.runtimeConfig).toMatchObject({
      baseURI: "",
      metadataUpdatable: true,
      publicMintPrice: input.mintPriceWei,
      publicMintPriceFrozen: true,
      presaleMintPrice: input.mintPriceWei,
      presaleMintPriceFrozen: true,
      publicMintStart: 1657625448n,
      presaleMintStart: 1656633600n,
      presaleMerkleRoot: stands.payload.presaleMerkleRoot,
      royaltiesBps: 500n,
    });
    // The service can reveal and update it; the option leaves that out.
    const adminRole = await h.chain.readContract({
      address: deployment.contract,
      abi: collectionAbi,
      functionName: "ADMIN_ROLE",
    });
    const isAdmin = { abi: collectionAbi, functionName: "hasRole", args: [adminRole, h.relayer] } as const;
    expect(await h.chain.readContract({ address: deployment.contract, ...isAdmin })).toBe(true);
    const without = await deployCollection(api, caller, launch({ grantServiceAdmin: false }));
    await h.until(worker, without.deployment.id, ["confirmed", "finalized"]);
    expect(await h.chain.readContract({ address: without.deployment.contract, ...isAdmin })).toBe(false);
  });

  test("is in the operator's plots: two workers write one sample of a period, and keep 48 hours of them", async () => {
    const read = async (): Promise<History> => JSON.parse(await readHistory(h.process()));
    const spent = ({ chains: [chain] }: History) =>
      (chain?.spending ?? []).reduce((sum, { wei }) => sum + BigInt(wei), 0n);
    const before = spent(await read());
    const { deployment } = await deployCollection(api, await h.caller(), launch());
    await h.until(worker, deployment.id, ["confirmed", "finalized"]);
    const { gasUsed, effectiveGasPrice } = await h.chain.getTransactionReceipt({ hash: deployment.transactionHash });
    expect(spent(await read()) - before).toBe(gasUsed * effectiveGasPrice);

    // This one is mined, and no worker has looked since.
    const { deployment: waits } = await deployCollection(api, await h.caller(), launch());
    await wait(`${waits.transactionHash} to be mined`, () =>
      h.chain.getTransactionReceipt({ hash: waits.transactionHash }).catch(() => null),
    );
    const wei = await h.chain.getBalance({ address: h.relayer });
    const { pool } = worker;
    await pool.query(
      `INSERT INTO service.chain_sample (chain_id, at, waiting)
       SELECT 31337, now() - hours * interval '1 hour', 0 FROM unnest(ARRAY[47, 49]) AS hours`,
    );
    await pool.query(
      `INSERT INTO service.wallet_sample (chain_id, addr, at, wei)
       SELECT 31337, $1, now() - hours * interval '1 hour', 0 FROM unnest(ARRAY[47, 49]) AS hours`,
      [toBytes(h.relayer)],
    );
    // Half a day: it does not end between the two.
    await Promise.all([worker, h.process()].map((each) => takeSamples(each, [goerli(each)], 43_200)));
    const ages = "SELECT floor(extract(epoch FROM now() - at) / 3600)::int / 12 AS half_days FROM";
    for (const table of ["service.chain_sample", "service.wallet_sample"]) {
      const { rows } = await pool.query(`${ages} ${table} ORDER BY at`);
      expect(rows).toEqual([{ half_days: 3 }, { half_days: 0 }]);
    }
    const { chains, now } = await read();
    expect(chains).toMatchObject([{ chain: "goerli", chainId: 31337 }]);
    // The index of this harness has no block.
    expect(chains[0]?.points).toEqual([
      { at: expect.any(Number), lagSeconds: null, lagBlocks: null, waiting: 1, oldestSeconds: null },
    ]);
    expect(now - (chains[0]?.points[0]?.at ?? 0)).toBeLessThan(43_300);
    expect(chains[0]?.wallets).toEqual([
      { wallet: h.relayer, points: [{ at: chains[0]?.points[0]?.at, wei: String(wei) }] },
    ]);
    await h.until(worker, waits.id, ["confirmed", "finalized"]);
  });

  test("asked for twenty times at once, of two processes with two workers, is one collection", async () => {
    const caller = await h.caller();
    const second = h.process();
    const before = (await h.announced()).length;
    const input = launch();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => deployCollection(index % 2 ? api : second, caller, input)),
    );
    expect(new Set(answers.map(({ deployment }) => deployment.transactionHash)).size).toBe(1);
    const id = answers[0]?.deployment.id ?? "";
    await Promise.all([
      h.until(worker, id, ["confirmed", "finalized"]),
      h.until(second, id, ["confirmed", "finalized"]),
    ]);
    expect((await h.announced()).length).toBe(before + 1);
  });

  test("one of more at once than a wallet holds, of two processes, loses nothing and leaves no gap between nonces", async () => {
    const caller = await h.caller();
    const second = h.process();
    const before = (await h.announced()).length;
    const inputs = Array.from({ length: 24 }, () => launch());
    const stop = new AbortController();
    const workers = [worker, h.process()].map((services) => runRelay(services, new Rounds(stop.signal)));
    const answers = await Promise.all(
      inputs.map((input, index) => deployCollection(index % 2 ? api : second, caller, input)),
    );
    for (const { deployment } of answers) await h.untilState(deployment.id, ["confirmed", "finalized"]);
    stop.abort();
    await Promise.all(workers);
    const announced = await h.announced();
    expect(announced.length).toBe(before + 24);
    const collections = new Set(announced.map(({ collection }) => collection));
    for (const { deployment } of answers) expect(collections).toContain(deployment.contract);
    const { rows } = await worker.pool.query("SELECT min(nonce), max(nonce), count(*) FROM service.nonce_reservation");
    expect(BigInt(rows[0].max) - BigInt(rows[0].min) + 1n).toBe(rows[0].count);
    const count = await h.chain.getTransactionCount({ address: h.relayer });
    expect(BigInt(count)).toBe(rows[0].max + 1n);
  });

  test("whose answer from the node is lost ends as exactly one collection", async () => {
    const caller = await h.caller();
    const before = (await h.announced()).length;
    h.proxy.loseAnswers("eth_sendRawTransaction");
    const { deployment } = await deployCollection(api, caller, launch());
    h.proxy.heal();
    await h.until(worker, deployment.id, ["confirmed", "finalized"]);
    expect((await h.announced()).length).toBe(before + 1);
    const { rows } = await worker.pool.query(
      "SELECT e.outcome_code FROM service.attempt_event e JOIN service.attempt a ON a.hash = e.attempt_hash WHERE a.hash = $1",
      [Buffer.from(deployment.transactionHash.slice(2), "hex")],
    );
    expect(rows.length).toBeGreaterThan(0);
  });

  test("is found by its hash in any letter case, and only by its own account", async () => {
    const caller = await h.caller();
    const { deployment } = await deployCollection(api, caller, launch());
    const ask = (hash: string, who = caller) =>
      findDeployedContract(api, who, { chain: "goerli", transactionHash: hash });
    await expect(ask(deployment.transactionHash)).rejects.toMatchObject({ code: "transaction_pending" });
    await h.until(worker, deployment.id, ["confirmed", "finalized"]);
    const address = await ask(`0x${deployment.transactionHash.slice(2).toUpperCase()}`);
    expect(address.toLowerCase()).toBe(deployment.contract);
    expect(address).not.toBe(address.toLowerCase());
    await expect(ask(deployment.transactionHash, await h.caller())).rejects.toMatchObject({ code: "not_found" });
    await expect(ask(`0x${"0".repeat(64)}`)).rejects.toMatchObject({ code: "not_found" });
    await expect(ask("0x12")).rejects.toMatchObject({ code: "value_error" });
  });
});
