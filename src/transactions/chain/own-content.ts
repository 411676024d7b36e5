import { type Address, decodeFunctionData, encodeEventTopics, type Hex } from "viem";
import { collectionAbi } from "../../../contracts/abi/collection.ts";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import { type Chain, operatorsOf } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import type { CallKind } from "../../db/tables/relay.ts";
import { NodeFault } from "../../rpc/endpoint.ts";
import { calls, countLogs } from "../../rpc/reads.ts";
import { operatorSelectors } from "../../signing/operator-calls.ts";
import { deploySelector, maxTransactionGas, updateSelector } from "../../signing/rules.ts";
import type { Intent } from "../store/intents.ts";
import { changesOf, readChanges } from "../store/payloads.ts";
import type { RelayContext } from "./context.ts";
import { findOtherSetting, productAbi, rolesOf } from "./product-record.ts";
import { encodeFrozen, intentName, nameInOperation } from "./request-call.ts";

/** The parts of a transaction that show whether this service could have signed it. */
interface Content {
  to: Address | null;
  data: Hex;
  value: bigint;
  /** Null for types that we never sign. */
  raw: Hex | null;
  gas: bigint;
}

/** `external`: no relayer wallet may sign it, so somebody else has the key, or a person sent it by hand. */
export type ContentKind = CallKind | "cancellation" | "external";

/**
 * Classifies a transaction of a relayer wallet by its form alone (the rules of signing/rules.ts). Whether an update's
 * target is one of our collections is left to `isOwnCollection`.
 */
export function kindOfContent(chain: Chain, wallet: Address, content: Content): ContentKind {
  const { to, data, value, raw, gas } = content;
  if (value !== 0n || !raw || !to || gas > maxTransactionGas) return "external";
  if (data === "0x") return to === wallet.toLowerCase() ? "cancellation" : "external";
  const selector = data.slice(0, 10);
  if (selector === deploySelector)
    return to === chain.factory?.address && rootOf(data) !== null ? "deploy" : "external";
  if ((Object.values(operatorSelectors) as string[]).includes(selector))
    return operatorsOf(chain).some(({ address }) => address === to) && rootOf(data) !== null ? "operate" : "external";
  return selector === updateSelector ? "update" : "external";
}

/** The root of the request that a call of the factory or operator is for; null when its name is not one of ours. */
export function rootOf(data: Hex): string | null {
  const name = nameInDeployment(data) ?? nameInOperation(data);
  const uuid = /^0x0{32}([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/.exec(name ?? "");
  return uuid ? uuid.slice(1).join("-") : null;
}

function nameInDeployment(data: Hex): Hex | null {
  try {
    const call = decodeFunctionData({ abi: collectionFactoryAbi, data });
    return call.functionName === "deploy" ? call.args[0] : null;
  } catch {
    return null;
  }
}

/** Whether a call is a request's own; for an update of a record, whether it sets everything requested. */
export function isCallOf(intent: Intent, to: Address | null | undefined, data: Hex): boolean {
  if (intent.kind === "update") return setsAllOf(intent, to, data);
  if (intent.kind === "contract_update") return setsContract(intent, to, data);
  const call = encodeFrozen(intent);
  return call.to === to && call.data === data;
}

function setsContract(intent: Intent, to: Address | null | undefined, data: Hex): boolean {
  if (to !== toAddress(intent.factory) || nameInOperation(data) !== intentName(intent.root_id)) return false;
  try {
    const outer = decodeFunctionData({ abi: productOperatorAbi, data });
    if (outer.functionName !== "execute" || outer.args[1].toLowerCase() !== toAddress(intent.predicted_addr))
      return false;
    const call = decodeFunctionData({ abi: productAbi, data: outer.args[2] });
    const { roles = [], exit = false, ...settings } = changesOf(intent);
    if (call.functionName !== "update" || call.args[2] !== exit) return false;
    return (
      findOtherSetting(call.args[0], settings) === null &&
      JSON.stringify(call.args[1]).toLowerCase() === JSON.stringify(rolesOf(roles)).toLowerCase()
    );
  } catch {
    return false;
  }
}

function setsAllOf(intent: Intent, to: Address | null | undefined, data: Hex): boolean {
  if (to !== toAddress(intent.predicted_addr)) return false;
  try {
    const call = decodeFunctionData({ abi: collectionAbi, data });
    if (call.functionName !== "updateConfig") return false;
    const [config] = call.args;
    const { baseUri, prerevealTokenUri, ...same } = readChanges(intent.payload);
    const wanted = { ...same, baseURI: baseUri, prerevealTokenURI: prerevealTokenUri };
    return Object.entries(wanted).every(
      ([member, value]) => value === undefined || spelled(config[member as keyof typeof config]) === spelled(value),
    );
  } catch {
    return false;
  }
}

/** Ignores the letter case of addresses and hashes; URIs stay as they are. */
function spelled(value: unknown): string {
  const text = String(value);
  return /^0x[0-9a-fA-F]+$/.test(text) ? text.toLowerCase() : text;
}

/**
 * Whether our factory made a contract: asks the database first, which may have forgotten it, then every endpoint. One
 * endpoint with the event suffices. If there is none, a wallet is closed, so the full quorum has to report that.
 *
 * @throws NodeFault while too few of them answer.
 */
export async function isOwnCollection(services: RelayContext, chain: Chain, address: Address): Promise<boolean> {
  const known = await services.db
    .selectFrom("service.intent")
    .select("id")
    .where("chain_id", "=", chain.id)
    .where("predicted_addr", "=", toBytes(address))
    .limit(1)
    .executeTakeFirst();
  if (known || !chain.factory) return known !== undefined;
  const nodes = services.relay.nodes(chain);
  const topics = topicsOf(address);
  const call = calls.logs(chain.factory, topics);
  const counts = await nodes.answers(async (node) => countLogs((await node.ask([call]))[0], topics));
  if (counts.some((count) => count > 0)) return true;
  if (counts.length < nodes.needed(chain.relay.quorum))
    throw new NodeFault(`too few endpoints of ${chain.name} tell who made a contract`);
  return false;
}

function topicsOf(collection: Address): readonly unknown[] {
  return encodeEventTopics({ abi: collectionFactoryAbi, eventName: "CollectionDeployed", args: { collection } });
}
