import { CommandError } from "../command-error.ts";
import type { ServiceClient } from "../service-client.ts";
import type { DeployInput } from "./journal.ts";

const compared = [
  "name",
  "symbol",
  "maxSupply",
  "reservedSupply",
  "tokensPerMint",
  "mintPriceWei",
  "owner",
  "treasury",
  "baseUri",
  "prerevealTokenUri",
  "royaltiesBps",
] as const;

const query = `query ($chain: ChainName!, $address: Address!, $hash: Hex!) {
  viewer { deployedContract(chain: $chain, transactionHash: $hash) }
  collection(chain: $chain, address: $address) { ${compared.join(" ")} }
}`;

/** Compares the deployed collection with the request. @throws CommandError with each difference. */
export async function verifyCollection(
  client: ServiceClient,
  input: DeployInput,
  { address, transactionHash }: { address: string; transactionHash: string },
): Promise<void> {
  const { viewer, collection } = await client.graphql<{
    viewer: { deployedContract: string };
    collection: Record<string, unknown> | null;
  }>(query, { chain: input.chain, address, hash: transactionHash });
  if (!collection) throw new CommandError(`there is no collection at ${address}`);
  const differences = compared
    .filter((name) => input[name] !== undefined && !isSame(collection[name], input[name]))
    .map((name) => `${name} is ${JSON.stringify(collection[name])}, not ${JSON.stringify(input[name])}`);
  if (!isSame(viewer.deployedContract, address))
    differences.push(`the transaction made ${viewer.deployedContract}, not ${address}`);
  if (differences.length > 0)
    throw new CommandError(`${address} is not what was asked for:\n  ${differences.join("\n  ")}`);
}

function isSame(found: unknown, wanted: unknown): boolean {
  return String(found).toLowerCase() === String(wanted).toLowerCase();
}
