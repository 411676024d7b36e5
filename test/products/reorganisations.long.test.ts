import { randomBytes } from "node:crypto";
import { type Address, type Hex, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { toAddress } from "../../src/db/bytes.ts";
import { type CarriedOut, carryOut } from "../../src/products/carry-out.ts";
import { updateToken } from "../../src/products/change-tokens.ts";
import { createContract } from "../../src/products/create-contract.ts";
import { productRequests } from "../../src/products/find-product.ts";
import { mintTokens } from "../../src/products/mint-tokens.ts";
import { getRequest } from "../../src/requests/requests.ts";
import type { Services } from "../../src/services.ts";
import { grantWallets } from "../../src/transactions/operator/grant-wallets.ts";
import { getIntent } from "../../src/transactions/store/intents.ts";
import { findReservation } from "../../src/transactions/store/nonces.ts";
import type { TokensPayload } from "../../src/transactions/store/payloads.ts";
import { startRetry } from "../../src/transactions/track/apply.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { patient, slowness, wait } from "../setup/wait.ts";
import { goerli } from "../transactions/harness.ts";
import { relayRound } from "../transactions/round.ts";
import { ProductScenario, productReads, randomAddress, uri } from "./scenario.ts";

// Two wallets send for one contract, and the chain takes blocks back.

vi.setConfig({ testTimeout: 240_000 * slowness });

const other = "ipfs://bafkreigfpjajcargicualhqfbsyhxk2e2uf2rfplvvmdrjx2coamhpkoaq";

let s: ProductScenario;
let services: Services;
beforeAll(async () => {
  s = await ProductScenario.start();
  const key = generatePrivateKey();
  await s.h.chain.setBalance({ address: privateKeyToAccount(key).address, value: parseEther("1000") });
  const keys = { RELAYER_KEY_GOERLI: `${s.h.relayerKey},${key}` };
  const operator = s.h.process(keys, true);
  const quiet = { deadline: performance.now() + patient.timeout, report: () => undefined, askAdmin: () => undefined };
  await grantWallets(operator, goerli(operator), quiet);
  services = s.h.process({ ...keys, FINALITY_GOERLI: "10" });
});
afterAll(async () => s?.stop());

const query = async (text: string, values: unknown[] = []) => (await s.h.database.pool.query(text, values)).rows;
const setWallet = async (state: string) =>
  await query("UPDATE service.relayer_wallet SET state = $1 WHERE addr = $2", [
    state,
    Buffer.from(s.h.relayer.slice(2), "hex"),
  ]);
const setWallets = async (state: string) => await query("UPDATE service.relayer_wallet SET state = $1", [state]);
const walletOf = async ({ request }: CarriedOut) =>
  toAddress((await findReservation(services.db, request.id))?.addr ?? Buffer.alloc(20));

/** Rounds and blocks until the newest try of a request is in one of the states. */
async function settled({ request }: CarriedOut, states: readonly string[]): Promise<void> {
  const memory = createRelayMemory();
  const look = async () => {
    await relayRound(services, goerli(services), memory);
    await s.h.chain.mine({ blocks: 1 });
    const [row] = await query(
      "SELECT state FROM service.intent WHERE root_id = $1 ORDER BY retry_number DESC LIMIT 1",
      [request.id],
    );
    return row.state;
  };
  await wait(`a state of ${states.join(", ")}`, look, { until: (state) => states.includes(state) });
}

async function contractWithToken(owner: Address) {
  const operation = await createContract(services, s.caller, {
    ...{
      chain: "goerli",
      name: `Order ${randomBytes(4).toString("hex")}`,
      symbol: "ORD",
      ownerAddress: owner,
      metadataUpdatable: true,
    },
  });
  const made = await carryOut(services, s.caller, operation);
  await settled(made, ["confirmed", "finalized"]);
  const { contract } = made.request;
  const input = { chain: "goerli", contract, tokens: [{ to: owner, uri: "ipfs://first" }] };
  const mint = await carryOut(services, s.caller, await mintTokens(services, s.caller, input));
  await settled(mint, ["confirmed", "finalized"]);
  return { contract, tokenId: BigInt((mint.request.payload as TokensPayload).tokens[0]?.tokenId ?? 0) };
}

async function setUri(contract: Address, tokenId: bigint, to: string): Promise<CarriedOut> {
  const input = { chain: "goerli", contract, tokenId, uri: to };
  return await carryOut(services, s.caller, await updateToken(services, s.caller, input));
}

const uriOf = async (address: Address, tokenId: bigint) =>
  await s.h.chain.readContract({ address, abi: productReads, functionName: "tokenURI", args: [tokenId] });

test("a mint that is mined before its contract, after a reorganisation, is repeated", async () => {
  const snapshot = await s.h.chain.snapshot();
  const operation = await createContract(services, s.caller, {
    ...{ chain: "goerli", name: "Late", symbol: "LTE", ownerAddress: randomAddress() },
  });
  const made = await carryOut(services, s.caller, operation);
  await settled(made, ["confirmed"]);
  const { contract } = made.request;
  await setWallet("halted");
  const to = randomAddress();
  const input = { chain: "goerli", contract, tokens: [{ to, uri, tokenId: 7n }] };
  const mint = await carryOut(services, s.caller, await mintTokens(services, s.caller, input));
  await setWallet("open");
  expect(await walletOf(mint)).not.toBe(await walletOf(made));
  await settled(mint, ["confirmed"]);
  const [attempt] = await query(
    "SELECT encode(raw, 'hex') AS raw FROM service.attempt WHERE hash = decode($1, 'hex')",
    [mint.request.transactionHash.slice(2)],
  );
  await s.h.chain.revert({ id: snapshot });
  const serializedTransaction: Hex = `0x${attempt.raw}`;
  // The node mines it and answers with the revert.
  await s.h.chain.sendRawTransaction({ serializedTransaction }).catch(() => undefined);
  const hash = mint.request.transactionHash;
  expect((await s.h.chain.waitForTransactionReceipt({ hash })).status).toBe("reverted");
  await s.h.chain.mine({ blocks: 12 });
  await settled(mint, ["confirmed", "finalized", "failed_onchain"]);
  expect((await getRequest(services, s.caller, productRequests, { id: mint.request.id })).confirmed).toBe(true);
  const owner = await s.h.chain.readContract({
    ...{ address: contract, abi: productReads, functionName: "ownerOf", args: [7n] },
  });
  expect(owner.toLowerCase()).toBe(to.toLowerCase());
});

test("updates of one token go through one wallet, whose nonces keep their order", async () => {
  const { contract, tokenId } = await contractWithToken(await s.unlocked());
  await s.h.chain.setAutomine(false);
  try {
    const first = await setUri(contract, tokenId, uri);
    const second = await setUri(contract, tokenId, other);
    expect(await walletOf(second)).toBe(await walletOf(first));
    await s.h.chain.setAutomine(true);
    await settled(first, ["confirmed", "finalized"]);
    await settled(second, ["confirmed", "finalized"]);
    expect(await uriOf(contract, tokenId)).toBe(other);
  } finally {
    await s.h.chain.setAutomine(true);
  }
});

/** What the guards of the tables forbid: the state of a request whose nonce was taken away. */
async function force(id: string, state: string): Promise<void> {
  const client = await s.h.database.pool.connect();
  try {
    await client.query("SET session_replication_role = replica");
    await client.query("UPDATE service.intent SET state = $2 WHERE id = $1", [id, state]);
    await client.query("RESET session_replication_role");
  } finally {
    client.release();
  }
}

test("a repeated update of a token does not take a later one back", async () => {
  const { contract, tokenId } = await contractWithToken(await s.unlocked());
  await setWallets("halted");
  await expect(setUri(contract, tokenId, uri)).rejects.toMatchObject({ code: "service_unavailable" });
  await setWallets("open");
  const [{ id }] = await query("SELECT id FROM service.intent WHERE kind = 'token_update' ORDER BY seq DESC LIMIT 1");
  // As if it had had a nonce that was taken away, while the later one was carried out.
  await force(id, "retried");
  const later = await setUri(contract, tokenId, other);
  await settled(later, ["confirmed", "finalized"]);
  await force(id, "nonce_conflict");
  const intent = await getIntent(services.db, id);
  await services.db.transaction().execute((db) => startRetry(db, intent));
  await settled({ request: { id } } as CarriedOut, ["cancelled", "confirmed", "finalized"]);
  expect(await uriOf(contract, tokenId)).toBe(other);
  expect(await getRequest(services, s.caller, productRequests, { id })).toMatchObject({
    state: "cancelled",
    holdReason: "superseded",
  });
});

test("a mint that an older version left without its nonce is made again when the chain does not have it", async () => {
  const owner = await s.unlocked();
  const { contract } = await contractWithToken(owner);
  await setWallets("halted");
  const input = { chain: "goerli", contract, tokens: [{ to: owner, uri, tokenId: 77n }], idempotencyKey: "left" };
  const mint = async () => await carryOut(services, s.caller, await mintTokens(services, s.caller, input));
  await expect(mint()).rejects.toMatchObject({ code: "service_unavailable" });
  await setWallets("open");
  const [{ id }] = await query("SELECT id FROM service.intent WHERE kind = 'mint' ORDER BY seq DESC LIMIT 1");
  await force(id, "mined");
  await settled({ request: { id } } as CarriedOut, ["confirmed", "finalized"]);
});
