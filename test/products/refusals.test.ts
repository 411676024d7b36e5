import { createWalletClient, type Hex, http, toFunctionSelector } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { carryOut, planOperation } from "../../src/products/carry-out.ts";
import { createContract } from "../../src/products/create-contract.ts";
import { mintTokens } from "../../src/products/mint-tokens.ts";
import { updateContract } from "../../src/products/update-contract.ts";
import { planCost } from "../../src/requests/simulate.ts";
import type { Services } from "../../src/services.ts";
import { isRefusal } from "../../src/transactions/chain/request-call.ts";
import { FaultProxy } from "../chaos/fault-proxy.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { wait } from "../setup/wait.ts";
import { goerli } from "../transactions/harness.ts";
import { FaultyEndpoint } from "./faulty-endpoint.ts";
import { ProductScenario, randomAddress, uri } from "./scenario.ts";

let s: ProductScenario;
let faulty: FaultProxy;
/** A process with two endpoints that have to agree; the first one is faulty. */
let two: Services;
beforeAll(async () => {
  s = await ProductScenario.start();
  faulty = await FaultProxy.start(s.h.node.url, s.h.node.url, new SeededGenerator(1), async () => undefined);
  two = s.h.process({ RPC_URL_GOERLI: `${faulty.url},${s.h.node.url}`, RPC_QUORUM_GOERLI: "2" });
});
afterAll(async () => {
  await faulty?.stop();
  await s?.stop();
});

test("one endpoint's word refuses no mint where two have to agree", async () => {
  const contract = await s.contract();
  faulty.forced = "estimate-error";
  await expect(s.mint({ contract, tokens: [{ to: randomAddress(), uri }] }, two)).resolves.toBeDefined();
  faulty.forced = "";
});

test("what both endpoints refuse is refused for good", async () => {
  const contract = await s.contract();
  const before = await s.sent();
  const to = s.h.operator?.address ?? "";
  await expect(s.mint({ contract, tokens: [{ to, uri }] }, two)).rejects.toMatchObject({ code: "value_error" });
  expect(await s.sent()).toBe(before);
});

test("while the operator is stopped, mints are told to come again, and do", async () => {
  const contract = await s.contract();
  const token = { to: randomAddress(), uri };
  const before = await s.sent();
  await s.h.pauseOperator(true);
  const asked = s.mint({ contract, tokens: [token] });
  await expect(asked).rejects.toMatchObject({ code: "service_unavailable", retryAfterSeconds: expect.any(Number) });
  expect(await s.sent()).toBe(before);
  // Also where the first endpoint refuses it in other words.
  faulty.forced = "estimate-error";
  await expect(s.mint({ contract, tokens: [token] }, two)).rejects.toMatchObject({ code: "service_unavailable" });
  faulty.forced = "";
  await s.h.pauseOperator(false);
  await s.ended(await s.mint({ contract, tokens: [token] }));
});

test("while a transaction that stops the operator waits for its block, mints are told to come again", async () => {
  const contract = await s.contract();
  const token = { to: randomAddress(), uri };
  const call = {
    to: s.h.operator?.address ?? "0x",
    data: toFunctionSelector("paused()"),
    blockTag: "pending",
  } as const;
  await s.h.chain.setAutomine(false);
  const stopped = s.h.pauseOperator(true);
  try {
    await wait("the transaction", async () => (await s.h.chain.call(call)).data, {
      until: (data) => BigInt(data ?? 0) === 1n,
    });
    await expect(s.mint({ contract, tokens: [token] })).rejects.toMatchObject({ code: "service_unavailable" });
  } finally {
    await s.h.chain.mine({ blocks: 1 });
    await s.h.chain.setAutomine(true);
    await stopped;
    await s.h.pauseOperator(false);
  }
  await s.ended(await s.mint({ contract, tokens: [token] }));
});

test("a mint is not refused by a simulation from before the operator was opened again", async () => {
  const contract = await s.contract();
  const isPaused = toFunctionSelector("paused()");
  const endpoint = await FaultyEndpoint.start(s.h.node.url, {
    ask: async ({ params }) => {
      const [call] = (params ?? []) as { data?: Hex }[];
      if (call?.data === isPaused) await s.h.pauseOperator(false);
    },
  });
  try {
    await s.h.pauseOperator(true);
    const services = s.h.process({ RPC_URL_GOERLI: endpoint.url });
    await s.ended(await s.mint({ contract, tokens: [{ to: randomAddress(), uri }] }, services));
  } finally {
    await s.h.pauseOperator(false);
    await endpoint.stop();
  }
});

test("where roles are not signed, requests for them are refused with what to do, before anything is stored", async () => {
  const contract = await s.contract();
  const before = await s.sent();
  const services = s.h.process({ SIGN_ROLES_GOERLI: "off" });
  const roles = [{ role: "mint" as const, addresses: [randomAddress()], freeze: false }];
  const refusal = (field: string) => ({
    ...{ code: "value_error", field },
    message: expect.stringContaining("SIGN_ROLES_GOERLI=on"),
  });
  const place = { chain: "goerli", contract };
  await expect(updateContract(services, s.caller, { ...place, roles })).rejects.toMatchObject(refusal("roles"));
  await expect(updateContract(services, s.caller, { ...place, exit: true })).rejects.toMatchObject(refusal("exit"));
  const fresh = { chain: "goerli", name: "N", symbol: "S", ownerAddress: randomAddress() };
  // Nobody has anything yet in a contract that is only being made.
  await expect(createContract(services, s.caller, { ...fresh, roles })).resolves.toBeDefined();
  expect(await s.sent()).toBe(before);
});

/** A receiver that reverts with an error's selector, as if another contract spoke. */
const speaking = (signature: string) =>
  `0x6010600c60003960106000f363${toFunctionSelector(signature).slice(2)}60e01b60005260206000fd` as Hex;

test("a receiver that speaks with the operator's words is a receiver that refuses", async () => {
  const contract = await s.contract();
  const wallet = createWalletClient({ transport: http(s.h.node.url), account: await s.unlocked() });
  const before = await s.sent();
  for (const signature of ["OperatorPaused()", "MissingRole(address,bytes32)", "IntentDone(bytes32)"]) {
    const hash = await wallet.sendTransaction({ data: speaking(signature), chain: null });
    const { contractAddress } = await s.h.chain.waitForTransactionReceipt({ hash });
    await expect(s.mint({ contract, tokens: [{ to: contractAddress ?? "", uri }] })).rejects.toMatchObject({
      code: "value_error",
      message: expect.stringContaining("the contract would refuse it"),
    });
  }
  expect(await s.sent()).toBe(before);
});

/** A receiver of tokens that fills thirty words of its storage with each. */
const burner = "0x601e80600b6000396000f3601e5b808055600190038060025763150b7a0260e01b60005260206000f3";

test("what takes more gas than a plan allows is refused before anything is stored, with the figures", async () => {
  const free = await s.h.caller("free");
  const wallet = createWalletClient({ transport: http(s.h.node.url), account: await s.unlocked() });
  const hash = await wallet.sendTransaction({ data: burner, chain: null });
  const { contractAddress: to = null } = await s.h.chain.waitForTransactionReceipt({ hash });
  const contract = await s.contract();
  const fresh = { chain: "goerli", name: "N", symbol: "S", ownerAddress: randomAddress() };
  const own = await carryOut(s.services, free, await createContract(s.services, free, fresh));
  await s.ended(own);
  const rows = async () => (await s.h.database.pool.query("SELECT count(*)::int AS n FROM service.intent")).rows[0].n;
  const before = [await rows(), await s.sent()];
  const token = { to: to ?? "", uri };
  const place = { chain: "goerli", contract: own.request.contract, tokens: [token] };
  const mint = await mintTokens(s.services, free, place);
  const dear = {
    code: "plan_limit_exceeded",
    message: expect.stringMatching(/takes about [78]\d\d,\d{3} gas, and your plan allows 500,000 for a token/),
  };
  await expect(carryOut(s.services, free, mint)).rejects.toMatchObject(dear);
  await expect(planOperation(s.services, free, mint)).rejects.toMatchObject(dear);
  const roles = [{ role: "mint" as const, addresses: Array.from({ length: 100 }, randomAddress), freeze: false }];
  const listed = { ...fresh, roles };
  await expect(carryOut(s.services, free, await createContract(s.services, free, listed))).rejects.toMatchObject({
    ...{ code: "plan_limit_exceeded", message: expect.stringContaining("3,000,000 for a deployment") },
  });
  expect([await rows(), await s.sent()]).toEqual(before);
  // A plan that allows more has both.
  await planOperation(s.services, s.caller, await createContract(s.services, s.caller, listed));
  const { request } = await s.mint({ contract, tokens: [token] });
  await s.ended({ request });
  const stored = "SELECT gas::int AS gas, gas_ceiling::int AS ceiling FROM service.intent WHERE id = $1";
  const { rows: kept } = await s.h.database.pool.query(stored, [request.id]);
  expect(kept).toEqual([{ gas: expect.any(Number), ceiling: 1_000_000 }]);
});

/** What nodes say while they cannot simulate, with the codes that they say it with. */
const passing = [
  { code: -32_007, message: "request limit reached" },
  { code: 15, message: "Unknown block" },
  { code: -32_603, message: "internal error" },
  { code: -32_000, message: "header not found" },
  { code: -32_000, message: "missing trie node 5f1d (path ) <nil>" },
  { code: -32_601, message: "the method eth_estimateGas is not available" },
  { code: -32_005, message: "daily request count exceeded" },
];

test("a node that cannot simulate refuses nothing, at whichever of its answers", async () => {
  const contract = await s.contract();
  let spare = 0;
  let error: (typeof passing)[number] | null = null;
  const endpoint = await FaultyEndpoint.unableToSimulate(s.h.node.url, () => (spare-- > 0 ? null : error));
  try {
    const services = s.h.process({ RPC_URL_GOERLI: endpoint.url });
    const token = { to: randomAddress(), uri };
    const away = { code: "service_unavailable", retryAfterSeconds: expect.any(Number) };
    for (error of passing) {
      spare = 0;
      await expect(s.mint({ contract, tokens: [token] }, services)).rejects.toMatchObject(away);
      const cost = planCost(services, goerli(services), { to: contract, data: "0x06fdde03" });
      await expect(cost).rejects.toMatchObject(away);
    }
    // Accepted: then it waits, and is neither held as refused nor given up.
    spare = 1;
    await expect(s.mint({ contract, tokens: [token] }, services)).rejects.toMatchObject(away);
    const { rows } = await s.h.database.pool.query(
      "SELECT id, state, hold_reason FROM service.intent WHERE kind = 'mint' ORDER BY seq DESC LIMIT 1",
    );
    expect(rows).toMatchObject([{ state: "queued", hold_reason: null }]);
    error = null;
    const { request } = await s.mint({ contract, tokens: [token] }, services);
    expect(request.id).toBe(rows[0].id);
    await s.ended({ request });
  } finally {
    await endpoint.stop();
  }
});

test("what does not run with the gas of its acceptance is simulated anew before it is signed", async () => {
  const contract = await s.contract();
  // Some nodes give a revert as a result.
  for (const answer of [{ error: { code: 3, message: "execution reverted" } }, { result: "0x" }, { result: null }]) {
    const asked: string[] = [];
    const endpoint = await FaultyEndpoint.start(s.h.node.url, {
      answer: ({ method, params }, own) => {
        const [call] = (params ?? []) as { gas?: Hex }[];
        if (method === "eth_estimateGas" || call?.gas !== undefined) asked.push(method);
        if (method === "eth_call" && call?.gas !== undefined) Object.assign(own, { result: undefined }, answer);
      },
    });
    try {
      const services = s.h.process({ RPC_URL_GOERLI: endpoint.url });
      await s.ended(await s.mint({ contract, tokens: [{ to: randomAddress(), uri }] }, services));
      expect(asked).toEqual(["eth_estimateGas", "eth_call", "eth_estimateGas"]);
    } finally {
      await endpoint.stop();
    }
  }
});

test("what the contract refuses is refused also by a node that knows no pending block", async () => {
  const contract = await s.contract();
  const endpoint = await FaultyEndpoint.withoutPending(s.h.node.url);
  try {
    const services = s.h.process({ RPC_URL_GOERLI: endpoint.url });
    const minted = await s.mint({ contract, tokens: [{ to: randomAddress(), uri }] }, services);
    await s.ended(minted);
    const to = s.h.operator?.address ?? "";
    const asked = s.mint({ contract, tokens: [{ to, uri }] }, services);
    await expect(asked).rejects.toMatchObject({ code: "value_error" });
  } finally {
    await endpoint.stop();
  }
});

test("what the chain itself says of a call is a refusal, in the words of any node", () => {
  const data = `0x08c379a0${"0".repeat(128)}`;
  for (const error of [
    { code: 3, message: "execution" },
    { code: -32_015, message: "VM execution error.", data },
    { code: -32_000, message: "", data: { data } },
    { code: -32_603, message: "Error: VM Exception while processing transaction: reverted with reason string 'x'" },
    { code: -32_000, message: "gas required exceeds allowance (30000000)" },
    { code: -32_000, message: "invalid opcode: INVALID" },
  ])
    expect([error, isRefusal(error)]).toEqual([error, true]);
  for (const error of passing) expect([error, isRefusal(error)]).toEqual([error, false]);
});
