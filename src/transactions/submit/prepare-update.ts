import { decodeFunctionResult, encodeFunctionData, type Hash, type Hex } from "viem";
import { collectionAbi } from "../../../contracts/abi/collection.ts";
import { toAddress } from "../../db/bytes.ts";
import type { RpcCall } from "../../rpc/endpoint.ts";
import type { Node } from "../../rpc/nodes.ts";
import { type Block, calls, parseBlock, parseBlockOrNull, parseHex } from "../../rpc/reads.ts";
import { decodeRecord, recordCalls } from "../chain/product-record.ts";
import { encodeContractUpdate, encodeUpdate, type IntentCall } from "../chain/request-call.ts";
import type { Intent } from "../store/intents.ts";
import type { BlockRef } from "../store/nonces.ts";
import type { MinedUpdate } from "../store/turns.ts";

/** The node's state is not yet one that the call may be built from: a moment later it may be. */
export interface NotYet {
  waits: string;
}

/** The chain would refuse the transaction in its current state. */
export interface Refusal {
  refused: string;
}

const getInfo = encodeFunctionData({ abi: collectionAbi, functionName: "getInfo" });
/** Headers per request; nodes refuse long batches. */
const headersAtOnce = 100n;
const lacking: NotYet = { waits: "the node does not have this contract's last update" };

/**
 * Builds an update's call from the chain's newest block, if that includes the previous update: a node that is behind,
 * or on a branch without it, is no basis. Several nodes may answer for one endpoint, and a reorganisation may come
 * between two answers, so nothing is read by number alone: the configuration is read by the block's hash (EIP-1898),
 * and that block has to descend from the previous update's, header by header.
 *
 * @param after the previous update; if it is final, every branch has its block.
 * @param superseded members that stay as they are.
 * @param isAgreed whether enough endpoints report what this one reported.
 * @throws NodeFault when the node gives no usable answer.
 */
export async function prepareUpdate(
  node: Node,
  intent: Intent,
  after: MinedUpdate | null,
  superseded: ReadonlySet<string>,
  isAgreed: (call: RpcCall, answer: Hex) => Promise<boolean>,
): Promise<IntentCall | NotYet | Refusal> {
  const contract = toAddress(intent.predicted_addr);
  const [latest] = await node.ask([calls.block("latest")]);
  const head = parseBlock(latest);
  if (after && head.number < after.number) return lacking;
  if (after && !after.final && !(await descends(node, head, after))) return lacking;
  const questions =
    intent.kind === "contract_update"
      ? recordCalls(contract, head.hash)
      : [calls.call(contract, getInfo, { blockHash: head.hash })];
  const answers = (await node.ask(questions)).map((answer) => parseHex(answer, "a configuration"));
  const agreed = await Promise.all(questions.map((call, index) => isAgreed(call, answers[index] ?? "0x")));
  if (agreed.includes(false)) return { waits: "the endpoints do not say the same of this contract's configuration" };
  if (answers.includes("0x"))
    return { refused: `no ${intent.kind === "update" ? "collection" : "contract"} stands at its address` };
  const basis = { block: head.number, after: after?.hash ?? null };
  if (intent.kind === "contract_update") return encodeContractUpdate(intent, decodeRecord(answers), basis, superseded);
  const [data = "0x"] = answers;
  const { runtimeConfig } = decodeFunctionResult({ abi: collectionAbi, functionName: "getInfo", data });
  return encodeUpdate(intent, runtimeConfig, basis, superseded);
}

/** Whether the headers from `head` down lead to `to`. */
async function descends(node: Node, head: Block, to: BlockRef): Promise<boolean> {
  let expected: Hash = head.hash;
  for (let top = head.number; top > to.number; top -= headersAtOnce) {
    const count = top - to.number < headersAtOnce ? top - to.number : headersAtOnce;
    const numbers = Array.from({ length: Number(count) }, (_, index) => top - BigInt(index));
    for (const answer of await node.ask(numbers.map((number) => calls.block(number)))) {
      const header = parseBlockOrNull(answer);
      if (header?.hash !== expected) return false;
      expected = header.parentHash;
    }
  }
  return expected === to.hash;
}
