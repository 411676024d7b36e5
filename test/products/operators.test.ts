import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { toAddress } from "../../src/db/bytes.ts";
import { carryOut } from "../../src/products/carry-out.ts";
import { createContract } from "../../src/products/create-contract.ts";
import { mintTokens } from "../../src/products/mint-tokens.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { deployOperatorAndEasy } from "../../src/transactions/operator/deploy-contracts.ts";
import { getIntent } from "../../src/transactions/store/intents.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { goerli } from "../transactions/harness.ts";
import { loseRows } from "../transactions/lost-rows.ts";
import { relayRound } from "../transactions/round.ts";
import { ProductScenario, randomAddress, uri } from "./scenario.ts";

// The installation gets another operator: what the earlier one deployed goes on.

let s: ProductScenario;
let env: Record<string, string>;
beforeAll(async () => {
  s = await ProductScenario.start();
  // Before the first request: it takes nonces from the node.
  const next = await deployOperatorAndEasy(
    goerli(s.services),
    { name: "Easy", symbol: "EZ" },
    createLogger("test", "silent"),
  );
  env = {
    OPERATOR_GOERLI: next.address,
    OPERATOR_BLOCK_GOERLI: String(next.block),
    EASY_CONTRACT_GOERLI: next.easyContract,
    OPERATORS_BEFORE_GOERLI: `${s.h.operator?.address}:${s.h.operator?.block}`,
  };
});
afterAll(async () => s?.stop());

test("contracts of the earlier operator are served by it, new ones by the new one", async () => {
  const contract = await s.contract();
  const services = s.h.process(env);
  const input = { chain: "goerli", contract, tokens: [{ to: randomAddress(), uri }], idempotencyKey: "earlier" };
  const mint = async (by = services) => await carryOut(by, s.caller, await mintTokens(by, s.caller, input));
  const minted = await mint();
  await s.h.until(services, minted.request.id, ["finalized"]);
  expect(toAddress((await getIntent(services.db, minted.request.id)).factory)).toBe(s.h.operator?.address);

  // What is lost of it is found again, and closes no wallet.
  await loseRows(s.h.database.pool, [minted.request.id], s.h.relayer);
  const after = s.h.process(env);
  await relayRound(after, goerli(after), createRelayMemory());
  const again = await mint(after);
  await s.h.until(after, again.request.id, ["finalized"]);
  expect(again.request.transactionHash).toBe(minted.request.transactionHash);
  const { rows } = await s.h.database.pool.query("SELECT state FROM service.relayer_wallet");
  expect(rows).toEqual([{ state: "open" }]);

  const made = await carryOut(
    after,
    s.caller,
    await createContract(after, s.caller, {
      ...{ chain: "goerli", name: "New", symbol: "NEW", ownerAddress: randomAddress() },
    }),
  );
  await s.h.until(after, made.request.id, ["finalized"]);
  expect(toAddress((await getIntent(after.db, made.request.id)).factory)).toBe(env["OPERATOR_GOERLI"]);
});

test("earlier operators are addresses, with or without a block", () => {
  const [one, two] = [randomAddress(), randomAddress()];
  const read = (text: string) =>
    loadConfig({ ...s.h.environment(), OPERATORS_BEFORE_GOERLI: text }).chains.find(({ name }) => name === "goerli");
  expect(read(`${one}:12, ${two}`)?.operator?.before).toEqual([
    { address: one.toLowerCase(), block: 12n },
    { address: two.toLowerCase(), block: 0n },
  ]);
  for (const wrong of ["0x12", `${one}:x`, `${one}${two}`]) expect(() => read(wrong)).toThrow("OPERATORS_BEFORE");
});
