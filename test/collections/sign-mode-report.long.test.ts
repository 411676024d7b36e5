import { getAddress, type Hash, type Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { prepareDeployment, reportDeployment } from "../../src/collections/prepare-deployment.ts";
import { patient } from "../setup/wait.ts";
import { launch } from "../transactions/harness.ts";
import { newKey } from "./http-api.ts";
import { input } from "./launch-fixture.ts";
import { SignFixture } from "./sign-fixture.ts";

// The account's own word: which transaction is the deployment of its request.
type Wallet = Awaited<ReturnType<SignFixture["wallet"]>>;
let fixture: SignFixture;
let owner: Wallet;
let other: Wallet;
beforeAll(async () => {
  fixture = await SignFixture.start();
  [owner, other] = [await fixture.wallet(), await fixture.wallet()];
});
afterAll(() => fixture?.stop());

const request = () => input({ owner: owner.account.address });
const send = async (wallet: Wallet, data: Hex) => {
  const { contractAddress, transactionHash } = await fixture.mined(wallet.sendTransaction({ data }));
  return { address: (contractAddress ?? "0x").toLowerCase(), hash: transactionHash };
};
const report = async (transactionHash: Hash, key = fixture.api.key) => {
  const { data, errors } = await fixture.api.graphql(
    `mutation ($hash: Hex!) { reportDeployment(chain: "goerli", transactionHash: $hash) {
      collection userErrors { code field message } } }`,
    { hash: transactionHash },
    { Authorization: key },
  );
  expect(errors).toBeUndefined();
  return data["reportDeployment"] as unknown as { collection: string | null; userErrors: { code: string }[] };
};

test("a creator's wallet that was not named is detected once the account reports its transaction", async () => {
  const given = request();
  const { address, hash } = await send(other, await fixture.prepare(given));
  await fixture.detect();
  expect(await fixture.listedAs(given.name)).toEqual([]);
  expect(await report(hash)).toEqual({ collection: address, userErrors: [] });
  await fixture.detect();
  expect(await fixture.listedAs(given.name)).toEqual([address]);
  expect((await fixture.api.get(`/v0/contracts/${hash}?chain=goerli`)).body["contract_address"]).toBe(
    getAddress(address),
  );
});

test("a wallet that was named counts without a report, also when another one was named after it", async () => {
  const given = request();
  const data = await fixture.prepare(given, other.account.address);
  expect(await fixture.prepare(given, (await fixture.wallet()).account.address)).toBe(data);
  const { address } = await send(other, data);
  await fixture.detect();
  expect(await fixture.listedAs(given.name)).toEqual([address]);
});

test("the reported transaction displaces what was found before, and nothing displaces it", async () => {
  const given = request();
  const data = await fixture.prepare(given);
  const found = await send(owner, data);
  await fixture.detect();
  expect(await fixture.listedAs(given.name)).toEqual([found.address]);
  const own = await send(other, data);
  await report(own.hash);
  await fixture.detect();
  expect(await fixture.listedAs(given.name)).toEqual([own.address]);
  const role = { address: own.address as Hex, abi: collectionAbi, functionName: "owner" } as const;
  expect(await fixture.chain.readContract(role)).toBe(owner.account.address);

  await send(owner, data);
  await fixture.detect();
  expect((await report(found.hash)).userErrors).toMatchObject([{ code: "value_error", field: "transactionHash" }]);
  await fixture.detect();
  expect(await fixture.listedAs(given.name)).toEqual([own.address]);
});

test("a report of anything else is refused: another account's bytes, other bytes, an unknown hash", async () => {
  const data = await fixture.prepare(request());
  const { hash } = await send(other, data);
  const third = await newKey(fixture.api.services);
  expect(await report(hash, third)).toMatchObject({ collection: null, userErrors: [{ code: "value_error" }] });
  const longer = await send(other, `${data}00`);
  expect((await report(longer.hash)).userErrors).toMatchObject([{ code: "value_error" }]);
  const carried = await fixture.mined(other.sendTransaction({ to: owner.account.address, data }));
  expect((await report(carried.transactionHash)).userErrors).toMatchObject([{ code: "value_error" }]);
  expect((await report(`0x${"ab".repeat(32)}`)).userErrors).toMatchObject([{ code: "not_found" }]);
  expect((await report("0x12")).userErrors).toMatchObject([{ code: "value_error" }]);
});

test("one account makes the node answer so often and no more, and others are answered beside it", async () => {
  const { h } = fixture.launch;
  // For one account a fifth of it in a second, and all of it at once: a minute and more for what is asked here.
  const services = h.process({ READER_CALLS_PER_SECOND: "10" });
  const [greedy, other] = [await h.caller("free"), await h.caller("free")];
  let hashes = 0n;
  const unknown = () => ({ chain: "goerli", transactionHash: `0x${(++hashes).toString(16).padStart(64, "c")}` });
  const codeOf = (asked: Promise<unknown>) => asked.then(() => "ok").catch((error: { code: string }) => error.code);
  const asked = h.proxy.seen.length;
  const reports = Array.from({ length: 60 }, () => codeOf(reportDeployment(services, greedy, unknown())));
  const prepared = Promise.allSettled(Array.from({ length: 30 }, () => prepareDeployment(services, greedy, launch())));
  const codes = await Promise.all(reports);
  expect(new Set(codes)).toEqual(new Set(["not_found", "rate_limit_exceeded"]));
  const answered = codes.filter((code) => code === "not_found").length;
  expect(h.proxy.seen.slice(asked).filter((method) => method === "eth_getTransactionByHash")).toHaveLength(answered);
  expect(answered).toBeLessThan(60);
  const refused = { code: "rate_limit_exceeded", retryAfterSeconds: expect.any(Number) };
  expect(await prepared).toContainEqual({ status: "rejected", reason: expect.objectContaining(refused) });
  // In the first moment all that the process may ask was asked for the one.
  await expect.poll(() => codeOf(reportDeployment(services, other, unknown())), patient).toBe("not_found");
  await expect.poll(() => codeOf(prepareDeployment(services, other, launch())), patient).toBe("ok");
});

test("a transaction that the chain refused is reported as failed, and waited for no longer", async () => {
  const data = await fixture.prepare(request());
  const gas = ((await fixture.chain.estimateGas({ account: owner.account, data })) * 9n) / 10n;
  await fixture.chain.setAutomine(false);
  const hash = await owner.sendTransaction({ data, gas });
  await fixture.chain.setAutomine(true);
  await fixture.chain.mine({ blocks: 1 });
  expect((await fixture.chain.getTransactionReceipt({ hash })).status).toBe("reverted");
  expect((await report(hash)).userErrors).toMatchObject([{ code: "transaction_failed" }]);
});
