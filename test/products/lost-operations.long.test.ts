import { afterAll, beforeAll, expect, test } from "vitest";
import { type CarriedOut, carryOut } from "../../src/products/carry-out.ts";
import { transferTokens } from "../../src/products/change-tokens.ts";
import { easyMint } from "../../src/products/easy-mint.ts";
import { productRequests } from "../../src/products/find-product.ts";
import { cancelRequest } from "../../src/requests/requests.ts";
import type { TokensPayload } from "../../src/transactions/store/payloads.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { goerli } from "../transactions/harness.ts";
import { loseRows } from "../transactions/lost-rows.ts";
import { relayRound } from "../transactions/round.ts";
import { ProductScenario, productReads, randomAddress, uri } from "./scenario.ts";

// The database loses the end of its rows, and the operator contract knows what was carried out.

let s: ProductScenario;
beforeAll(async () => {
  s = await ProductScenario.start();
});
afterAll(async () => s?.stop());

const idOf = ({ request }: CarriedOut) => (request.payload as TokensPayload).tokens[0]?.tokenId;

test("a transfer that stands and is not final yet never expires, is not cancelled, and is done once", async () => {
  const contract = await s.contract("erc1155");
  await s.ended(await s.mint({ contract, tokens: [{ to: await s.unlocked(), uri, tokenId: 1n, quantity: 100n }] }));
  const to = randomAddress();
  const input = { chain: "goerli", contract, tokens: [{ tokenId: 1n, to, quantity: 10n }], idempotencyKey: "pay-bob" };
  const slow = s.h.process({ FINALITY_GOERLI: "1000" });
  const first = await carryOut(slow, s.caller, await transferTokens(slow, s.caller, input));
  await s.h.until(slow, first.request.id, ["confirmed"]);
  await loseRows(s.h.database.pool, [first.request.id], s.h.relayer);
  // As after a backlog that is too long to be read at once: the nonces are known, what used them is not.
  await s.h.database.pool.query("UPDATE service.relayer_wallet SET next_nonce = $1", [await s.sent()]);

  const after = s.h.process({ FINALITY_GOERLI: "1000" });
  const repeat = async (services = after) =>
    await carryOut(services, s.caller, await transferTokens(services, s.caller, input));
  await expect(repeat()).rejects.toThrow("not final yet");
  const row = async () =>
    (
      await s.h.database.pool.query(
        "SELECT state, hold_reason, expires_at > clock_timestamp() + interval '1 hour' AS live FROM service.intent WHERE id = $1",
        [first.request.id],
      )
    ).rows[0];
  expect(await row()).toEqual({ state: "held", hold_reason: "done_elsewhere", live: true });
  await expect(cancelRequest(after, s.caller, productRequests, first.request.id)).rejects.toMatchObject({
    code: "value_error",
  });

  const expire = "UPDATE service.intent SET expires_at = created_at, version = version + 1 WHERE id = $1";
  await s.h.database.pool.query(expire, [first.request.id]);
  await relayRound(after, goerli(after), createRelayMemory());
  expect((await row()).state).toBe("held");

  await s.ended(first);
  expect((await repeat(s.services)).request.transactionHash).toBe(first.request.transactionHash);
  expect(
    await s.h.chain.readContract({ address: contract, abi: productReads, functionName: "balanceOf", args: [to, 1n] }),
  ).toBe(10n);
});

const easy = (name: string, idempotencyKey: string) => ({
  ...{ chain: "goerli", name, description: "d", fileUrl: "ipfs://x", to: randomAddress(), idempotencyKey },
});

test("an easy mint whose rows were lost is the token that it minted", async () => {
  const input = easy("lost", "easy-lost");
  const first = await carryOut(s.services, s.caller, easyMint(s.services, s.caller, input));
  await s.ended(first);
  await loseRows(s.h.database.pool, [first.request.id], s.h.relayer);
  const again = await carryOut(s.h.process(), s.caller, easyMint(s.services, s.caller, input));
  expect(again.request.transactionHash).toBe(first.request.transactionHash);
  await s.ended(again);
  const repeated = await carryOut(s.services, s.caller, easyMint(s.services, s.caller, input));
  expect(idOf(repeated)).toBe(idOf(first));
  // The claim is on the id that was minted, not on the one that was drawn in between.
  const { rows } = await s.h.database.pool.query("SELECT token_id::text FROM service.token_claim WHERE root_id = $1", [
    first.request.id,
  ]);
  expect(rows).toEqual([{ token_id: idOf(first) }]);
});

test("an easy mint whose rows were lost while it waited in the mempool is one token", async () => {
  const input = easy("waits", "easy-waits");
  await s.h.chain.setAutomine(false);
  try {
    const first = await carryOut(s.services, s.caller, easyMint(s.services, s.caller, input));
    await s.h.pooled(s.services, first.request.transactionHash);
    await loseRows(s.h.database.pool, [first.request.id], s.h.relayer);
    const after = s.h.process();
    const again = carryOut(after, s.caller, easyMint(after, s.caller, input));
    await expect(again).rejects.toThrow("not final yet");
    await s.h.chain.setAutomine(true);
    await s.h.chain.mine({ blocks: 1 });
    await s.ended(first);
    const repeated = await carryOut(s.services, s.caller, easyMint(s.services, s.caller, input));
    expect(idOf(repeated)).toBe(idOf(first));
    expect(repeated.request.transactionHash).toBe(first.request.transactionHash);
  } finally {
    await s.h.chain.setAutomine(true);
  }
});

test("a counter of easy mints that went back goes on behind the tokens that stand", async () => {
  for (const name of ["a", "b", "c"])
    await s.ended(await carryOut(s.services, s.caller, easyMint(s.services, s.caller, easy(name, `before-${name}`))));
  await s.h.database.pool.query("UPDATE service.easy_counter SET last_id = 1");
  const minted = [];
  for (const name of ["d", "e"])
    minted.push(await carryOut(s.services, s.caller, easyMint(s.services, s.caller, easy(name, `after-${name}`))));
  for (const mint of minted) await s.ended(mint);
  // Without claims of them, too: the chain has them.
  await s.h.database.pool.query("DELETE FROM service.token_claim");
  await s.h.database.pool.query("UPDATE service.easy_counter SET last_id = 1");
  await s.ended(await carryOut(s.services, s.caller, easyMint(s.services, s.caller, easy("f", "after-f"))));
});
