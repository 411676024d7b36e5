import { type Address, encodeFunctionData } from "viem";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { Chain } from "../chains.ts";
import { NodeFault } from "../rpc/endpoint.ts";
import { askNode, type Nodes, openNodes } from "../rpc/nodes.ts";
import { calls, parseBlock, parseHex } from "../rpc/reads.ts";
import type { Signer } from "../signing/signer.ts";
import type { SigningBackend } from "../signing/signing-backend.ts";
import { type FactoryContext, type Relay, requireDeployable, requireOperator } from "./chain/context.ts";
import { WalletRoles } from "./chain/roles.ts";
import { RelayFigures } from "./store/figures.ts";
import { WalletMemory } from "./store/wallets.ts";

/** What a process knows about the relayer wallets and factories of its chains; everything is read on first use. */
export function createRelay(signing: SigningBackend): Relay {
  const wallets = new Map<number, readonly Signer[]>();
  const factories = new Map<number, Promise<FactoryContext>>();
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
  const operatorRoles = new WalletRoles(nodes);
  return {
    nodes,
    roles,
    deployers: async (chain) => {
      const { factory } = requireDeployable(chain);
      const wallets = signers(chain).map(({ address }) => address.toLowerCase() as Address);
      return await askNode(chain, () => roles.holders(chain, factory.address, wallets));
    },
    operating: async (chain) => {
      const { operator } = requireOperator(chain);
      const wallets = signers(chain).map(({ address }) => address.toLowerCase() as Address);
      return await askNode(chain, () => operatorRoles.holders(chain, operator.address, wallets));
    },
    forgetRoles: (chain) => {
      roles.forget(chain);
      operatorRoles.forget(chain);
    },
    wallets: new WalletMemory(),
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

async function readFactory(nodes: Nodes, chain: Chain, address: Address): Promise<FactoryContext> {
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
