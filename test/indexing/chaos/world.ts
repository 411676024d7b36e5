import { readFileSync } from "node:fs";
import type pg from "pg";
import { type Abi, decodeFunctionResult, encodeFunctionData, getContractAddress, type Hex, toHex } from "viem";
import { compileSolidity } from "../../setup/compile.ts";
import type { Anvil } from "../anvil.ts";
import { hostileCases, hostileContract } from "../hostile-cases.ts";

type Random = (below: number) => number;

/** Where the operator of product contracts will be: the indexer is told before the chain has it. */
export function operatorAddress(chain: Anvil): Hex {
  return getContractAddress({ from: chain.account(0), nonce: 0n });
}

/** Contracts on the chain, what is done with them at random, and what they say of it in the end. */
export async function buildWorld(chain: Anvil) {
  const compiled = compileSolidity(readFileSync(new URL("../../fixtures/Chaos.sol", import.meta.url), "utf8"));
  const { Chaos721, Chaos2309, Chaos1155, ChaosOperator } = compiled;
  if (!Chaos721 || !Chaos2309 || !Chaos1155 || !ChaosOperator) throw new Error("Chaos.sol was not compiled");
  const operator = await chain.deploy(ChaosOperator);
  if (operator.address !== operatorAddress(chain).toLowerCase()) throw new Error("the operator is elsewhere");
  const nfts = [await chain.deploy(Chaos721), await chain.deploy(Chaos721), await chain.deploy(Chaos2309)];
  const many = await chain.deploy(Chaos1155);
  const hostile = await chain.deploy(hostileContract());
  const firstBlock = Number(await chain.head());
  const people = chain.accounts;
  const idCount = 200;
  const read = async (contract: { address: Hex; abi: Abi }, functionName: string, args: unknown[]) => {
    const data = encodeFunctionData({ abi: contract.abi, functionName, args });
    const call = { to: contract.address, data, gas: "0x70000000" };
    return decodeFunctionResult({
      abi: contract.abi,
      functionName,
      data: await chain.rpc<Hex>("eth_call", [call, "latest"]),
    });
  };
  const supply = async (nft: { address: Hex; abi: Abi }) => Number(await read(nft, "next", []));
  const somebody = (random: Random) => people[random(people.length)] ?? "0x";
  const nobody: Hex = `0x${"0".repeat(40)}`;
  let lastSupply = 1;
  const action = (random: Random, perMint: number): { to: Hex; data: Hex } => {
    const nft = nfts[random(nfts.length)] ?? many;
    const make = ({ address, abi }: { address: Hex; abi: Abi }, functionName: string, args: unknown[]) => ({
      to: address,
      data: encodeFunctionData({ abi, functionName, args }),
    });
    switch (random(9)) {
      case 0:
      case 1:
      case 2:
        return make(nft, "mint", [somebody(random), BigInt(1 + random(perMint * 2))]);
      case 3:
        return make(nft, "move", [BigInt(random(lastSupply)), somebody(random)]);
      case 4:
        return make(nft, "move", [BigInt(random(lastSupply)), random(2) === 0 ? nobody : somebody(random)]);
      case 5:
        return make(many, "mint", [
          somebody(random),
          Array.from({ length: 1 + random(20) }, () => BigInt(random(idCount))),
          BigInt(1 + random(9)),
        ]);
      case 6:
        return make(many, "move", [
          somebody(random),
          random(4) === 0 ? nobody : somebody(random),
          BigInt(random(idCount)),
          BigInt(random(9)),
        ]);
      case 7:
        return random(3) === 0
          ? make(operator, "deploy", [somebody(random), BigInt(random(3))])
          : make(operator, "mint", [BigInt(random(1_000)), somebody(random), BigInt(1 + random(perMint))]);
      default: {
        // What the recomputation in SQL knows nothing of must leave the others alone.
        const cases = hostileCases(random(1_000)).filter(
          ({ transfers, holdings }) => transfers === 0 && !holdings?.["1"],
        );
        const { call } = cases[random(cases.length)] ?? { call: { name: "storm", args: [70n] } };
        return ["bear", "flood", "rise"].includes(call.name)
          ? make(hostile, "storm", [70n])
          : make(hostile, call.name, call.args);
      }
    }
  };
  return {
    firstBlock,
    /** Those whose logs make rows, products included. */
    addresses: async () => [
      ...[...nfts, many, operator].map(({ address }) => address),
      ...((await read(operator, "deployed", [])) as Hex[]),
    ],
    /** Those whose movements are all told one by one: without ranges of ERC-2309. */
    plain: [nfts[0], nfts[1], many].flatMap((contract) => (contract ? [contract.address] : [])),
    tokens: async () => {
      const counts = await Promise.all(nfts.map(supply));
      lastSupply = Math.max(1, ...counts);
      return counts.reduce((sum, count) => sum + count, 0);
    },
    act: async (random: Random, perMint: number) => {
      const { to, data } = action(random, perMint);
      await chain.send(to, data, random(people.length));
    },
    /** Many tokens in one log. */
    mintRange: async (random: Random, count: number) => {
      const [, , ranged] = nfts;
      if (!ranged) throw new Error("no contract with ranges");
      await chain.call(ranged, "mint", [somebody(random), BigInt(count)], random(people.length));
    },
    /** Many tokens of a plain contract, with a log each. */
    mintMany: async (count: number) => {
      const [plain] = nfts;
      if (plain) await chain.call(plain, "mint", [somebody(() => 0), BigInt(count)]);
    },
    /** Other transactions for blocks that are replaced. */
    replacements: (random: Random, depth: number) =>
      Array.from({ length: 1 + random(6) }, () => {
        const { to, data } = action(random, 50);
        return [{ from: somebody(random), to, data, gas: "0x3938700" }, random(depth)];
      }),
    /** Who holds how much of the plain contracts by their own answers, by `contract/token/owner`. */
    holdings: async () => {
      const held = new Map<string, bigint>();
      for (const nft of nfts.slice(0, 2)) {
        const total = await supply(nft);
        for (let first = 0; first < total; first += 1_000) {
          const owners = (await read(nft, "owners", [BigInt(first), BigInt(Math.min(1_000, total - first))])) as Hex[];
          for (const [index, owner] of owners.entries())
            if (owner !== nobody) held.set(`${nft.address}/${first + index}/${owner}`.toLowerCase(), 1n);
        }
      }
      for (const person of people) {
        const balances = (await read(many, "balances", [person, BigInt(idCount)])) as bigint[];
        for (const [id, balance] of balances.entries())
          if (balance > 0n) held.set(`${many.address}/${id}/${person}`.toLowerCase(), balance);
      }
      return held;
    },
    /** Asks the contracts for every owner and balance. */
    compare: async (client: pg.Client) => {
      let asked = 0;
      let wrong = 0;
      for (const nft of nfts) {
        // First, since what is withheld now can be listed a moment later.
        const { rows: ranges } = await client.query<{ first: string; last: string }>(
          "SELECT from_token_id::text AS first, to_token_id::text AS last FROM nft.token_ranges WHERE contract = $1 AND NOT listed",
          [Buffer.from(nft.address.slice(2), "hex")],
        );
        const { rows } = await client.query<{ id: string; owner: Buffer }>(
          "SELECT token_id::text AS id, owner FROM nft.tokens WHERE contract = $1",
          [Buffer.from(nft.address.slice(2), "hex")],
        );
        const shown = new Map(rows.map(({ id, owner }) => [Number(id), owner ? toHex(owner) : nobody]));
        const total = await supply(nft);
        const isWithheld = (id: number) => ranges.some(({ first, last }) => Number(first) <= id && id <= Number(last));
        for (const id of shown.keys()) if (id >= total) wrong += 1;
        for (let first = 0; first < total; first += 1_000) {
          const owners = (await read(nft, "owners", [BigInt(first), BigInt(Math.min(1_000, total - first))])) as Hex[];
          for (const [index, owner] of owners.entries()) {
            const found = shown.get(first + index);
            if (found === undefined ? !isWithheld(first + index) : found !== owner.toLowerCase()) wrong += 1;
          }
          asked += owners.length;
        }
      }
      for (const person of people) {
        const { rows } = await client.query<{ id: string; amount: string }>(
          "SELECT token_id::text AS id, amount::text FROM nft.holdings WHERE contract = $1 AND owner = $2",
          [many.address, person].map((hex) => Buffer.from(hex.slice(2), "hex")),
        );
        const shown = new Map(rows.map(({ id, amount }) => [Number(id), amount]));
        const balances = (await read(many, "balances", [person, BigInt(idCount)])) as bigint[];
        for (const [id, balance] of balances.entries()) if ((shown.get(id) ?? "0") !== String(balance)) wrong += 1;
        asked += balances.length;
      }
      return { asked, wrong };
    },
  };
}
