import { type Address, encodeFunctionData, type Hash, keccak256, stringToHex } from "viem";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors.ts";
import { NodeFault } from "../rpc/batch.ts";
import { calls, parseBlock, parseHex } from "./chain-reads.ts";
import { askNode } from "./node-failure.ts";
import { type Nodes, openNodes } from "./nodes.ts";
import { SendingOrder } from "./sending-order.ts";
import { openSigners, type Signer } from "./signer.ts";

/** The factory that new intents are accepted with, and what its clones run. */
export interface FactoryFacts {
  address: Address;
  template: Address;
  /** Block 0 of the chain that the node serves. */
  genesisHash: Hash;
  /** The paying wallets that it lets deploy. */
  lanes: readonly Address[];
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
  /** @throws ServiceError `chain_not_supported`; `service_unavailable` while the node does not tell. */
  factory(chain: Chain): Promise<FactoryFacts>;
  nodes(chain: Chain): Nodes;
  /** Of the nonces that this process gave out. */
  order: SendingOrder;
}

/** @param open makes the wallets of a chain; a key service of one's own goes in here. */
export function createRelay(open: (chain: Chain) => Signer[] = openSigners): Relay {
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
    const known = wallets.get(chain.id) ?? open(chain);
    wallets.set(chain.id, known);
    return known;
  };
  return {
    nodes,
    order: new SendingOrder(),
    signers,
    account: (chain) => {
      const [first] = signers(chain);
      if (!first) throw new Error(`${chain.name} has no paying wallet`);
      return first;
    },
    factory: (chain) => {
      const { factory } = requireDeployable(chain);
      const known = factories.get(chain.id);
      if (known) return known;
      const reading = readFactory(nodes(chain), chain, factory.address, signers(chain));
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

function hasWallet(chain: Chain): boolean {
  return chain.relayerKey !== null || chain.relay.keystores.length > 0;
}

function requireDeployable(chain: Chain) {
  const { factory } = chain;
  if (factory && hasWallet(chain)) return { factory };
  const suffix = chain.name.toUpperCase();
  const missing = [factory ? null : `FACTORY_${suffix}`, hasWallet(chain) ? null : `RELAYER_KEY_${suffix}`];
  throw new ServiceError(
    "chain_not_supported",
    `collections cannot be deployed on ${chain.name} here: the operator has not set ${missing.filter(Boolean).join(" and ")}`,
    { field: "chain" },
  );
}

const relayerRole = keccak256(stringToHex("RELAYER_ROLE"));

async function readFactory(
  nodes: Nodes,
  chain: Chain,
  address: Address,
  signers: readonly Signer[],
): Promise<FactoryFacts> {
  const read = (functionName: "template" | "hasRole", args: readonly unknown[] = []) =>
    calls.call(address, encodeFunctionData({ abi: collectionFactoryAbi, functionName, args } as never), "latest");
  return await askNode(chain, () =>
    nodes.first(async (node) => {
      const roles = signers.map((signer) => read("hasRole", [relayerRole, signer.address]));
      const [genesis, template, ...mayDeploy] = await node.ask([calls.block(0n), read("template"), ...roles]);
      const word = parseHex(template, "a template");
      if (word.length !== 66) throw new NodeFault("no factory at this address");
      return {
        address,
        template: `0x${word.slice(26)}`,
        genesisHash: parseBlock(genesis).hash,
        lanes: signers
          .filter((_, index) => BigInt(parseHex(mayDeploy[index], "a role")) === 1n)
          .map((signer) => signer.address),
      };
    }),
  );
}
