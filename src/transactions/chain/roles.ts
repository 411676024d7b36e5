import { type Address, encodeFunctionData, type Hash, zeroHash } from "viem";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import type { Chain } from "../../chains.ts";
import { NodeFault } from "../../rpc/endpoint.ts";
import type { Nodes } from "../../rpc/nodes.ts";
import { type ByHash, calls, parseHex } from "../../rpc/reads.ts";
import { relayerRole } from "../../signing/rules.ts";

/** `DEFAULT_ADMIN_ROLE` of AccessControl, whose holders grant and revoke the other roles. */
export const factoryAdminRole = zeroHash;

/** Maximum age of an answer: about one block. */
const freshMs = { local: 200, elsewhere: 2_000 };
/** After this share of that time the next answer is fetched in the background, so that no request waits for it. */
const aheadShare = 0.6;

interface Reading {
  /** When the reading started. */
  at: number;
  holders: Promise<readonly Address[]>;
  /** A replacement that is being read while this answer is still valid. */
  next: Promise<void> | null;
}

/** The wallets that have the factory's relayer role, as one process knows it: at most one block old. */
export class WalletRoles {
  readonly #nodes: (chain: Chain) => Nodes;
  readonly #readings = new Map<number, Reading>();
  readonly #known = new Map<number, readonly Address[]>();

  constructor(nodes: (chain: Chain) => Nodes) {
    this.#nodes = nodes;
  }

  /**
   * Those of the given wallets that the factory allows to deploy, in their order. While no endpoint answers, the last
   * answer is used: the simulation of each deployment decides in the end.
   *
   * @throws NodeFault while no endpoint answers and none ever did.
   */
  async holders(chain: Chain, factory: Address, wallets: readonly Address[]): Promise<readonly Address[]> {
    const last = this.#readings.get(chain.id);
    const most = chain.local ? freshMs.local : freshMs.elsewhere;
    const age = last ? performance.now() - last.at : most;
    if (last && age < most) {
      if (age >= most * aheadShare) last.next ??= this.#follow(last, chain, factory, wallets);
      return await last.holders;
    }
    const reading = this.#begin(chain, factory, wallets);
    this.#readings.set(chain.id, reading);
    return await reading.holders;
  }

  /** Makes the next lookup read the chain: a simulation has shown that the last answer is outdated. */
  forget(chain: Chain): void {
    this.#readings.delete(chain.id);
  }

  #begin(chain: Chain, factory: Address, wallets: readonly Address[]): Reading {
    return { at: performance.now(), holders: this.#read(chain, factory, wallets), next: null };
  }

  async #follow(last: Reading, chain: Chain, factory: Address, wallets: readonly Address[]): Promise<void> {
    const reading = this.#begin(chain, factory, wallets);
    await reading.holders.catch(() => undefined);
    // Unless the answer was forgotten or read again since.
    if (this.#readings.get(chain.id) === last) this.#readings.set(chain.id, reading);
  }

  async #read(chain: Chain, factory: Address, wallets: readonly Address[]): Promise<readonly Address[]> {
    try {
      const roles = await readRoles(this.#nodes(chain), factory, relayerRole, wallets);
      const holders = wallets.filter((_, index) => roles[index]);
      this.#known.set(chain.id, holders);
      return holders;
    } catch (error) {
      this.forget(chain);
      const known = this.#known.get(chain.id);
      if (known) return known;
      throw error;
    }
  }
}

/**
 * Whether wallets have a role of the factory.
 *
 * @returns one answer per wallet, in their order.
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function readRoles(
  nodes: Nodes,
  factory: Address,
  role: Hash,
  wallets: readonly Address[],
  at: "latest" | ByHash = "latest",
): Promise<boolean[]> {
  const questions = wallets.map((wallet) =>
    calls.call(
      factory,
      encodeFunctionData({ abi: collectionFactoryAbi, functionName: "hasRole", args: [role, wallet] }),
      at,
    ),
  );
  return await nodes.first(async (node) =>
    (await node.ask(questions)).map((answer) => {
      const word = parseHex(answer, "a role");
      if (word.length !== 66) throw new NodeFault("no factory at this address");
      return BigInt(word) === 1n;
    }),
  );
}

/** Whether a wallet lacked the relayer role at the end of a block; false if no endpoint still has the block's state. */
export async function lackedRole(nodes: Nodes, contract: Address, wallet: Address, blockHash: Hash): Promise<boolean> {
  try {
    return (await readRoles(nodes, contract, relayerRole, [wallet], { blockHash }))[0] === false;
  } catch (error) {
    if (error instanceof NodeFault) return false;
    throw error;
  }
}
