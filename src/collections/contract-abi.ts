import { type Address, type Hex, toEventSelector, toFunctionSelector } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { Caller } from "../auth/caller.ts";
import type { Services } from "../services.ts";
import { getCollection } from "./collections.ts";

type Entry = (typeof collectionAbi)[number];
type Parameter = { name: string; type: string; components?: readonly Parameter[] };

/** An entry of the compiler's ABI with the additional members that clients of the original service read. */
export type PublishedEntry = Record<string, unknown> & { type: string; signature?: Hex };

let published: readonly PublishedEntry[] | undefined;

/**
 * The ABI of a collection of the caller's account: functions with their selector, events with their topic.
 *
 * @throws ServiceError `not_found` for a contract that this account did not deploy.
 */
export async function getContractAbi(
  services: Services,
  caller: Caller,
  input: { chain: string; address: Address },
): Promise<readonly PublishedEntry[]> {
  await getCollection(services, caller, input);
  published ??= publishAbi();
  return published;
}

/** Member names and their order follow the compiler, then the library that the original service used. */
export function publishAbi(): PublishedEntry[] {
  return collectionAbi.map((entry: Entry) => {
    const plain = withInternalTypes(entry as { name?: string; type: string });
    if (entry.type === "event") return { ...plain, signature: toEventSelector(entry) };
    if (entry.type !== "function") return plain;
    const { stateMutability } = entry;
    const constant = stateMutability === "view";
    return {
      ...plain,
      ...(constant ? { constant } : {}),
      ...(stateMutability === "payable" ? { payable: true } : {}),
      signature: toFunctionSelector(entry),
    };
  });
}

function withInternalTypes(entry: { name?: string; type: string }): PublishedEntry {
  const members = Object.entries(entry).map(([name, value]: [string, unknown]) => {
    if (!Array.isArray(value)) return [name, value];
    return [name, (value as Parameter[]).map((parameter) => typed({ ...parameter }, entry.name ?? ""))];
  });
  return Object.fromEntries(members);
}

/** The published modules omit internal types; they are derived from the names. */
function typed(parameter: Parameter & Record<string, unknown>, of: string): Record<string, unknown> {
  const { components, ...rest } = parameter;
  const internalType = internalTypeOf(parameter, of);
  if (!components) return sorted({ ...rest, internalType });
  return sorted({ ...rest, internalType, components: components.map((item) => typed({ ...item }, of)) });
}

function internalTypeOf({ name, type }: Parameter, of: string): string {
  if (type === "tuple") {
    if (name === "info") return "struct ContractInfo";
    return name === "deploymentConfig" ? "struct DeploymentConfig" : "struct RuntimeConfig";
  }
  return type === "address" && (name === "treasuryAddress" || of === "treasuryAddress") ? "address payable" : type;
}

/** The compiler sorts the members of a parameter alphabetically. */
function sorted(parameter: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(parameter).sort(([a], [b]) => (a < b ? -1 : 1)));
}
