import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { deployments } from "../../src/collections/deployment-input.ts";
import { findDeployedContract } from "../../src/collections/find-deployed-contract.ts";
import { getRequest } from "../../src/requests/requests.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { runRelay } from "../../src/transactions/track/run-relay.ts";
import { launch, RelayHarness } from "./harness.ts";

let h: RelayHarness;
let api: Services;
let worker: Services;
beforeAll(async () => {
  h = await RelayHarness.start();
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
