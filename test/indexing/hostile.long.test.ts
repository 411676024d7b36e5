import { encodeDeployData, encodeFunctionData, getContractAddress, type Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { slowness } from "../setup/wait.ts";
import type { Anvil } from "./anvil.ts";
import { hostileCases, hostileContract, transferTopic, word } from "./hostile-cases.ts";
import { IndexedAnvil } from "./indexed-anvil.ts";

const seeds = Number(process.env["HOSTILE_SEEDS"] ?? 1);
const firstSeed = Number(process.env["HOSTILE_FIRST_SEED"] ?? 1);
let indexed: IndexedAnvil;
let chain: Anvil;
let query: IndexedAnvil["query"];

beforeAll(async () => {
  indexed = await IndexedAnvil.start();
  chain = indexed.chain;
  query = indexed.query.bind(indexed);
});
afterAll(() => indexed?.stop());

const raw = (hex: Hex) => Buffer.from(hex.slice(2), "hex");

async function phoenixOf(hostile: Hex): Promise<Hex> {
  const { abi } = hostileContract();
  const data = encodeFunctionData({ abi, functionName: "phoenixAt", args: [] });
  const said = await chain.rpc<Hex>("eth_call", [{ to: hostile, data }, "latest"]);
  return `0x${said.slice(-40)}`;
}

/** Deploys all contracts of a seed in one block and lets all of them act in the next, an honest one among them. */
async function act(seed: number) {
  const { abi, bytecode } = hostileContract();
  const cases = hostileCases(seed);
  const from = seed % chain.accounts.length;
  let nonce = BigInt(await chain.rpc<Hex>("eth_getTransactionCount", [chain.account(from), "latest"]));
  const addresses: Hex[] = [];
  for (let index = 0; index <= cases.length; index++) {
    addresses.push(getContractAddress({ from: chain.account(from), nonce: nonce++ }).toLowerCase() as Hex);
    await chain.send(undefined, encodeDeployData({ abi, bytecode }), from);
  }
  await chain.mine();
  for (const [index, { call, later }] of cases.entries())
    for (const { name, args } of [call, ...(later ? [later] : [])])
      await chain.send(addresses[index], encodeFunctionData({ abi, functionName: name, args }), from, 400_000_000);
  const honest = addresses.at(-1) ?? "0x";
  const mint = { topics: [transferTopic, word(0n), word(7n), word(BigInt(seed))], data: "0x" };
  await chain.send(honest, encodeFunctionData({ abi, functionName: "say", args: [[mint]] }), from);
  await chain.mine();
  const placed = cases.map(async (expected, index) => {
    const own = addresses[index] ?? "0x";
    return { ...expected, own, address: expected.atPhoenix ? await phoenixOf(own) : own };
  });
  return { honest, sender: chain.account(from), cases: await Promise.all(placed) };
}

test(
  `25 hostile contracts with ${seeds} seeds: each gets the rows and flags it deserves, and nobody else is touched`,
  async () => {
    for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
      const { honest, sender, cases } = await act(seed);
      await indexed.untilHead();
      for (const { name, address, transfers, flags, holdings, updates } of cases) {
        const of = [raw(address)];
        const found = {
          transfers: (await query("SELECT 1 FROM nft.transfers WHERE contract = $1", of)).length,
          // Whatever the logs say of senders and operators.
          sentByOthers: (
            await query("SELECT 1 FROM nft.transfers WHERE contract = $1 AND tx_from <> $2", [
              raw(address),
              raw(sender),
            ])
          ).length,
          flags: Object.fromEntries(
            (await query("SELECT flag, count FROM nft.contract_flags WHERE contract = $1", of)).map((row) => [
              row["flag"],
              Number(row["count"]),
            ]),
          ),
          holdings: Object.fromEntries(
            (
              await query(
                "SELECT token_id, sum(amount)::text AS amount FROM nft.holdings WHERE contract = $1 GROUP BY 1",
                of,
              )
            ).map((row) => [row["token_id"], row["amount"]]),
          ),
          updates: (await query("SELECT 1 FROM nft.metadata_updates WHERE contract = $1", of)).length,
        };
        expect({ seed, name, ...found }).toEqual({
          seed,
          name,
          transfers,
          sentByOthers: 0,
          flags,
          holdings: holdings ?? {},
          updates: updates ?? 0,
        });
      }
      expect(await query("SELECT token_id FROM nft.holdings WHERE contract = $1", [raw(honest)])).toEqual([
        { token_id: String(seed) },
      ]);
      const born = await query(
        "SELECT count(DISTINCT contract)::int AS count FROM nft.transfers WHERE block_number = $1 AND contract <> ALL($2)",
        [String(await chain.head()), [honest, ...cases.flatMap(({ own, address }) => [own, address])].map(raw)],
      );
      expect(born).toEqual([{ count: Number(cases.find(({ name }) => name.startsWith("C23"))?.call.args[0]) }]);
      expect(await query("SELECT 1 FROM nft.collections")).toEqual([]);
    }
  },
  1_200_000 * slowness,
);
