import { keccak256, parseTransaction } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endpointsAnswer } from "../../bin/check-surroundings.ts";
import { checkWallets } from "../../bin/doctor-wallets.ts";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { readStatus } from "../../src/accounts/read-status.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { defaultRelayPolicy } from "../../src/chains.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { toHex } from "../../src/db/bytes.ts";
import { ensureNftViews } from "../../src/indexing/nft-views.ts";
import { freshFees, learnTip } from "../../src/transactions/chain/fees.ts";
import { listAttempts } from "../../src/transactions/store/nonces.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { FaultyEndpoint, refuse, withoutPending } from "../products/faulty-endpoint.ts";
import { wait } from "../setup/wait.ts";
import { acceptUpdate } from "./accept.ts";
import { goerli, launch, RelayHarness, randomAddress } from "./harness.ts";
import { relayRound } from "./round.ts";

let h: RelayHarness;
let caller: Caller;
beforeAll(async () => {
  h = await RelayHarness.start();
  caller = await h.caller();
});
afterAll(() => h?.stop());

const gwei = 10n ** 9n;
type Fault = Parameters<typeof FaultyEndpoint.start>[1];

/** Deploys through an endpoint that has a fault, and tells what was signed and what the books say that it cost. */
async function deployThrough(fault: Fault, url = (endpoint: FaultyEndpoint) => endpoint.url) {
  const endpoint = await FaultyEndpoint.start(h.node.url, fault);
  try {
    const services = h.process({ RPC_URL_GOERLI: url(endpoint) });
    const { deployment } = await deployCollection(services, caller, launch());
    await h.until(services, deployment.id, ["finalized"]);
    const { rows } = await services.pool.query(
      "SELECT mined_cost_wei FROM service.nonce_reservation WHERE intent_id = $1",
      [deployment.id],
    );
    const attempts = await listAttempts(services.db, deployment.id);
    const receipt = await h.chain.getTransactionReceipt({ hash: deployment.transactionHash });
    return { attempts, receipt, costWei: BigInt(rows[0].mined_cost_wei) };
  } finally {
    await endpoint.stop();
  }
}

const prices: Record<string, unknown> = { absent: undefined, null: null, empty: "0x", words: "unknown" };
for (const [kind, price] of Object.entries(prices))
  test(`a receipt whose price is ${kind} ends a deployment, at what it may have cost at most`, async () => {
    const { attempts, receipt, costWei } = await deployThrough({
      answer: ({ method }, { result }) => {
        if (method !== "eth_getTransactionReceipt" || typeof result !== "object" || result === null) return;
        if (price === undefined) Reflect.deleteProperty(result, "effectiveGasPrice");
        else Reflect.set(result, "effectiveGasPrice", price);
      },
    });
    expect(attempts).toHaveLength(1);
    expect(costWei).toBe(receipt.gasUsed * BigInt(attempts[0]?.max_fee ?? 0));
  });

test("a usual receipt's price is what it cost", async () => {
  const { receipt, costWei } = await deployThrough({});
  expect(costWei).toBe(receipt.gasUsed * receipt.effectiveGasPrice);
});

test("the fee for data on the chain below is in the books, and words in its place are not", async () => {
  const withFee = (l1Fee: string) => ({
    answer: ({ method }: { method: string }, { result }: { result?: unknown }) => {
      if (method === "eth_getTransactionReceipt" && typeof result === "object" && result !== null)
        Reflect.set(result, "l1Fee", l1Fee);
    },
  });
  const paid = await deployThrough(withFee("0x2386f26fc10000"));
  expect(paid.costWei).toBe(paid.receipt.gasUsed * paid.receipt.effectiveGasPrice + 10n ** 16n);
  const worded = await deployThrough(withFee("unknown"));
  expect(worded.costWei).toBe(worded.receipt.gasUsed * worded.receipt.effectiveGasPrice);
});

const methodMissing = { code: -32_601, message: "the method does not exist" };
const faults: Record<string, Fault> = {
  "takes no lists of calls": { mostCalls: 0 },
  "takes three calls at most": { mostCalls: 3 },
  "knows no pending block": withoutPending,
  "has no history of fees": {
    answer: ({ method }, answer) => {
      if (method === "eth_feeHistory") refuse(answer, methodMissing);
    },
  },
  "suggests no tip": {
    answer: ({ method }, answer) => {
      if (method === "eth_maxPriorityFeePerGas") refuse(answer, methodMissing);
    },
  },
};
for (const [kind, fault] of Object.entries(faults))
  test(`a deployment goes through an endpoint that ${kind}`, async () => {
    expect((await deployThrough(fault)).attempts).toHaveLength(1);
  });

test("a deployment goes through an endpoint that wants a user and a password", async () => {
  const url = (endpoint: FaultyEndpoint) => endpoint.url.replace("//", "//us%40er:pass@");
  expect((await deployThrough({ credentials: "us@er:pass" }, url)).attempts).toHaveLength(1);
});

test("an update goes through an endpoint that runs no call at a block's hash", async () => {
  let refused = 0;
  const endpoint = await FaultyEndpoint.start(h.node.url, {
    answer: ({ method, params = [] }, answer) => {
      if (method !== "eth_call" || typeof params[1] !== "object") return;
      refused += 1;
      refuse(answer, {
        code: -32_602,
        message: "invalid argument 1: json: cannot unmarshal object into Go value of type string",
      });
    },
  });
  try {
    const services = h.process({ RPC_URL_GOERLI: endpoint.url });
    const { deployment } = await deployCollection(services, caller, launch());
    await h.until(services, deployment.id, ["finalized"]);
    const update = await acceptUpdate(services, caller, {
      chain: goerli(services),
      contract: deployment.contract,
      changes: { royaltiesBps: 321n },
    });
    await h.until(services, update.id, ["finalized"]);
    expect(refused).toBeGreaterThan(0);
    const { runtimeConfig } = await h.chain.readContract({
      address: deployment.contract,
      abi: collectionAbi,
      functionName: "getInfo",
    });
    expect(runtimeConfig.royaltiesBps).toBe(321n);
  } finally {
    await endpoint.stop();
  }
});

const isOracle = ([call]: unknown[] = []) =>
  (call as { to?: string } | undefined)?.to?.toLowerCase() === "0x420000000000000000000000000000000000000f";

test("a deployment goes through where nodes answer a call of an address without code by an error", async () => {
  let refused = 0;
  const { attempts } = await deployThrough({
    answer: ({ method, params }, answer) => {
      if (method !== "eth_call" || !isOracle(params)) return;
      refused += 1;
      refuse(answer, { code: -32_000, message: "smart contract does not exist" });
    },
  });
  expect(attempts).toHaveLength(1);
  expect(refused).toBe(1);
});

test("a price of data beyond what the operator pays for gas is waited for, and nothing is signed", async () => {
  const endpoint = await FaultyEndpoint.start(h.node.url, {
    answer: ({ method, params }, answer) => {
      if (method === "eth_call" && isOracle(params)) answer.result = `0x${(10n ** 30n).toString(16).padStart(64, "0")}`;
    },
  });
  try {
    const services = h.process({ RPC_URL_GOERLI: endpoint.url });
    await expect(deployCollection(services, caller, launch({ name: "Dear data" }))).rejects.toThrow(/fees are over/);
    const { rows } = await services.pool.query(
      `SELECT hold_reason, (SELECT count(*)::int FROM service.nonce_reservation s WHERE s.intent_id = i.id) AS nonces
       FROM service.intent i WHERE payload->>'name' = 'Dear data'`,
    );
    expect(rows).toEqual([{ hold_reason: "fee", nonces: 0 }]);
    await services.pool
      .query("UPDATE service.intent SET state = 'cancelled' WHERE payload->>'name' = 'Dear data'")
      .catch(() => undefined);
  } finally {
    await endpoint.stop();
  }
});

/** A node that takes no transaction below a tip, as Polygon's and Amoy's do. */
function refusingTips(least: bigint, { usual, suggested }: { usual: bigint; suggested: bigint | null }): Fault {
  return {
    ask: (call) => {
      const [raw] = (call.params ?? []) as string[];
      if (call.method !== "eth_sendRawTransaction" || !raw) return;
      const { maxPriorityFeePerGas = 0n } = parseTransaction(raw as `0x${string}`);
      if (maxPriorityFeePerGas < least) call.method = "refused_tip";
    },
    answer: ({ method }, answer) => {
      const { result } = answer;
      if (method === "eth_feeHistory" && typeof result === "object" && result !== null)
        Reflect.set(result, "reward", Array(10).fill([`0x${usual.toString(16)}`]));
      if (method === "eth_maxPriorityFeePerGas")
        if (suggested === null) refuse(answer, methodMissing);
        else answer.result = `0x${suggested.toString(16)}`;
    },
  };
}

/** The same with words for the refusal. */
function refusedWith(message: string, answer: Fault["answer"]): NonNullable<Fault["answer"]> {
  return (call, given) => {
    answer?.(call, given);
    if (call.method === "refused_tip") refuse(given, { code: -32_000, message });
  };
}

/** Rounds and blocks until it is mined. @returns the tips that were signed, first to last. */
async function signedTips(fault: Fault, env: Record<string, string> = {}): Promise<bigint[]> {
  const endpoint = await FaultyEndpoint.start(h.node.url, fault);
  try {
    const services = h.process({ RPC_URL_GOERLI: endpoint.url, ...env });
    const { deployment } = await deployCollection(services, caller, launch());
    const memory = createRelayMemory();
    await h.untilState(deployment.id, ["finalized"], async () => {
      await relayRound(services, goerli(services), memory);
      await h.chain.mine({ blocks: 1 });
    });
    const attempts = await listAttempts(services.db, deployment.id);
    return attempts.map(({ raw }) => parseTransaction(toHex(raw)).maxPriorityFeePerGas ?? 0n).reverse();
  } finally {
    await endpoint.stop();
  }
}

test("where nodes take no small tip and blocks are empty, the first transaction has the tip that the node suggests", async () => {
  const fault = refusingTips(25n * gwei, { usual: 0n, suggested: 27n * gwei });
  expect(await signedTips(fault)).toEqual([27n * gwei]);
});

test("where blocks have smaller tips than nodes take, one replacement comes up to what the node suggests", async () => {
  const fault = refusingTips(25n * gwei, { usual: gwei / 10n, suggested: 25n * gwei });
  expect(await signedTips(fault)).toEqual([gwei / 10n, 25n * gwei]);
});

test("the operator's least tip holds where a node suggests nothing", async () => {
  const fault = refusingTips(25n * gwei, { usual: gwei / 10n, suggested: null });
  // A slow machine may see it replaced by one that pays more.
  const [first] = await signedTips(fault, { MIN_TIP_GWEI_GOERLI: "25.5" });
  expect(first).toBe((51n * gwei) / 2n);
});

test("a node that names the least tip when it refuses is offered that at once, by the next transaction too", async () => {
  const fault = refusingTips(20n * gwei, { usual: gwei / 10n, suggested: null });
  const words = `transaction underpriced: gas tip cap ${gwei / 10n}, minimum needed ${20n * gwei}`;
  expect(await signedTips({ ...fault, answer: refusedWith(words, fault.answer) })).toEqual([gwei / 10n, 20n * gwei]);
});

test("where gas is free a wallet without a coin deploys, and nothing is booked", async () => {
  const balance = await h.chain.getBalance({ address: h.relayer });
  await h.chain.setBalance({ address: h.relayer, value: 0n });
  await h.chain.request({ method: "hardhat_setNextBlockBaseFeePerGas", params: ["0x0"] } as never);
  await h.chain.mine({ blocks: 12 });
  try {
    const { attempts, costWei } = await deployThrough({
      answer: ({ method }, answer) => {
        if (method === "eth_maxPriorityFeePerGas") answer.result = "0x0";
        const { result } = answer;
        if (method === "eth_feeHistory" && typeof result === "object" && result !== null)
          Reflect.set(result, "reward", Array(10).fill(["0x0"]));
      },
    });
    expect(attempts.map(({ max_fee, tip }) => [BigInt(max_fee), BigInt(tip)])).toEqual([[0n, 0n]]);
    expect(costWei).toBe(0n);
  } finally {
    await h.chain.setBalance({ address: h.relayer, value: balance });
  }
});

test("where gas is free a transaction that the node forgot is sent again, as it is", async () => {
  const balance = await h.chain.getBalance({ address: h.relayer });
  await h.chain.setBalance({ address: h.relayer, value: 0n });
  await h.chain.request({ method: "hardhat_setNextBlockBaseFeePerGas", params: ["0x0"] } as never);
  await h.chain.mine({ blocks: 12 });
  let forgotten = 0;
  const endpoint = await FaultyEndpoint.start(h.node.url, {
    ask: (call) => {
      if (call.method === "eth_sendRawTransaction" && head < until) {
        forgotten += 1;
        call.method = "forgotten";
      }
    },
    answer: ({ method, params = [] }, answer) => {
      const { result } = answer;
      if (method === "forgotten") {
        delete answer.error;
        answer.result = keccak256(params[0] as `0x${string}`);
      }
      if (method === "eth_maxPriorityFeePerGas") answer.result = "0x0";
      if (method === "eth_feeHistory" && typeof result === "object" && result !== null)
        Reflect.set(result, "reward", Array(10).fill(["0x0"]));
    },
  });
  let head = await h.chain.getBlockNumber();
  // Longer than bytes wait before they are replaced.
  const until = head + 8n;
  try {
    const services = h.process({ RPC_URL_GOERLI: endpoint.url });
    const { deployment } = await deployCollection(services, caller, launch());
    const memory = createRelayMemory();
    await h.untilState(deployment.id, ["finalized"], async () => {
      await relayRound(services, goerli(services), memory);
      await h.chain.mine({ blocks: 1 });
      head = await h.chain.getBlockNumber();
    });
    expect(forgotten).toBeGreaterThan(1);
    expect(await listAttempts(services.db, deployment.id)).toHaveLength(1);
  } finally {
    await endpoint.stop();
    await h.chain.setBalance({ address: h.relayer, value: balance });
  }
});

test("a wallet with code of its own (EIP-7702), of which nodes keep one transaction, carries all out, and doctor names it", async () => {
  await h.chain.setCode({ address: h.relayer, bytecode: `0xef0100${randomAddress().slice(2)}` });
  await h.chain.setAutomine(false);
  let refused = 0;
  const endpoint = await FaultyEndpoint.start(h.node.url, {
    ask: (call) => {
      const [raw] = (call.params ?? []) as `0x${string}`[];
      if (call.method !== "eth_sendRawTransaction" || !raw) return;
      if (BigInt(parseTransaction(raw).nonce ?? 0) === mined) return;
      refused += 1;
      call.method = "refused_delegated";
    },
    answer: ({ method }, answer) => {
      const message = "in-flight transaction limit reached for delegated accounts";
      if (method === "refused_delegated") refuse(answer, { code: -32_000, message });
    },
  });
  const count = async () => BigInt(await h.chain.getTransactionCount({ address: h.relayer }));
  let mined = await count();
  try {
    const services = h.process({ RPC_URL_GOERLI: endpoint.url });
    const all = await Promise.all([1, 2, 3].map(() => deployCollection(services, caller, launch())));
    const memory = createRelayMemory();
    for (const { deployment } of all)
      await h.untilState(deployment.id, ["finalized"], async () => {
        await relayRound(services, goerli(services), memory);
        await h.chain.mine({ blocks: 1 });
        mined = await count();
      });
    expect(refused).toBeGreaterThan(0);
    const findings = await checkWallets(services.config);
    expect(findings.find(({ id }) => id === "W3")).toMatchObject({ faults: 1, samples: [{ wallet: h.relayer }] });
  } finally {
    await endpoint.stop();
    await h.chain.setAutomine(true);
    await h.chain.setCode({ address: h.relayer, bytecode: "0x" });
  }
});

test("a base fee of a hundredth of a gwei is not paid tenfold by a tip", () => {
  const relay = defaultRelayPolicy(8_453, false);
  const market = { baseFee: gwei / 150n, tips: [10_000n, 20_000n, 1_000n], suggestedTip: 1_000_000n };
  const { maxPriorityFeePerGas } = freshFees({ relay }, market);
  expect(maxPriorityFeePerGas).toBeLessThanOrEqual(market.baseFee / 5n);
});

test("what a node names for a tip is bounded by the operator's cap and by reason", () => {
  const relay = defaultRelayPolicy(8_453, false);
  const tip = () => freshFees({ relay }, { baseFee: gwei, tips: [], suggestedTip: null }).maxPriorityFeePerGas;
  const before = tip();
  for (const wanted of ["301000000000", "999999999999999999999999", "1"])
    learnTip({ relay }, `transaction underpriced: gas tip cap 1, minimum needed ${wanted}`);
  expect(tip()).toBe(before);
  learnTip({ relay }, "transaction underpriced: gas tip cap 1, minimum needed 25000000000");
  expect(tip()).toBe(25n * gwei);
});

test("no transaction on Polygon or Amoy tips less than their nodes take", () => {
  for (const id of [137, 80_002]) {
    const relay = defaultRelayPolicy(id, false);
    for (const suggestedTip of [null, gwei])
      for (const tips of [[], [0n, 0n], [gwei]])
        expect(freshFees({ relay }, { baseFee: 15n, tips, suggestedTip }).maxPriorityFeePerGas).toBe(30n * gwei);
  }
});

test("an endpoint that is of no use to the relay shows in the status and in doctor, and one with short lists in doctor", async () => {
  let isRefusing = true;
  const endpoint = await FaultyEndpoint.start(h.node.url, {
    mostCalls: 3,
    answer: ({ method }, answer) => {
      if (isRefusing && method === "eth_getBalance") refuse(answer, methodMissing);
    },
  });
  try {
    // The status tells of the index too.
    await ensureNftViews(h.database.url);
    const services = h.process({ RPC_URL_GOERLI: endpoint.url });
    const troubles = async () => (await readStatus(services)).chains[0]?.troubles.includes("nodes_useless");
    expect(await troubles()).toBe(false);
    await expect(deployCollection(services, caller, launch())).rejects.toMatchObject({ code: "service_unavailable" });
    await wait("the trouble", troubles, { until: (found) => found === true });
    const found = await endpointsAnswer(services.config);
    expect(found).toMatchObject({
      id: "E1",
      faults: 1,
      samples: [expect.stringMatching(/^goerli#0 .*: an error instead of a balance$/)],
    });
    isRefusing = false;
    const { deployment } = await deployCollection(services, caller, launch());
    await h.until(services, deployment.id, ["finalized"]);
    await wait("the trouble to end", troubles, { until: (found) => found === false });
    const well = await endpointsAnswer(services.config);
    expect(well).toMatchObject({ faults: 0, title: expect.stringContaining("takes 3 calls in a request") });
  } finally {
    await endpoint.stop();
  }
});
