import { type Address, getContract, type PublicClient } from "viem";
import { expect } from "vitest";
import { connect } from "../../bin/demo-wallets.ts";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { Client } from "../setup/client.ts";
import type { RunningStack } from "../setup/stack.ts";
import { patient } from "../setup/wait.ts";

interface Launched {
  address: Address;
  /** Mints one token and waits for its receipt. */
  mint(): Promise<void>;
  /** Ids of the tokens that the service lists for the owner. */
  owned(): Promise<string[]>;
  untilOwned(ids: string[]): Promise<void>;
}

/** A collection on one of the chains of a stack, whose owner mints in it. */
export async function launch(stack: RunningStack, chain: string): Promise<Launched> {
  const served = stack.ready.chains.find(({ name }) => name === chain);
  if (!served) throw new Error(`${chain} is not served`);
  const client = new Client(stack.ready);
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
  const owned = async () => {
    const { status, body } = await client.get(`/accounts/${owner}?chain=${chain}`);
    expect(status).toBe(200);
    return (body["nfts"] as { token_id: string }[]).map((nft) => nft.token_id).sort();
  };
  return {
    address,
    owned,
    untilOwned: async (ids) => await expect.poll(owned, { ...patient, interval: 100 }).toEqual(ids),
    async mint() {
      const hash = await contract.write.mint([1n], { value: 10n ** 15n });
      expect((await node.waitForTransactionReceipt({ hash })).status).toBe("success");
    },
  };
}
