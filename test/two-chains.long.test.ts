import { type Address, getContract, type PublicClient } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Wallet } from "../bin/demo-wallets.ts";
import { collectionAbi } from "../contracts/abi/collection.ts";
import { Client } from "./setup/client.ts";
import { type RunningStack, startStackProcess } from "./setup/stack.ts";
import { processesOf } from "./setup/stack-processes.ts";
import { patient, slowness } from "./setup/wait.ts";

interface Launched {
  chain: string;
  address: Address;
  wallet: Wallet;
  /** Mints one token and waits for its receipt. */
  mint(): Promise<void>;
}

let stack: RunningStack;
let client: Client;

beforeAll(async () => {
  stack = await startStackProcess({ env: { MINTYARD_LOCAL_CHAINS: "goerli,polygon" } });
  client = new Client(stack.ready);
});
afterAll(() => stack?.remove());

async function launch(chain: string): Promise<Launched> {
  const served = stack.ready.chains.find(({ name }) => name === chain);
  if (!served) throw new Error(`${chain} is not served`);
  const { node, createWallet } = connect(served.rpcUrl, served.chainId);
  const wallet = await createWallet();
  const owner = wallet.account.address;
  const posted = await client.json("/contracts/collections", {
    chain,
    name: `Two chains, ${chain}`,
    symbol: "TWO",
    max_supply: 10,
    mint_price: 0.001,
    tokens_per_mint: 5,
    owner_address: owner,
    treasury_address: owner,
    public_mint_start_date: "2020-01-01T00:00:00+00:00",
    metadata_updatable: true,
    prereveal_token_uri: "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii",
  });
  expect([posted.status, posted.body["error"]]).toEqual([200, null]);
  const found = await client.until(
    `/contracts/${posted.body["transaction_hash"]}?chain=${chain}`,
    ({ body }) => body["contract_address"] != null,
  );
  const address = found.body["contract_address"] as Address;
  const contract = getContract({ address, abi: collectionAbi, client: { public: node as PublicClient, wallet } });
  return {
    chain,
    address,
    wallet,
    async mint() {
      const hash = await contract.write.mint([1n], { value: 10n ** 15n });
      expect((await node.waitForTransactionReceipt({ hash })).status).toBe("success");
    },
  };
}

const owned = async ({ chain, wallet }: Launched) => {
  const { status, body } = await client.get(`/accounts/${wallet.account.address}?chain=${chain}`);
  expect(status).toBe(200);
  return (body["nfts"] as { token_id: string }[]).map((nft) => nft.token_id).sort();
};

async function untilOwned(launched: Launched, ids: string[]): Promise<void> {
  await expect.poll(() => owned(launched), { ...patient, interval: 100 }).toEqual(ids);
}

test(
  "two chains at once, each with its own indexer: one stands still and is killed while the other goes on",
  async () => {
    const goerli = await launch("goerli");
    const polygon = await launch("polygon");
    expect(goerli.address).not.toBe(polygon.address);
    await goerli.mint();
    await polygon.mint();
    await untilOwned(goerli, ["0"]);
    await untilOwned(polygon, ["0"]);

    const indexers = processesOf(stack).filter(({ command }) => command.includes("src/processes/indexer.ts --chain"));
    expect(indexers).toHaveLength(2);
    const victim = indexers.find(({ command }) => command.endsWith("--chain polygon"))?.pid ?? 0;
    process.kill(victim, "SIGSTOP");
    await goerli.mint();
    await polygon.mint();
    await untilOwned(goerli, ["0", "1"]);
    expect(await owned(polygon)).toEqual(["0"]);

    process.kill(victim, "SIGKILL");
    await goerli.mint();
    await untilOwned(goerli, ["0", "1", "2"]);
    await stack.untilLine(/^mintyard: indexer-polygon is running again/);
    await untilOwned(polygon, ["0", "1"]);
    expect(await owned(goerli)).toEqual(["0", "1", "2"]);
  },
  300_000 * slowness,
);
