import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import type { ReadyInfo } from "../src/embedded/ready-info.ts";
import { DemoClient } from "./demo-client.ts";
import { step } from "./demo-step.ts";

const chain = "goerli";

/**
 * Minting for clients: a product contract, and one token to a wallet that has never had any money. @throws Error at the
 * first unexpected result.
 */
export async function mintForClient(ready: ReadyInfo): Promise<void> {
  const client = new DemoClient(ready);
  const [owner, recipient] = [generatePrivateKey(), generatePrivateKey()].map(privateKeyToAddress);
  if (!owner || !recipient) throw new Error("no wallets");
  const contract = await step(
    "a contract in which the service mints",
    async () => {
      const body = { chain, name: "Tickets", symbol: "TIX", owner_address: owner, metadata_updatable: true };
      const deployed = await client.rest<{ transaction_hash: string }>("/contracts", { method: "POST", body });
      const path = `/contracts/${deployed.transaction_hash}?chain=${chain}`;
      return (await client.restUntil<{ contract_address: string }>(path)).contract_address;
    },
    (address) => [address],
  );
  const tokenId = await step(
    "one call mints a token to a wallet without money",
    async () => {
      const document = { name: "Ticket", description: "For one evening.", file_url: "https://ipfs.io/ipfs/bafkqaaa" };
      const { metadata_uri } = await client.rest<{ metadata_uri: string }>("/metadata", {
        method: "POST",
        body: document,
      });
      const body = { chain, contract_address: contract, metadata_uri, mint_to_address: recipient };
      const minted = await client.rest<{ transaction_hash: string }>("/mints/customizable", { method: "POST", body });
      const path = `/mints/${minted.transaction_hash}?chain=${chain}`;
      return (await client.restUntil<{ token_id: string }>(path)).token_id;
    },
    (id) => [`token ${id} to ${recipient}`],
  );
  await step(
    "the index has it",
    async () => {
      const path = `/nfts/${contract}/${tokenId}?chain=${chain}`;
      const { owner: holder } = await client.restUntil<{ owner: string | null }>(path);
      if (holder?.toLowerCase() !== recipient.toLowerCase()) throw new Error(`${path}: the owner is ${holder}`);
      return holder;
    },
    (holder) => [`owner ${holder}`],
  );
}
