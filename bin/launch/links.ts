import type { ServiceClient } from "../service-client.ts";
import type { Reporter } from "./reporter.ts";

/** Prints links to the collection on the pages that this service has. */
export async function printLinks(
  { client, reporter }: { client: ServiceClient; reporter: Reporter },
  { chain, baseUri }: { chain: string; baseUri?: unknown },
  { address, transactionUrl }: { address: string; transactionUrl: string | null },
): Promise<void> {
  const pages = [`/mint/${chain}/${address}`, "/console"];
  const present = await Promise.all(pages.map(async (page) => await client.exists(page)));
  const links = [
    ...pages.filter((_, index) => present[index]).map((page) => `${client.url}${page}`),
    ...(typeof baseUri === "string" ? [`${client.url}/ipfs/${baseUri.slice("ipfs://".length)}0`] : []),
    ...(transactionUrl ? [transactionUrl] : []),
  ];
  reporter.step("links", [`collection ${address} on ${chain}`, ...links].join("\n  "), { chain, address, links });
}
