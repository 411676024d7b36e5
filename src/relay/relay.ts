import { type Address, encodeFunctionData, type Hash } from "viem";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { NodeFault } from "../rpc/batch.ts";
import type { Signer } from "../signing/signer.ts";
import type { SigningPlace } from "../signing/signing-place.ts";
import { askNode } from "./chain/node-failure.ts";
import { calls, parseBlock, parseHex } from "./chain/reads.ts";
import { WalletRoles } from "./chain/roles.ts";
import { type Nodes, openNodes } from "./chain/rpc-nodes.ts";
import { RelayFigures } from "./store/relay-figures.ts";
import { NonceBasis } from "./submit/nonce-basis.ts";
import { SendingOrder } from "./submit/sending-order.ts";

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
 * takes that to signed, starts sending it, or says 503; `listAttempts` (slots.ts) has the hash, newest first.
 * `cancelIntent` (cancel-intent.ts) takes a request back while the chain has not decided.
 */
export interface Relay {
  /**
   * The first paying wallet: the admin of collections.
   *
   * @throws ServiceError `chain_not_supported` where this installation cannot deploy.
   */
  account(chain: Chain): Signer;
  /** Every paying wallet; the first one sends updates, all of them deployments. */
  signers(chain: Chain): readonly Signer[];
  /** Where they sign. */
  signing: SigningPlace;
  /** @throws ServiceError `chain_not_supported`; `service_unavailable` while the node does not tell. */
  factory(chain: Chain): Promise<FactoryFacts>;
  /**
   * The paying wallets that the factory lets deploy, as the chain said within the last block or so.
   *
   * @throws ServiceError `chain_not_supported`; `service_unavailable` while the node does not tell.
   */
  deployers(chain: Chain): Promise<readonly Address[]>;
  roles: WalletRoles;
  nodes(chain: Chain): Nodes;
  /** Of the nonces that this process gave out. */
  order: SendingOrder;
  /** What this process saw, for metrics. */
  figures: RelayFigures;
  /** Up to which nonce this process knows each paying wallet. */
  basis: NonceBasis;
}

export function createRelay(signing: SigningPlace): Relay {
  const wallets = new Map<number, readonly Signer[]>();
  const factories = new Map<number, Promise<FactoryFacts>>();
  const endpoints = new Map<number, Nodes>();
  const nodes = (chain: Chain): Nodes => {
    const known = endpoints.get(chain.id) ?? openNodes(chain);
    endpoints.set(chain.id, known);
    return known;
  };
  const signers = (chain: Chain): readonly Signer[] => {
    requireDeployable(chain);
    const known = wallets.get(chain.id) ?? signing.wallets(chain);
    wallets.set(chain.id, known);
    return known;
  };
  const roles = new WalletRoles(nodes);
  return {
    nodes,
    roles,
    deployers: async (chain) => {
      const { factory } = requireDeployable(chain);
      const wallets = signers(chain).map(({ address }) => address.toLowerCase() as Address);
      return await askNode(chain, () => roles.holders(chain, factory.address, wallets));
    },
    order: new SendingOrder(),
    basis: new NonceBasis(),
    figures: new RelayFigures(),
    signers,
    signing,
    account: (chain) => {
      const [first] = signers(chain);
      if (!first) throw new Error(`${chain.name} has no paying wallet`);
      return first;
    },
    factory: (chain) => {
      const { factory } = requireDeployable(chain);
      const known = factories.get(chain.id);
      if (known) return known;
      const reading = readFactory(nodes(chain), chain, factory.address);
      factories.set(chain.id, reading);
      // A failure is not remembered: the next request asks again.
      reading.catch(() => factories.delete(chain.id));
      return reading;
    },
  };
}

/** Whether this installation has what it takes to deploy on a chain. */
export function isDeployable(chain: Chain): boolean {
  return chain.factory !== null && hasWallet(chain);
}

function hasWallet({ relayerKey, relay }: Chain): boolean {
  return relayerKey !== null || relay.keystores.length > 0 || relay.wallets.length > 0;
}

function requireDeployable(chain: Chain) {
  const { factory } = chain;
  if (factory && hasWallet(chain)) return { factory };
  const suffix = chain.name.toUpperCase();
  const missing = [
    factory ? null : `FACTORY_${suffix}`,
    hasWallet(chain) ? null : `RELAYER_KEY_${suffix} (RELAYER_ADDRESS_${suffix} beside a signer)`,
  ];
  throw new ServiceError(
    "chain_not_supported",
    `collections cannot be deployed on ${chain.name} here: the operator has not set ${missing.filter(Boolean).join(" and ")}`,
    { field: "chain" },
  );
}

async function readFactory(nodes: Nodes, chain: Chain, address: Address): Promise<FactoryFacts> {
  const data = encodeFunctionData({ abi: collectionFactoryAbi, functionName: "template" });
  return await askNode(chain, () =>
    nodes.first(async (node) => {
      const [genesis, template] = await node.ask([calls.block(0n), calls.call(address, data, "latest")]);
      const word = parseHex(template, "a template");
      if (word.length !== 66) throw new NodeFault("no factory at this address");
      return { address, template: `0x${word.slice(26)}`, genesisHash: parseBlock(genesis).hash };
    }),
  );
}
