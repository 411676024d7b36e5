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

/** What a transaction needs before it is worth a nonce. */
export interface Preflight {
  /** Who it was simulated for. */
  sender: Address;
  /** Within the operator's cap and what the intent reserved; null when those leave no room at today's price. */
  fees: Fees | null;
  /** Within the operator's cap alone: what a raised reservation would have to pay for. */
  wanted: Fees | null;
  /** What was simulated, and is to be signed. */
  call: IntentCall;
  gas: bigint;
  /** The most that its data may take on the chain below, beside the gas. */
  dataWei: bigint;
  /** Whether a receiver of a mint that may share a transaction has code, which is called. */
  callsReceiver: boolean;
  /** The most that a transaction may have now. */
  gasCeiling: bigint;
  /** The newest block when it was read. */
  headBlock: bigint;
  /** Of the paying wallet, at the newest block. */
  balanceWei: bigint;
  /** Transactions of the paying wallet in the newest block. */
  chainNonce: bigint;
}

interface Question {
  chain: Chain;
  intent: Intent;
  sender: Address;
}

/** Nodes refuse long batches, and all of it has to be there within one request's timeout. */
const simulateTogether = batched(simulateAll, { most: 16, retryIndividually: false });

/**
 * Simulates an intent's transaction and reads what signing it needs, in one request to one endpoint. Requests
 * that come while such a request is under way share the next one: the market is the same for all of them.
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
  // What the next record is made from is mined for enough endpoints; of what is confirmed they have said so.
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
        // Another endpoint may be further.
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

/** @param questions of one chain and one paying wallet. */
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
  /** With what gas it is run; null: it is estimated. */
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
  // Another endpoint may have time for all of them; for a few it is enough to come again.
  if (estimates.every((estimate) => typeof estimate === "object" && "waits" in estimate))
    throw new NodeFault("the node cannot simulate now, or estimates what cannot be");
  return wanted.map(({ intent, call }, index) => {
    const needed = estimates[index] ?? busy;
    if (typeof needed !== "bigint") return needed;
    if (needed > ceiling) return { refused: `needs ${needed} gas, over the limit of ${ceiling}` };
    const { gas_ceiling: allowed } = intent;
    // A receiver may take more than when the request was accepted.
    if (allowed !== null && needed > allowed)
      return { refused: `needs ${needed} gas, and its account's plan allows ${allowed}` };
    const gas = least((needed * 12n) / 10n, ceiling);
    const within = (cap: bigint) => withinCap(fees, market.baseFee, cap);
    const dataWei = dataRoom * dataFee(market, call.data);
    // A contract that a node shows shall not set the price: the operator's cap for the gas is one for the data too.
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

/** Who gets the tokens of a mint that may share a transaction. */
function receiversOf(intent: Intent): Address[] {
  if (!mayShare(intent)) return [];
  return tokensOf(intent).tokens.flatMap(({ to }) => (to === undefined ? [] : [to.toLowerCase() as Address]));
}

/** What a node does not tell may be code. */
function hasCode(answer: RpcResult | undefined): boolean {
  return !answer || "error" in answer || answer.result !== "0x";
}

/** The highest fee per gas that an intent's transaction may have: the operator's cap, and what is reserved for it. */
export function feeCap(chain: Chain, intent: Intent, { gas, dataWei }: Pick<Preflight, "gas" | "dataWei">): bigint {
  return least(chain.relay.maxFeeWei, most(0n, BigInt(intent.reserved_wei) - dataWei) / gas);
}

/** Less room for later blocks, rather than none at all. */
function withinCap(fees: Fees, base: bigint, cap: bigint): Fees | null {
  if (fees.maxFeePerGas <= cap) return fees;
  return cap >= base + fees.maxPriorityFeePerGas ? { ...fees, maxFeePerGas: cap } : null;
}

/** What does not run with the gas of its acceptance is estimated, which says why. */
async function readEstimates(
  node: Node,
  sender: Address,
  wanted: readonly Wanted[],
  answers: readonly RpcResult[],
): Promise<(bigint | Refusal | NotYet)[]> {
  const failed = wanted.filter(({ intent, trial }, index) => trial !== null && !hasRun(intent, answers[index]));
  const questions = failed.map(({ call }) => simulation(sender, call, null));
  // A node may be at its end now: what ran has run. The count is no simulation, so that an endpoint which refuses all of
  // those is not taken for one that refuses everything.
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

/** More take more gas than the operator gives a call of a batch: each writes its URI and a balance. */
const mostTokens = 8;

/** Whether a mint may share a transaction: its client knows it by its id, and it has shared none before. */
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

/** The same for mints that may share a transaction: of one account and contract. */
export function shareName({ tenant_id, chain_id, predicted_addr }: Intent): string {
  return `${tenant_id} ${chain_id} ${predicted_addr.toString("hex")}`;
}

/** For so long a request's own estimate is tried: the price of data in gas changes, where a chain has one. */
const estimateLastsMs = 60_000;

/**
 * With what gas a request is run that was simulated when it was accepted. A node finds an estimate by running the call about
 * ten times; whether that gas still suffices it finds by one.
 *
 * @returns null when it has to be estimated.
 */
function gasOfTrial({ kind, gas, created_at }: Intent, { data }: IntentCall): bigint | null {
  if (!isOperation(kind) || replacesRecord(kind) || gas === null || gas < intrinsicGas(data)) return null;
  return Date.now() - created_at.getTime() < estimateLastsMs ? gas : null;
}

/** @param gas of a trial; null: it is estimated. */
function simulation(sender: Address, { to, data }: IntentCall, gas: bigint | null): RpcCall {
  return gas === null ? calls.estimate(sender, to, data) : calls.run(sender, to, data, gas);
}

/** Where the bytes begin that `execute` returns. */
const anyBytes: Hex = `0x${"20".padStart(64, "0")}`;

/** Whether the operator's call was carried out in a trial. Some nodes give a revert as a result, or none at all. */
function hasRun({ kind, predicted_addr }: Intent, answer: RpcResult | undefined): boolean {
  if (!answer || "error" in answer || typeof answer.result !== "string") return false;
  const result = answer.result.toLowerCase();
  return kind === "contract" ? result === pad(toAddress(predicted_addr)) : result.startsWith(anyBytes);
}
