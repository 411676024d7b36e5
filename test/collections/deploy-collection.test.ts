import { type Address, createWalletClient, type Hex, http, parseEther } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { type DeployCollectionInput, deployments } from "../../src/collections/deployment-input.ts";
import { getEligibility } from "../../src/collections/eligibility.ts";
import { getRequest, listRequests } from "../../src/requests/requests.ts";
import type { Services } from "../../src/services.ts";
import { patient } from "../setup/wait.ts";
import { launch, RelayHarness, randomAddress } from "../transactions/harness.ts";

let h: RelayHarness;
let services: Services;
let caller: Caller;
beforeAll(async () => {
  h = await RelayHarness.start();
  services = h.process({ RPC_URL_POLYGON: h.proxy.url, CHAIN_ID_POLYGON: "31338" });
  caller = await h.caller();
});
afterAll(() => h?.stop());

const refusal = (changes: Partial<DeployCollectionInput>, who = caller) =>
  deployCollection(services, who, launch(changes)).catch((error: unknown) => error);

const zero = `0x${"0".repeat(40)}`;

describe("refuses before anything is stored", () => {
  test.each<[string, Partial<DeployCollectionInput>, string, string]>([
    ["no supply", { maxSupply: 0n }, "value_error", "maxSupply"],
    ["more per mint than the supply", { tokensPerMint: 101n }, "value_error", "tokensPerMint"],
    ["a reserve over the supply", { reservedSupply: 101n }, "value_error", "reservedSupply"],
    ["a negative price", { mintPriceWei: -1n }, "value_error", "mintPriceWei"],
    ["a price that the contract cannot hold", { mintPriceWei: 2n ** 88n }, "value_error", "mintPriceWei"],
    ["royalties over the whole", { royaltiesBps: 10_001n }, "value_error", "royaltiesBps"],
    ["royalties for nobody", { royaltiesBps: 1n, royaltiesAddress: zero }, "invalid_address", "royaltiesAddress"],
    ["a zero owner", { ownerAddress: zero }, "invalid_address", "ownerAddress"],
    ["a zero treasury", { treasuryAddress: zero }, "invalid_address", "treasuryAddress"],
    ["an empty name", { name: "" }, "value_error", "name"],
    ["half a surrogate pair", { symbol: "\ud800" }, "value_error", "symbol"],
    ["metadata that could never be revealed", { metadataUpdatable: false }, "value_error", "baseUri"],
    ["an unknown chain", { chain: "dogechain" }, "invalid_enumeration", "chain"],
    ["a chain that is not served", { chain: "ethereum" }, "chain_not_supported", "chain"],
    ["a chain without a factory", { chain: "polygon" }, "chain_not_supported", "chain"],
    ["a wallet that is none", { allowlist: ["0x12"] }, "invalid_address", "allowlist"],
    ["a start after the year 36812", { publicMintStart: new Date(8.64e15) }, "value_error", "publicMintStart"],
    ["a key with a line break", { idempotencyKey: "a\nb" }, "value_error", "idempotencyKey"],
  ])("%s", async (_title, changes, code, field) => {
    expect(await refusal(changes)).toMatchObject({ code, field });
    const { rows } = await services.pool.query("SELECT count(*) FROM service.intent");
    expect(rows[0].count).toBe(0n);
  });

  test("the relayer or the factory as owner", async () => {
    expect(await refusal({ ownerAddress: h.relayer })).toMatchObject({
      code: "invalid_address",
      field: "ownerAddress",
    });
    expect(await refusal({ treasuryAddress: h.factory.address })).toMatchObject({ field: "treasuryAddress" });
  });

  test("all faults at once, the gravest first", async () => {
    const error = await refusal({ maxSupply: 0n, ownerAddress: zero, royaltiesBps: -1n });
    expect(error).toMatchObject({ code: "invalid_address", field: "ownerAddress" });
    const { problems } = (error as { details: { problems: { field: string }[] } }).details;
    expect(problems.map(({ field }) => field).sort()).toEqual(
      ["ownerAddress", "maxSupply", "reservedSupply", "royaltiesBps", "tokensPerMint"].sort(),
    );
  });

  test("what a free key may not do", async () => {
    const free = await h.caller("free");
    expect(await refusal({ maxSupply: 5_001n }, free)).toMatchObject({
      code: "plan_limit_exceeded",
      field: "maxSupply",
    });
    expect(await refusal({ maxSupply: 0n, chain: "goerli" }, free)).toMatchObject({ code: "value_error" });
    const paid = h.process({ PAID_TIER_ONLY_GOERLI: "true" });
    await expect(deployCollection(paid, free, launch())).rejects.toMatchObject({
      code: "plan_limit_exceeded",
      field: "chain",
    });
    const { deployment } = await deployCollection(services, free, launch({ maxSupply: 5_000n }));
    expect(deployment.state).not.toBe("held");
  });
});

describe("one request is one deployment", () => {
  test("with a key, for ever; another request under it is refused", async () => {
    const input = launch({ idempotencyKey: "once" });
    const first = await deployCollection(services, caller, input);
    await h.until(services, first.deployment.id, ["finalized"]);
    await services.pool.query(
      "UPDATE service.intent SET settled_at = now() - interval '1 year', version = version + 1 WHERE id = $1",
      [first.deployment.id],
    );
    const second = await deployCollection(services, caller, input);
    expect(second.deployment.id).toBe(first.deployment.id);
    expect(second.idempotencyKey).toBe("once");
    const other = launch({ idempotencyKey: "once" });
    await expect(deployCollection(services, caller, other)).rejects.toMatchObject({ code: "value_error" });
    const thirdParty = await deployCollection(services, await h.caller(), input);
    expect(thirdParty.deployment.id).not.toBe(first.deployment.id);
  });

  test("with a presale list, answered while storage is full; a new one is refused", async () => {
    const input = launch({ idempotencyKey: "before-it-was-full", allowlist: [randomAddress()] });
    const first = await deployCollection(services, caller, input);
    const unnamed = launch({ allowlist: [randomAddress()] });
    const second = await deployCollection(services, caller, unnamed);
    const full = h.process({ DATABASE_MAX_BYTES: "1" });
    expect((await deployCollection(full, caller, input)).deployment.id).toBe(first.deployment.id);
    expect((await deployCollection(full, caller, unnamed)).deployment.id).toBe(second.deployment.id);
    await expect(deployCollection(full, caller, { ...input, idempotencyKey: "when-it-is-full" })).rejects.toMatchObject(
      {
        code: "storage_full",
      },
    );
  });

  test("without a key, until ten minutes after it ended", async () => {
    const input = launch();
    const first = await deployCollection(services, caller, input);
    const shouted = { ...input, ownerAddress: `0x${input.ownerAddress.slice(2).toUpperCase()}`, chain: "rinkeby" };
    expect((await deployCollection(services, caller, shouted)).deployment.id).toBe(first.deployment.id);
    await h.until(services, first.deployment.id, ["finalized"]);
    const later = await deployCollection(services, caller, input);
    expect(later.deployment.id).toBe(first.deployment.id);
    expect(later.idempotencyKey).toBe(first.idempotencyKey);
    await services.pool.query(
      "UPDATE service.intent SET settled_at = now() - interval '11 minutes', version = version + 1 WHERE id = $1",
      [first.deployment.id],
    );
    const again = await deployCollection(services, caller, input);
    expect(again.deployment.id).not.toBe(first.deployment.id);
    expect(again.deployment.contract).not.toBe(first.deployment.contract);
  });
});

test("deployments are listed newest first, page by page, for their own account", async () => {
  const owner = await h.caller();
  const ids: string[] = [];
  for (let index = 0; index < 3; index += 1)
    ids.unshift((await deployCollection(services, owner, launch())).deployment.id);
  const first = await listRequests(services, owner, deployments, { first: 2 });
  expect(first.hasNext).toBe(true);
  const rest = await listRequests(services, owner, deployments, { first: 2, after: first.items.at(-1)?.cursor });
  expect(rest.hasNext).toBe(false);
  expect([...first.items, ...rest.items].map(({ node }) => node.id)).toEqual(ids);
  await expect(getRequest(services, caller, deployments, { id: ids[0] ?? "" })).rejects.toMatchObject({
    code: "not_found",
  });
  await expect(listRequests(services, owner, deployments, { first: 2, after: "x" })).rejects.toMatchObject({
    code: "invalid_continuation_string",
  });
});

test("a listed wallet gets the proof that the contract takes; nobody gets the list", async () => {
  const [listed = zero as Address] = (await h.chain.request({ method: "eth_accounts" } as never)) as Address[];
  const input = launch({
    allowlist: [randomAddress(), listed, randomAddress(), randomAddress(), listed.toLowerCase()],
    presaleMintStart: new Date("2022-07-01T00:00:00Z"),
    presaleMintPriceWei: parseEther("0.005"),
  });
  const { deployment } = await deployCollection(services, caller, input);
  const collection = deployment.contract;
  const ask = (wallet: string, services_ = services) =>
    getEligibility(services_, { chain: "goerli", collection, wallet: wallet.toLowerCase() as Address }, "test");
  await expect(ask(listed)).rejects.toMatchObject({ code: "not_found" });
  await h.until(services, deployment.id, ["finalized"]);

  const yes = await ask(listed);
  expect(yes).toMatchObject({ eligible: true, reason: null });
  expect(await ask(randomAddress())).toMatchObject({ eligible: false, reason: "NOT_LISTED", proof: null });

  const wallet = createWalletClient({ transport: http(h.node.url) });
  const hash = await wallet.writeContract({
    account: listed,
    address: collection,
    abi: collectionAbi,
    functionName: "presaleMint",
    args: [1n, yes.proof as Hex[]],
    value: parseEther("0.005"),
    chain: null,
  });
  expect((await h.chain.waitForTransactionReceipt({ hash })).status).toBe("success");
  // What the contract says is kept for two seconds.
  await expect.poll(() => ask(listed), patient).toMatchObject({ eligible: false, reason: "ALREADY_MINTED" });

  const open = await deployCollection(services, caller, launch());
  await h.until(services, open.deployment.id, ["finalized"]);
  const none = { chain: "goerli", collection: open.deployment.contract, wallet: listed };
  expect(await getEligibility(services, none, "test")).toMatchObject({
    eligible: false,
    reason: "NO_LIST",
    proof: null,
  });
});

test("what is legal but probably not meant is said", async () => {
  const { warnings } = await deployCollection(services, caller, launch({ presaleMintStart: new Date("2030-01-01") }));
  expect(warnings).toEqual([
    "the presale starts no earlier than the public sale",
    "the presale has a start but nobody on its list",
  ]);
});
