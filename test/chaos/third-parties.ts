import { setTimeout as sleep } from "node:timers/promises";
import { type Address, createWalletClient, encodeFunctionData, type Hex, http, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import { rpc } from "./fleet.ts";
import type { World } from "./world.ts";

/** Takes the place of one of our transactions that wait, with the stolen key of the second wallet. */
export async function replaceOurs(world: World): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const { rows } = await world.pool.query<{ nonce: bigint }>(
      "SELECT min(nonce)::text AS nonce FROM service.nonce_reservation WHERE state = 'open' AND addr = $1 HAVING count(*) > 0",
      [thief(world).bytes],
    );
    // It may be mined before that.
    if (rows[0] && (await spend(world, Number(rows[0].nonce)).catch(() => false)) !== false) return;
    await sleep(50);
  }
  throw new Error("nothing of the second wallet is waiting");
}

export async function takeNextNonce(world: World): Promise<void> {
  const { rows } = await world.pool.query("SELECT next_nonce FROM service.relayer_wallet WHERE addr = $1", [
    thief(world).bytes,
  ]);
  if (!rows[0]) throw new Error("the second wallet has sent nothing yet");
  await spend(world, Number(rows[0].next_nonce));
}

function thief({ keys, wallets }: World): { key: Hex; bytes: Buffer } {
  const [, key] = keys;
  const [, wallet = "0x"] = wallets;
  if (!key) throw new Error("one wallet only");
  return { key, bytes: Buffer.from(wallet.slice(2), "hex") };
}

async function spend(world: World, nonce: number): Promise<void> {
  const account = privateKeyToAccount(thief(world).key);
  const fee = 10n ** 12n;
  const raw = await account.signTransaction({
    ...{ chainId: 31337, type: "eip1559", to: account.address, value: 1n, gas: 21_000n, nonce },
    ...{ maxFeePerGas: fee, maxPriorityFeePerGas: fee / 2n },
  });
  world.external.add(await rpc<string>(world.nodeUrl, "eth_sendRawTransaction", [raw]));
}

/** A third party who has seen an intent tries to put a contract of another owner at its address. */
export async function squat(world: World): Promise<void> {
  for (let tries = 0; tries < 60; tries += 1) {
    const { rows } = await world.pool.query<{ root_id: string; init_data: Buffer; owner: Buffer }>(
      "SELECT root_id, init_data, owner FROM service.intent WHERE state IN ('queued', 'assigned', 'signed', 'in_flight') AND kind = 'deploy' LIMIT 1",
    );
    const [seen] = rows;
    if (!seen) {
      await sleep(50);
      continue;
    }
    const accounts = await rpc<Address[]>(world.nodeUrl, "eth_accounts");
    const data = encodeFunctionData({
      abi: collectionFactoryAbi,
      functionName: "deploy",
      args: [
        `0x${seen.root_id.replaceAll("-", "").padStart(64, "0")}`,
        `0x${seen.owner.toString("hex")}`,
        `0x${seen.init_data.toString("hex")}`,
      ],
    });
    const from = accounts[5];
    await rpc(world.nodeUrl, "eth_sendTransaction", [{ from, to: world.factory.address, data, gas: toHex(2_000_000) }]);
    return;
  }
  throw new Error("no intent to be seen");
}

/** No request is held up on its way through a proxy for longer. */
const longestWayMs = 2_000;

/**
 * Pauses the factory, or the operator where there is one, for a while. Nothing of ours is in the pool then: what is mined while it is paused
 * fails for good, as it should. So nobody may put anything back there meanwhile.
 *
 * @returns a block after the end: no reorganisation may take that back either.
 */
export async function pauseFactory(world: World): Promise<bigint> {
  const { nodeUrl, proxies } = world;
  // Both have the same functions for it.
  const { address, admin: account } = world.operator ?? world.factory;
  const admin = createWalletClient({ account, transport: http(nodeUrl) });
  const call = { address, abi: collectionFactoryAbi, chain: null } as const;
  /** Asks until it is so: the pool is emptied, blocks stop and fees rise beside this. */
  const set = async (functionName: "pause" | "unpause") => {
    const wanted = functionName === "pause" ? 1n : 0n;
    const data = encodeFunctionData({ abi: collectionFactoryAbi, functionName: "paused" });
    for (let tries = 0; tries < 40; tries += 1) {
      if (BigInt(await rpc<Hex>(nodeUrl, "eth_call", [{ to: address, data }, "latest"])) === wanted) return;
      const fees = { maxFeePerGas: 10n ** 12n + BigInt(tries) * 2n * 10n ** 11n, maxPriorityFeePerGas: 10n ** 11n };
      const nonce = Number(await rpc<Hex>(nodeUrl, "eth_getTransactionCount", [account, "latest"]));
      await admin.writeContract({ ...call, ...fees, functionName, nonce, gas: 100_000n }).catch(() => undefined);
      await sleep(1_100);
    }
    throw new Error(`the contract does not ${functionName}`);
  };
  try {
    await emptyPool(world);
    await set("pause");
    await sleep(2_000);
    await set("unpause");
    return BigInt(await rpc<Hex>(nodeUrl, "eth_blockNumber"));
  } finally {
    for (const proxy of proxies) proxy.swallowSends = false;
  }
}

/** Keeps what the service sends from the node until nothing of it waits there: what is too cheap has to be replaced first. */
async function emptyPool({ nodeUrl, proxies }: World): Promise<void> {
  for (let tries = 0; tries < 10; tries += 1) {
    for (const proxy of proxies) proxy.swallowSends = true;
    await sleep(longestWayMs);
    for (let looks = 0; looks < 40; looks += 1) {
      const { pending } = await rpc<{ pending: Hex }>(nodeUrl, "txpool_status");
      if (Number(pending) === 0) return;
      await sleep(100);
    }
    for (const proxy of proxies) proxy.swallowSends = false;
    await sleep(4_000);
  }
  throw new Error("the pool does not empty");
}
