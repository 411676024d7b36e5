import {
  decodeFunctionResult,
  encodeFunctionData,
  type Hash,
  type Hex,
  type Log,
  numberToHex,
  parseAbi,
  parseEventLogs,
  toEventSelector,
  zeroAddress,
} from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toHex } from "../../db/bytes.ts";
import { NodeFault } from "../../rpc/endpoint.ts";
import { agreeOnBytes } from "../../rpc/nodes.ts";
import { calls, parseHex, type Receipt } from "../../rpc/reads.ts";
import type { Intent } from "../store/intents.ts";
import { changesOf, type OperationToken, tokensOf } from "../store/payloads.ts";
import { changesWithout, supersededMembers } from "../store/turns.ts";
import type { RelayContext } from "./context.ts";
import { findOtherSetting, placeOfProduct, readAgreedRecord } from "./product-record.ts";
import { announcesOperation } from "./request-call.ts";
import { isLastOfBlock } from "./verify-deployment.ts";
import { readReceipts } from "./view.ts";

const movements = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
  "event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
  "event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)",
]);
const movementTopics = new Set<Hex | undefined>(movements.map(toEventSelector));
const transferTopic = toEventSelector(movements[0]);
const uris = parseAbi([
  "function tokenURI(uint256 tokenId) view returns (string)",
  "function uri(uint256 id) view returns (string)",
]);

/**
 * Compares the effect of an operator's transaction with the request: whose tokens moved to whom, and which URI is set.
 *
 * @param hash of the transaction, which is on the chain.
 * @returns what is wrong; null when everything requested happened.
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function verifyOperation(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  hash: Hash,
): Promise<string | null> {
  const receipt = (await readReceipts(services.relay.nodes(chain), [hash])).get(hash);
  if (!receipt) throw new NodeFault("no endpoint has the receipt of a mined transaction any more");
  return await findFault(services, chain, intent, receipt);
}

/** The same, from a receipt that was already read. */
export async function findFault(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  receipt: Receipt,
): Promise<string | null> {
  if (!announcesOperation(receipt, intent)) return "the operator does not say that it was carried out";
  switch (intent.kind) {
    case "contract":
      return await findOtherContract(services, chain, intent);
    case "mint":
      return findMissing(receipt, intent, (token) => [zeroAddress, token.to ?? ""]);
    case "burn":
      return findMissing(receipt, intent, () => [null, zeroAddress]);
    case "transfer":
      return findMissing(receipt, intent, (token) => [null, token.to ?? ""]);
    case "token_update":
      return await findOtherUri(services, chain, intent, receipt);
    case "contract_update":
      return await findOtherRecord(services, chain, intent, receipt);
    // Not calls of the operator.
    case "deploy":
    case "update":
      return null;
    default:
      return intent.kind satisfies never;
  }
}

/**
 * Compares address and code with those that follow from the request. The address also commits to the owner and the
 * roles, which the code does not contain.
 *
 * @throws NodeFault while too few endpoints answer.
 */
async function findOtherContract(services: RelayContext, chain: Chain, intent: Intent): Promise<string | null> {
  const expected = placeOfProduct(toAddress(intent.factory), toHex(intent.init_data));
  if (expected.address !== toAddress(intent.predicted_addr)) return "its address does not follow from the request";
  const nodes = services.relay.nodes(chain);
  const call = calls.code(expected.address, "latest");
  const codes = await nodes.answers(async (node) => parseHex((await node.ask([call]))[0], "code"));
  const same = codes.filter((code) => code === expected.code).length;
  const needed = nodes.needed(chain.relay.quorum);
  if (same >= needed) return null;
  if (codes.length - same < needed) throw new NodeFault("too few endpoints tell a contract's code");
  return "its code is not the one of the request";
}

/**
 * The first token that did not move as requested.
 *
 * @param way `from` null: from the contract's owner at that time, as its code does it; the owner may have changed since
 *   the request was accepted.
 */
function findMissing(
  receipt: Receipt,
  intent: Intent,
  way: (token: OperationToken) => [from: string | null, to: string],
): string | null {
  const left = listMovements(receipt, intent);
  for (const token of tokensOf(intent).tokens) {
    const [from, recipient] = way(token);
    const to = recipient.toLowerCase();
    const at = left.findIndex(
      (moved) =>
        (from === null || moved.from === from) &&
        moved.to === to &&
        moved.id === BigInt(token.tokenId) &&
        moved.amount === BigInt(token.quantity ?? "1"),
    );
    if (at < 0) return `token ${token.tokenId} did not move from ${from ?? "the owner"} to ${to}`;
    left.splice(at, 1);
  }
  return null;
}

function listMovements(receipt: Receipt, intent: Intent) {
  const contract = toAddress(intent.predicted_addr);
  const ids = new Set(tokensOf(intent).tokens.map(({ tokenId }) => numberToHex(BigInt(tokenId), { size: 32 })));
  // Decoding is expensive, and each mint of a batch scans the logs of all.
  const own = receipt.logs.filter(
    ({ address, topics: [event, , , id] }) =>
      address === contract && movementTopics.has(event) && (event !== transferTopic || (id && ids.has(id))),
  );
  const logs = parseEventLogs({ abi: movements, logs: own as unknown as Log[] });
  return logs.flatMap((log) => {
    const from = log.args.from.toLowerCase();
    const to = log.args.to.toLowerCase();
    switch (log.eventName) {
      case "Transfer":
        return [{ from, to, id: log.args.tokenId, amount: 1n }];
      case "TransferSingle":
        return [{ from, to, id: log.args.id, amount: log.args.value }];
      default: {
        const { ids, values } = log.args;
        return ids.map((id, index) => ({ from, to, id, amount: values[index] ?? 0n }));
      }
    }
  });
}

/**
 * How a contract's settings differ from an update's request, as enough endpoints report for its block. An update that
 * was accepted later but carried out earlier has changed some of them for good.
 */
async function findOtherRecord(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  { blockNumber, blockHash, transactionHash }: Receipt,
): Promise<string | null> {
  const asked = changesWithout(changesOf(intent), await supersededMembers(services.db, intent));
  const contract = toAddress(intent.predicted_addr);
  const now = await readAgreedRecord(services.relay.nodes(chain), chain.relay.quorum, contract, blockHash).catch(
    // The block's state is gone, or the endpoints disagree: then the operator's event has to do.
    (error: unknown) => {
      if (error instanceof NodeFault) return null;
      throw error;
    },
  );
  const other = now && findOtherSetting(now, asked);
  return other && (await isLastOfBlock(services.relay.nodes(chain), blockNumber, transactionHash)) ? other : null;
}

/**
 * Another transaction of the same block may have changed the URI again, or burned the token, so that the contract
 * refuses the call; and nodes forget the state of a block. Then the operator's event has to do.
 */
async function findOtherUri(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  { blockNumber, blockHash, transactionHash }: Receipt,
): Promise<string | null> {
  const { type, tokens } = tokensOf(intent);
  const functionName = type === "erc721" ? "tokenURI" : "uri";
  const nodes = services.relay.nodes(chain);
  for (const { tokenId, uri } of tokens) {
    if (uri === undefined) continue;
    const question = encodeFunctionData({ abi: uris, functionName, args: [BigInt(tokenId)] });
    const call = calls.call(toAddress(intent.predicted_addr), question, { blockHash });
    const [answer] = await nodes.first((node) => node.ask([call]));
    if (!answer || "error" in answer) continue;
    const data = parseHex(answer, "a URI");
    const now = decodeFunctionResult({ abi: uris, functionName, data });
    if (now.endsWith(uri) || !(await agreeOnBytes(nodes, chain.relay.quorum, call, data))) continue;
    if (await isLastOfBlock(services.relay.nodes(chain), blockNumber, transactionHash))
      return `the URI of token ${tokenId} is ${now.slice(0, 200)}`;
  }
  return null;
}
