import { type Address, type Hex, pad } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import { LaggingNode, NodeFault, type RpcCall, type RpcResult } from "../../rpc/endpoint.ts";
import { agreeOnBytes, agreeOnOutcome, askNode, type Node } from "../../rpc/nodes.ts";
import { calls, parseQuantity } from "../../rpc/reads.ts";
import { maxTransactionGas } from "../../signing/rules.ts";
import type { RelayContext } from "../chain/context.ts";
import { type Fees, freshFees, intrinsicGas, least, most } from "../chain/fees.ts";
import { askMarket, dataFee, dataRoom, recordFees } from "../chain/market.ts";
import { encodeFrozen, explainRevert, type IntentCall, isRefusal } from "../chain/request-call.ts";
import { batched } from "../store/batch.ts";
import { type Intent, isOperation, replacesRecord } from "../store/intents.ts";
import { tokensOf } from "../store/payloads.ts";
import { newestUpdate, supersededMembers } from "../store/turns.ts";
import { type NotYet, prepareUpdate, type Refusal } from "./prepare-update.ts";

/** What a transaction needs before it gets a nonce. */
export interface Preflight {
  /** The wallet that the simulation ran for. */
  sender: Address;
  /** Within the operator's cap and the intent's reservation; null when they are too low for today's price. */
  fees: Fees | null;
  /** Within the operator's cap alone: what a raised reservation would have to pay for. */
  wanted: Fees | null;
  /** The call that was simulated, and is to be signed. */
  call: IntentCall;
  gas: bigint;
  /** The maximum L1 data fee, in addition to the gas. */
  dataWei: bigint;
  /** Whether a receiver of a mint that may share a transaction has code, which then runs. */
  callsReceiver: boolean;
  /** The highest gas limit that a transaction may have now. */
  gasCeiling: bigint;
  /** The newest block at the time of reading. */
  headBlock: bigint;
  /** The relayer wallet's balance in the newest block. */
  balanceWei: bigint;
  /** Transactions of the paying wallet in the newest block. */
  chainNonce: bigint;
}

interface Question {
  chain: Chain;
  intent: Intent;
  sender: Address;
}

/** Nodes refuse long batches, and the whole batch has to be answered within one request's timeout. */
const simulateTogether = batched(simulateAll, { most: 16, retryIndividually: false });

/**
 * Simulates an intent's transaction and reads what signing it needs, in one request to one endpoint. Calls that arrive
 * while such a request is under way share the next one: market data is the same for all of them.
 *
 * @throws ServiceError `service_unavailable` while no endpoint answers.
 */
export async function preflight(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  sender: Address,
): Promise<Preflight | Refusal | NotYet> {
  if (!replacesRecord(intent.kind))
    return await simulateTogether(services, `${chain.id} ${sender}`, { chain, intent, sender });
  return await askNode(chain, () => preflightUpdate(services, chain, intent, sender));
}

async function preflightUpdate(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  sender: Address,
): Promise<Preflight | Refusal | NotYet> {
  const after = await newestUpdate(services.db, intent);
  const superseded = await supersededMembers(services.db, intent);
  const nodes = services.relay.nodes(chain);
  // A quorum must see the update mined that the next record builds on; on a confirmed one it has agreed already.
  if (after?.unconfirmed && after.transaction) {
    const outcome = { hash: after.transaction, blockHash: after.hash, succeeded: true };
    if ((await agreeOnOutcome(nodes, chain.relay.quorum, outcome)) !== "agreed")
      return { waits: "the endpoints do not say the same of this contract's last update" };
  }
  const isAgreed = (call: RpcCall, answer: Hex) => agreeOnBytes(nodes, chain.relay.quorum, call, answer);
  let waits: NotYet | null = null;
  try {
    return await nodes.first(async (node) => {
      const call = await prepareUpdate(node, intent, after, superseded, isAgreed);
      if ("refused" in call) return call;
      if ("waits" in call) {
        // Another endpoint may be further ahead.
        waits = call;
        throw new LaggingNode(call.waits);
      }
      const [answer] = await readAll(node, chain, sender, [{ intent, call, trial: null }]);
      if (!answer) throw new NodeFault("no answer to a simulation");
      return answer;
    });
  } catch (error) {
    if (waits && error instanceof NodeFault) return waits;
    throw error;
  }
}

/** @param questions of one chain and one relayer wallet. */
async function simulateAll(
  services: RelayContext,
  questions: readonly Question[],
): Promise<(Preflight | Refusal | NotYet)[]> {
  const [first] = questions;
  if (!first) return [];
  const { chain, sender } = first;
  const wanted = questions.map(({ intent }) => {
    const call = encodeFrozen(intent);
    return { intent, call, trial: gasOfTrial(intent, call) };
  });
  return await askNode(chain, () => services.relay.nodes(chain).first((node) => readAll(node, chain, sender, wanted)));
}

interface Wanted {
  intent: Intent;
  call: IntentCall;
  /** The gas that the trial runs with; null: the gas is estimated. */
  trial: bigint | null;
}

/** @returns one answer per call, in their order. */
async function readAll(
  node: Node,
  chain: Chain,
  sender: Address,
  wanted: readonly Wanted[],
): Promise<(Preflight | Refusal | NotYet)[]> {
  const receivers = [...new Set(wanted.flatMap(({ intent }) => receiversOf(intent)))];
  const { market: read, answers } = await askMarket(node, chain, [
    calls.balance(sender),
    calls.count(sender, "latest"),
    ...wanted.map(({ call, trial }) => simulation(sender, call, trial)),
    ...receivers.map((address) => calls.code(address, "latest")),
  ]);
  const [balance, count, ...rest] = answers;
  const { block, ...market } = read;
  const fees = freshFees(chain, market);
  recordFees(chain, fees, market.dataByteWei);
  const ceiling = least((block.gasLimit * 8n) / 10n, maxTransactionGas);
  const seen = {
    sender,
    headBlock: block.number,
    gasCeiling: ceiling,
    balanceWei: parseQuantity(balance, "a balance"),
    chainNonce: parseQuantity(count, "a count"),
  };
  const called = new Set(receivers.filter((_, index) => hasCode(rest[wanted.length + index])));
  const estimates = await readEstimates(node, sender, wanted, rest);
  // If no call could be simulated, another endpoint may be able to; if only a few failed, they are retried later.
  if (estimates.every((estimate) => typeof estimate === "object" && "waits" in estimate))
    throw new NodeFault("the node cannot simulate now, or estimates what cannot be");
  return wanted.map(({ intent, call }, index) => {
    const needed = estimates[index] ?? busy;
    if (typeof needed !== "bigint") return needed;
    if (needed > ceiling) return { refused: `needs ${needed} gas, over the limit of ${ceiling}` };
    const { gas_ceiling: allowed } = intent;
    // A receiver may use more gas than when the request was accepted.
    if (allowed !== null && needed > allowed)
      return { refused: `needs ${needed} gas, and its account's plan allows ${allowed}` };
    const gas = least((needed * 12n) / 10n, ceiling);
    const within = (cap: bigint) => withinCap(fees, market.baseFee, cap);
    const dataWei = dataRoom * dataFee(market, call.data);
    // A contract reported by a node must not set the price: the operator's cap for the gas also caps the data fee.
    const mayPayData = dataWei <= gas * chain.relay.maxFeeWei;
    const callsReceiver = receiversOf(intent).some((address) => called.has(address));
    return {
      ...seen,
      call,
      gas,
      dataWei,
      callsReceiver,
      fees: mayPayData ? within(feeCap(chain, intent, { gas, dataWei })) : null,
      wanted: mayPayData ? within(chain.relay.maxFeeWei) : null,
    };
  });
}

/** The receivers of a mint that may share a transaction. */
function receiversOf(intent: Intent): Address[] {
  if (!mayShare(intent)) return [];
  return tokensOf(intent).tokens.flatMap(({ to }) => (to === undefined ? [] : [to.toLowerCase() as Address]));
}

/** An account that the node does not answer for may have code. */
function hasCode(answer: RpcResult | undefined): boolean {
  return !answer || "error" in answer || answer.result !== "0x";
}

/** The highest fee per gas that an intent's transaction may have, by the operator's cap and its reservation. */
export function feeCap(chain: Chain, intent: Intent, { gas, dataWei }: Pick<Preflight, "gas" | "dataWei">): bigint {
  return least(chain.relay.maxFeeWei, most(0n, BigInt(intent.reserved_wei) - dataWei) / gas);
}

/** Prefers a smaller margin for later blocks to no fees at all. */
function withinCap(fees: Fees, base: bigint, cap: bigint): Fees | null {
  if (fees.maxFeePerGas <= cap) return fees;
  return cap >= base + fees.maxPriorityFeePerGas ? { ...fees, maxFeePerGas: cap } : null;
}

/** Calls that fail with the gas of their acceptance are estimated, and the estimate says why. */
async function readEstimates(
  node: Node,
  sender: Address,
  wanted: readonly Wanted[],
  answers: readonly RpcResult[],
): Promise<(bigint | Refusal | NotYet)[]> {
  const failed = wanted.filter(({ intent, trial }, index) => trial !== null && !hasRun(intent, answers[index]));
  const questions = failed.map(({ call }) => simulation(sender, call, null));
  // If the node fails now, the trials that ran still count. The added count is no simulation, so an endpoint that
  // refuses all simulations is not mistaken for one that refuses everything.
  const [, ...anew] =
    failed.length === 0
      ? []
      : await node.ask([calls.count(sender, "latest"), ...questions]).catch((error: unknown) => {
          if (error instanceof NodeFault) return [];
          throw error;
        });
  return wanted.map((each, index) => {
    const floor = intrinsicGas(each.call.data);
    if (each.trial === null) return readEstimate(answers[index], floor);
    const at = failed.indexOf(each);
    if (at < 0) return each.trial;
    return anew[at] ? readEstimate(anew[at], floor) : busy;
  });
}

const busy: NotYet = { waits: "the node cannot simulate it now" };

/** With so little gas no node would ever take the transaction, and its nonce would be stuck. */
const impossible: NotYet = { waits: "the node estimates less gas than any such transaction takes" };

function readEstimate(answer: RpcResult | undefined, least: bigint): bigint | Refusal | NotYet {
  if (answer && "error" in answer) {
    if (!isRefusal(answer.error)) return busy;
    return { refused: explainRevert(answer.error) };
  }
  const estimate = parseQuantity(answer, "an estimate");
  return estimate < least ? impossible : estimate;
}

/** More tokens need more gas than the operator gives one call of a batch: each writes its URI and a balance. */
const mostTokens = 8;

/** Whether a mint may share a transaction: its client identifies it by id, and it has shared none before. */
export function mayShare(intent: Intent): boolean {
  return (
    intent.kind === "mint" &&
    tokensOf(intent).together === true &&
    tokensOf(intent).tokens.length <= mostTokens &&
    intent.batch_lead === null &&
    intent.batch_call === null &&
    intent.retry_number === 0
  );
}

/** Equal for mints that may share a transaction: those of one account and contract. */
export function shareName({ tenant_id, chain_id, predicted_addr }: Intent): string {
  return `${tenant_id} ${chain_id} ${predicted_addr.toString("hex")}`;
}

/** How long a request's own estimate is tried: on chains with a data fee, the price of data in gas changes. */
const estimateLastsMs = 60_000;

/**
 * The gas with which to run a request that was simulated when it was accepted. A node estimates by running the call
 * about ten times; checking whether a given gas limit still suffices takes one run.
 *
 * @returns null when the gas has to be estimated.
 */
function gasOfTrial({ kind, gas, created_at }: Intent, { data }: IntentCall): bigint | null {
  if (!isOperation(kind) || replacesRecord(kind) || gas === null || gas < intrinsicGas(data)) return null;
  return Date.now() - created_at.getTime() < estimateLastsMs ? gas : null;
}

/** @param gas of a trial; null: it is estimated. */
function simulation(sender: Address, { to, data }: IntentCall, gas: bigint | null): RpcCall {
  return gas === null ? calls.estimate(sender, to, data) : calls.run(sender, to, data, gas);
}

/** The start of any bytes that `execute` returns. */
const anyBytes: Hex = `0x${"20".padStart(64, "0")}`;

/** Whether the operator's call was carried out in a trial. Some nodes return a revert as a result, or no result. */
function hasRun({ kind, predicted_addr }: Intent, answer: RpcResult | undefined): boolean {
  if (!answer || "error" in answer || typeof answer.result !== "string") return false;
  const result = answer.result.toLowerCase();
  return kind === "contract" ? result === pad(toAddress(predicted_addr)) : result.startsWith(anyBytes);
}
