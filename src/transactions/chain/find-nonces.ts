import {
  type AccessList,
  type Address,
  type Hash,
  type Hex,
  keccak256,
  serializeTransaction,
  type TransactionSerialized,
} from "viem";
import type { Chain } from "../../chains.ts";
import { ServiceError } from "../../errors/errors.ts";
import { askNode } from "../../rpc/nodes.ts";
import type { Receipt } from "../../rpc/reads.ts";
import type { RelayContext } from "./context.ts";
import { readReceipt } from "./view.ts";

/** A signed transaction of any type, as a node returns it. */
interface ShownTransaction {
  type: string;
  nonce: number;
  to: Address | null;
  input: Hex;
  value: bigint;
  gas: bigint;
  gasPrice?: bigint | undefined;
  maxFeePerGas?: bigint | undefined;
  maxPriorityFeePerGas?: bigint | undefined;
  accessList?: AccessList | undefined;
  r: Hex;
  s: Hex;
  v: bigint;
  yParity?: number | undefined;
}

/** The fees that a transaction offered; a legacy one has one price for both. */
export function feesOf({ maxFeePerGas, maxPriorityFeePerGas, gasPrice = 0n }: ShownTransaction) {
  return { maxFeePerGas: maxFeePerGas ?? gasPrice, maxPriorityFeePerGas: maxPriorityFeePerGas ?? gasPrice };
}

/**
 * The signed bytes of a transaction that a node returned. The caller has to compare them with the hash.
 *
 * @returns null for a type that we never sign: neither EIP-1559 nor legacy with a chain id (EIP-155).
 */
export function rawOf(chainId: number, sent: ShownTransaction): TransactionSerialized | null {
  const { nonce, to, input: data, value, gas, r, s, v } = sent;
  const fields = { chainId, nonce, to, data, value, gas };
  if (sent.type === "eip1559") {
    const { yParity = Number(v), accessList = [] } = sent;
    return serializeTransaction({ type: "eip1559", ...fields, ...feesOf(sent), accessList }, { r, s, yParity });
  }
  if (sent.type !== "legacy" || v < 35n) return null;
  return serializeTransaction({ type: "legacy", ...fields, gasPrice: sent.gasPrice ?? 0n }, { r, s, v });
}

/** A transaction of a wallet, with what its reservation and attempt need. */
export interface SentTransaction {
  nonce: bigint;
  hash: Hash;
  from: Address;
  to: Address | null;
  data: Hex;
  value: bigint;
  /** The signed bytes; null for types that we never sign. */
  raw: Hex | null;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  gas: bigint;
  receipt: Receipt;
}

/**
 * Finds the transactions in which a wallet used some nonces. Nodes answer by hash, not by nonce, so the block is found
 * by binary search over the wallet's transaction count: the endpoint has to have the state of all blocks from `from`
 * on.
 *
 * @param nonces ascending; all used in blocks up to the newest.
 * @param from a block before which none of them was used: the fewer blocks, the less history the endpoint needs.
 * @throws ServiceError `service_unavailable` when no endpoint answers for blocks that old.
 */
export async function findNonces(
  services: RelayContext,
  chain: Chain,
  wallet: Address,
  nonces: readonly bigint[],
  from = chain.factory?.block ?? 0n,
): Promise<SentTransaction[]> {
  const client = services.rpc(chain);
  const found: SentTransaction[] = [];
  const head = await askNode(chain, () => client.getBlockNumber());
  let low = from;
  for (const nonce of nonces) {
    if (found.some((sent) => sent.nonce === nonce)) continue;
    low = await askNode(chain, () => blockOfNonce(nonce, low, head));
    const block = await askNode(chain, () => client.getBlock({ blockNumber: low, includeTransactions: true }));
    for (const sent of block.transactions) {
      if (sent.from.toLowerCase() !== wallet || !nonces.includes(BigInt(sent.nonce))) continue;
      const receipt = await askNode(chain, () => readReceipt(services.relay.nodes(chain), sent.hash));
      if (receipt.blockHash !== block.hash)
        throw new ServiceError("service_unavailable", `the ${chain.name} node gave another transaction's receipt`);
      if (sent.chainId !== undefined && sent.chainId !== chain.id)
        throw new ServiceError("service_unavailable", `the ${chain.name} node gave a transaction of another chain`);
      const raw = rawOf(chain.id, sent);
      // The wallet's transactions always serialize to their hash again: it never signed one that does not.
      if (raw && keccak256(raw) !== sent.hash)
        throw new ServiceError(
          "service_unavailable",
          `the ${chain.name} node gave a transaction that is not its hash's`,
        );
      found.push({
        nonce: BigInt(sent.nonce),
        hash: sent.hash,
        from: wallet,
        to: sent.to && (sent.to.toLowerCase() as Address),
        data: sent.input,
        value: sent.value,
        raw,
        ...feesOf(sent),
        gas: sent.gas,
        receipt,
      });
    }
  }
  return found.sort((a, b) => Number(a.nonce - b.nonce));

  /** The first block after which the wallet's transaction count is above the nonce. */
  async function blockOfNonce(nonce: bigint, from: bigint, to: bigint): Promise<bigint> {
    let [below, above] = [from, to];
    while (below < above) {
      const middle = (below + above) / 2n;
      const count = await client.getTransactionCount({ address: wallet, blockNumber: middle });
      if (BigInt(count) > nonce) above = middle;
      else below = middle + 1n;
    }
    return above;
  }
}
