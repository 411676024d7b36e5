import { type Abi, BaseError, ContractFunctionRevertedError, decodeErrorResult, type Hex } from "viem";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { encodeCall, type IntentCall } from "./encode-call.ts";
import { type Fees, readFees } from "./fees.ts";
import type { Intent } from "./intents.ts";
import { askNode, isNodeSilent } from "./node-failure.ts";

/** What a transaction needs before it is worth a nonce. */
export interface Preflight {
  fees: Fees;
  /** What was simulated, and is to be signed. */
  call: IntentCall;
  gas: bigint;
  /** The newest block when it was read. */
  headBlock: bigint;
  /** Of the paying wallet, at the newest block. */
  balanceWei: bigint;
  /** Transactions of the paying wallet in the newest block. */
  chainNonce: bigint;
}

/** The chain would refuse the transaction as things are. */
export interface Refusal {
  refused: string;
}

/** Osaka's limit for one transaction (EIP-7825); chains without it have it as a sane bound. */
const maxTransactionGas = 16_777_216n;

/**
 * Simulates an intent's transaction and reads what signing it needs, in one round of requests.
 *
 * @throws ServiceError `service_unavailable` while the node does not answer.
 */
export async function preflight(services: Services, chain: Chain, intent: Intent): Promise<Preflight | Refusal> {
  const client = services.rpc(chain);
  const { address } = services.relay.account(chain);
  return await askNode(chain, async () => {
    const [chainId, block] = await Promise.all([client.getChainId(), client.getBlock({ blockTag: "latest" })]);
    if (chainId !== chain.id) throw new Error(`the node of ${chain.name} serves chain ${chainId}, not ${chain.id}`);
    const call = await encodeCall(client, intent, block.number);
    const [fees, balanceWei, chainNonce, estimate] = await Promise.all([
      readFees(client, chain),
      client.getBalance({ address }),
      client.getTransactionCount({ address, blockTag: "latest" }),
      client.estimateGas({ account: address, to: call.to, data: call.data }).catch((error: unknown) => {
        if (isNodeSilent(error)) throw error;
        return { refused: explainRevert(error) };
      }),
    ]);
    if (typeof estimate !== "bigint") return estimate;
    const ceiling = least((block.gasLimit * 8n) / 10n, maxTransactionGas);
    if (estimate > ceiling) return { refused: `needs ${estimate} gas, over the limit of ${ceiling}` };
    const gas = least((estimate * 12n) / 10n, ceiling);
    return { fees, call, gas, headBlock: block.number, balanceWei, chainNonce: BigInt(chainNonce) };
  });
}

/** For people: the contract's own reason where it gives one. */
function explainRevert(error: unknown): string {
  if (!(error instanceof BaseError)) return "the simulation failed";
  const reverted = error.walk((cause) => cause instanceof ContractFunctionRevertedError);
  if (reverted instanceof ContractFunctionRevertedError && reverted.reason) return reverted.reason.slice(0, 200);
  const data = revertData(error);
  if (data) {
    try {
      const { errorName, args } = decodeErrorResult({ abi: collectionFactoryAbi as Abi, data });
      return (errorName === "Error" ? String(args?.[0]) : errorName).slice(0, 200);
    } catch {
      return `reverted with ${data.slice(0, 74)}`;
    }
  }
  return "the simulation reverted";
}

function revertData(error: BaseError): Hex | null {
  let found: Hex | null = null;
  error.walk((cause) => {
    const data = (cause as { data?: unknown }).data;
    const text = typeof data === "object" && data !== null ? (data as { data?: unknown }).data : data;
    if (typeof text === "string" && /^0x[0-9a-f]{8,}$/i.test(text)) found = text as Hex;
    return false;
  });
  return found;
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
