import { type Hash, type Log, parseAbi, parseEventLogs, zeroAddress } from "viem";
import type { Chain } from "../../chains.ts";
import { NodeFault } from "../../rpc/batch.ts";
import { toAddress } from "../store/bytes.ts";
import type { Intent } from "../store/intents.ts";
import { type OperationToken, tokensOf } from "../store/operation-payload.ts";
import type { RelayContext } from "./context.ts";
import { announcesOperation } from "./operation.ts";
import type { Receipt } from "./reads.ts";
import { isLastOfBlock } from "./verify-deployment.ts";
import { readReceipts } from "./view.ts";

const movements = parseAbi([
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
  "event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
  "event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)",
]);
const uris = parseAbi([
  "function tokenURI(uint256 tokenId) view returns (string)",
  "function uri(uint256 id) view returns (string)",
]);

/**
 * Compares what an operator's transaction did with what was asked for: whose tokens moved to whom, and which URI stands.
 *
 * @param hash of the transaction, which is on the chain.
 * @returns what is wrong; null when everything that was asked for happened.
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
  if (!announcesOperation(receipt, intent)) return "the operator does not say that it was carried out";
  switch (intent.kind) {
    case "contract": {
      const code = await services.rpc(chain).getCode({ address: toAddress(intent.predicted_addr) });
      return code ? null : "no code at the contract's address";
    }
    case "mint":
      return findMissing(receipt, intent, (token) => [zeroAddress, token.to ?? ""]);
    case "burn":
      return findMissing(receipt, intent, () => [toAddress(intent.owner), zeroAddress]);
    case "transfer":
      return findMissing(receipt, intent, (token) => [toAddress(intent.owner), token.to ?? ""]);
    case "token_update":
      return await findOtherUri(services, chain, intent, receipt);
    // A contract's settings: the call succeeded as it was signed, and others may change them in the same block.
    case "contract_update":
      return null;
    // No calls of the operator.
    case "deploy":
    case "update":
      return null;
    default:
      return intent.kind satisfies never;
  }
}

/** The first token that did not move as it was to. */
function findMissing(
  receipt: Receipt,
  intent: Intent,
  way: (token: OperationToken) => [from: string, to: string],
): string | null {
  const left = listMovements(receipt, intent);
  for (const token of tokensOf(intent).tokens) {
    const [from, to] = way(token).map((address) => address.toLowerCase());
    const at = left.findIndex(
      (moved) =>
        moved.from === from &&
        moved.to === to &&
        moved.id === BigInt(token.tokenId) &&
        moved.amount === BigInt(token.quantity ?? "1"),
    );
    if (at < 0) return `token ${token.tokenId} did not move from ${from} to ${to}`;
    left.splice(at, 1);
  }
  return null;
}

function listMovements(receipt: Receipt, intent: Intent) {
  const logs = parseEventLogs({
    abi: movements,
    logs: receipt.logs.filter(({ address }) => address === toAddress(intent.predicted_addr)) as unknown as Log[],
  });
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

/** Another transaction of the same block may have changed it again; then the operator's event has to do. */
async function findOtherUri(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  { blockNumber, transactionHash }: Receipt,
): Promise<string | null> {
  const { type, tokens } = tokensOf(intent);
  const client = services.rpc(chain);
  const call = { address: toAddress(intent.predicted_addr), abi: uris, blockNumber } as const;
  for (const { tokenId, uri } of tokens) {
    if (uri === undefined) continue;
    const args = [BigInt(tokenId)] as const;
    const now =
      type === "erc721"
        ? await client.readContract({ ...call, functionName: "tokenURI", args })
        : await client.readContract({ ...call, functionName: "uri", args });
    if (!now.endsWith(uri) && (await isLastOfBlock(client, blockNumber, transactionHash)))
      return `the URI of token ${tokenId} is ${now.slice(0, 200)}`;
  }
  return null;
}
