import type { Address, Hash } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors.ts";
import type { RpcClients } from "../rpc/clients.ts";
import { askNode } from "./node-failure.ts";

/** The factory that new intents are accepted with, and what its clones run. */
export interface FactoryFacts {
  address: Address;
  template: Address;
  /** Block 0 of the chain that the node serves. */
  genesisHash: Hash;
}

/**
 * What a process knows about the paying wallets and factories of its chains.
 *
 * What use cases call, in this order: `acceptIntent` (deployments) or `acceptUpdate` (accept-intent.ts,
 * update-intent.ts) makes the request durable and gives its `Intent`; `untilSigned` (until-signed.ts)
 * takes that to signed and sent, or says 503; `listAttempts` (slots.ts) has the hash, newest first.
 * `cancelIntent` (cancel-intent.ts) takes a request back while the chain has not decided.
 */
export interface Relay {
  /** @throws ServiceError `chain_not_supported` where this installation cannot deploy. */
  account(chain: Chain): PrivateKeyAccount;
  /** @throws ServiceError `chain_not_supported`; `service_unavailable` while the node does not tell. */
  factory(chain: Chain): Promise<FactoryFacts>;
}

export function createRelay(rpc: RpcClients): Relay {
  const accounts = new Map<number, PrivateKeyAccount>();
  const factories = new Map<number, Promise<FactoryFacts>>();
  return {
    account: (chain) => {
      const known = accounts.get(chain.id);
      if (known) return known;
      const account = privateKeyToAccount(requireDeployable(chain).relayerKey);
      accounts.set(chain.id, account);
      return account;
    },
    factory: (chain) => {
      const { factory } = requireDeployable(chain);
      const known = factories.get(chain.id);
      if (known) return known;
      const reading = readFactory(rpc, chain, factory.address);
      factories.set(chain.id, reading);
      // A failure is not remembered: the next request asks again.
      reading.catch(() => factories.delete(chain.id));
      return reading;
    },
  };
}

function requireDeployable(chain: Chain) {
  const { factory, relayerKey } = chain;
  if (factory && relayerKey) return { factory, relayerKey };
  const suffix = chain.name.toUpperCase();
  const missing = [factory ? null : `FACTORY_${suffix}`, relayerKey ? null : `RELAYER_KEY_${suffix}`].filter(Boolean);
  throw new ServiceError(
    "chain_not_supported",
    `collections cannot be deployed on ${chain.name} here: the operator has not set ${missing.join(" and ")}`,
    { field: "chain" },
  );
}

async function readFactory(rpc: RpcClients, chain: Chain, address: Address): Promise<FactoryFacts> {
  const client = rpc(chain);
  return await askNode(chain, async () => {
    const [chainId, genesis, template] = await Promise.all([
      client.getChainId(),
      client.getBlock({ blockNumber: 0n }),
      client.readContract({ address, abi: collectionFactoryAbi, functionName: "template" }),
    ]);
    if (chainId !== chain.id) throw new Error(`the node of ${chain.name} serves chain ${chainId}, not ${chain.id}`);
    return { address, template: template.toLowerCase() as Address, genesisHash: genesis.hash };
  });
}
