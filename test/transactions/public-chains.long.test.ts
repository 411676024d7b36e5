import { type Address, encodeAbiParameters, keccak256, parseTransaction, size } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { toHex } from "../../src/db/bytes.ts";
import { findNonces } from "../../src/transactions/chain/find-nonces.ts";
import { readPendingNonces } from "../../src/transactions/chain/pending-nonces.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { startAnvil } from "../indexing/anvil.ts";
import { FaultyEndpoint, refuse } from "../products/faulty-endpoint.ts";
import { wait } from "../setup/wait.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";
import { relayRound } from "./round.ts";

const gwei = 10n ** 9n;
const oracle = "0x420000000000000000000000000000000000000f";
/** Twice what a wallet may have under way there: the second half is priced by what the first one was charged. */
const deployments = 20;
const atOnce = 10;

interface Rules {
  chainId: number;
  /** Its nodes take no transaction below this tip. */
  leastTip?: bigint;
  /** What a byte costs on the chain below (OP stack), at the beginning. */
  dataByteWei?: bigint;
  /** Its nodes know nothing of EIP-1559. */
  legacy?: boolean;
  /** Nothing costs anything, and the wallet has no coin. */
  free?: boolean;
}

const chains: Record<string, Rules> = {
  Polygon: { chainId: 137, leastTip: 25n * gwei },
  Amoy: { chainId: 80_002, leastTip: 25n * gwei },
  Base: { chainId: 8_453, dataByteWei: 3n * 10n ** 11n },
  "a chain without EIP-1559": { chainId: 7_771, legacy: true },
  "a chain with free gas": { chainId: 7_770, free: true },
};

/**
 * A node that keeps a chain's rules. The fee for data is taken as the OP stack does: by the bytes, when the transaction is
 * carried out, at a price that rises with each of them.
 */
async function startEndpoint(
  h: RelayHarness,
  { leastTip = 0n, dataByteWei = 0n, free = false, legacy = false }: Rules,
) {
  const fees = new Map<string, bigint>();
  let price = dataByteWei;
  const hexOf = (value: bigint) => `0x${value.toString(16)}`;
  const endpoint = await FaultyEndpoint.start(h.node.url, {
    ask: (call) => {
      const [raw] = (call.params ?? []) as `0x${string}`[];
      if (call.method !== "eth_sendRawTransaction" || !raw) return;
      if (legacy && raw.startsWith("0x02")) call.method = "refused_type";
      const hash = keccak256(raw);
      if (!fees.has(hash)) {
        fees.set(hash, price * BigInt(size(raw)));
        price += price / 100n;
      }
      if ((parseTransaction(raw).maxPriorityFeePerGas ?? 0n) < leastTip) call.method = "refused_tip";
    },
    answer: ({ method, params = [] }, answer) => {
      const { result } = answer;
      const [asked] = params as [{ to?: string; data?: `0x${string}` } & `0x${string}`];
      if (method === "refused_tip")
        refuse(answer, {
          code: -32_000,
          message: `transaction underpriced: gas tip cap 1, minimum needed ${leastTip}`,
        });
      if (method === "refused_type") refuse(answer, { code: -32_000, message: "transaction type not supported" });
      if (legacy && /feeHistory|maxPriorityFeePerGas/.test(method))
        refuse(answer, { code: -32_601, message: `the method ${method} does not exist/is not available` });
      if (legacy && typeof result === "object" && result !== null) Reflect.deleteProperty(result, "baseFeePerGas");
      if (free && method === "eth_maxPriorityFeePerGas") answer.result = "0x0";
      if (free && method === "eth_feeHistory") Reflect.set(result as object, "reward", Array(10).fill(["0x0"]));
      if (dataByteWei === 0n) return;
      if (method === "eth_call" && asked.to?.toLowerCase() === oracle) {
        const bytes = BigInt(`0x${asked.data?.slice(10 + 64, 10 + 128)}`);
        answer.result = encodeAbiParameters([{ type: "uint256" }], [price * bytes]);
      }
      if (method === "eth_getTransactionReceipt" && typeof result === "object" && result !== null)
        Reflect.set(result, "l1Fee", hexOf(fees.get(String(asked)) ?? 0n));
      // What was taken for data is gone from the wallet.
      if (method === "eth_getBalance") answer.result = hexOf(BigInt(String(result)) - taken());
    },
  });
  const taken = () => [...fees.values()].reduce((sum, fee) => sum + fee, 0n);
  return { endpoint, taken };
}

for (const [name, rules] of Object.entries(chains))
  test(`${deployments} deployments on ${name} are confirmed, none over what it had set aside, at what the wallet paid`, async () => {
    const h = await RelayHarness.start(undefined, { chainId: rules.chainId });
    const { endpoint, taken } = await startEndpoint(h, rules);
    try {
      if (rules.free) {
        await h.chain.setBalance({ address: h.relayer, value: 0n });
        await h.chain.request({ method: "hardhat_setNextBlockBaseFeePerGas", params: ["0x0"] } as never);
        await h.chain.mine({ blocks: 12 });
      }
      const before = await h.chain.getBalance({ address: h.relayer });
      const services = h.process({
        RPC_URL_GOERLI: endpoint.url,
        CHAIN_ID_GOERLI: String(rules.chainId),
        LOCAL_GOERLI: "false",
        FINALITY_GOERLI: "1",
      });
      const caller = await h.caller();
      const memory = createRelayMemory();
      const open = async () => {
        await relayRound(services, goerli(services), memory);
        await h.chain.mine({ blocks: 1 });
        const { rows } = await services.pool.query("SELECT count(*) FROM service.intent WHERE state <> 'finalized'");
        return Number(rows[0].count);
      };
      const collections = new Set<string>();
      // No more than a wallet may have under way on a public chain.
      for (let first = 0; first < deployments; first += atOnce) {
        const made = await Promise.all(
          Array.from({ length: atOnce }, () => deployCollection(services, caller, launch())),
        );
        for (const { deployment } of made) collections.add(deployment.contract);
        await wait("all to be final", open, { until: (count) => count === 0 });
      }

      expect(new Set((await h.announced()).map(({ collection }) => collection))).toEqual(collections);
      const paid = before - (await h.chain.getBalance({ address: h.relayer })) + taken();
      const { rows: booked } = await services.pool.query<{ mined_cost_wei: string; reserved_wei: string; raw: Buffer }>(
        `SELECT s.mined_cost_wei, i.reserved_wei, a.raw FROM service.nonce_reservation s
         JOIN service.intent i ON i.id = s.intent_id JOIN service.attempt a ON a.hash = s.mined_attempt`,
      );
      expect(booked.reduce((sum, row) => sum + BigInt(row.mined_cost_wei), 0n)).toBe(paid);
      for (const { mined_cost_wei, reserved_wei } of booked)
        expect(BigInt(mined_cost_wei)).toBeLessThanOrEqual(BigInt(reserved_wei));
      expect(
        booked.every(({ raw }) => parseTransaction(toHex(raw)).type === (rules.legacy ? "legacy" : "eip1559")),
      ).toBe(true);
      for (const { raw } of booked)
        expect(parseTransaction(toHex(raw)).maxPriorityFeePerGas ?? 0n).toBeGreaterThanOrEqual(rules.leastTip ?? 0n);
      const { rows: charged } = await services.pool.query(
        "SELECT sum(spent) FROM service.budget WHERE scope LIKE 'tenant:%'",
      );
      expect(BigInt(charged[0].sum)).toBe(paid);
      expect(paid > 0n).toBe(!rules.free);
    } finally {
      await endpoint.stop();
      await h.stop();
    }
  });

test("a legacy transaction is found in a mempool and in a block, by its own bytes", async () => {
  const anvil = await startAnvil();
  const h = await RelayHarness.start();
  try {
    const services = h.process({ RPC_URL_GOERLI: anvil.url });
    const chain = goerli(services);
    const account = privateKeyToAccount(generatePrivateKey());
    const wallet = account.address.toLowerCase() as Address;
    await anvil.rpc("anvil_setBalance", [wallet, "0xde0b6b3a7640000"]);
    const order = {
      type: "legacy",
      chainId: chain.id,
      nonce: 0,
      to: wallet,
      gas: 21_000n,
      gasPrice: 10n * gwei,
    } as const;
    const raw = await account.signTransaction(order);
    const hash = await anvil.rpc("eth_sendRawTransaction", [raw]);
    const fees = { maxFeePerGas: 10n * gwei, maxPriorityFeePerGas: 10n * gwei };
    const pending = await readPendingNonces(services, chain, wallet);
    expect(pending?.transactions.get(0n)).toMatchObject({ raw, hash, ...fees });
    await anvil.mine();
    expect(await findNonces(services, chain, wallet, [0n], 0n)).toMatchObject([{ raw, hash, ...fees }]);
  } finally {
    await h.stop();
    await anvil.stop();
  }
});
