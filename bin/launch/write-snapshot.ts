import { open } from "node:fs/promises";
import { CommandError } from "../command-error.ts";
import type { ServiceAddress } from "../service-address.ts";
import { ServiceClient } from "../service-client.ts";
import { Journal, lastStep } from "./journal.ts";
import type { Reporter } from "./reporter.ts";

const query = `query ($chain: ChainName!, $contract: Address!, $block: Uint256, $after: String) {
  contract(chain: $chain, address: $contract) { holders(atBlock: $block, first: 100, after: $after) {
    nodes { tokenId address amount } pageInfo { hasNextPage endCursor }
  } }
}`;

interface Page {
  contract: {
    holders: {
      nodes: { tokenId: string; address: string; amount: string }[];
      pageInfo: { hasNextPage: boolean; endCursor: string | null };
    };
  } | null;
}

/** Writes the owners of the launched collection's tokens as CSV, now or as of a block. */
export async function writeSnapshot(
  folder: string,
  address: ServiceAddress,
  reporter: Reporter,
  { out, block }: { out: string; block?: string | undefined },
): Promise<void> {
  const { steps } = Journal.read(folder);
  const deployed = lastStep(steps, "deployed");
  const chain = lastStep(steps, "deploy_intent")?.input.chain;
  if (!deployed || !chain) throw new CommandError(`${folder} is not deployed yet`);
  const client = new ServiceClient(address);
  // An existing file may be the user's only snapshot of an earlier block.
  const file = await open(out, "wx").catch((error: NodeJS.ErrnoException) => {
    throw error.code === "EEXIST" ? new CommandError(`${out} exists already; choose another name`) : error;
  });
  let rows = 0;
  try {
    await file.write("token_id,address,amount\n");
    for (let after: string | null = null; ; ) {
      const variables: Record<string, string | null> = {
        chain,
        contract: deployed.address,
        block: block ?? null,
        after,
      };
      const { contract }: Page = await client.graphql<Page>(query, variables);
      if (!contract) break;
      const { holders } = contract;
      await file.write(
        holders.nodes.map(({ tokenId, address, amount }) => `${tokenId},${address},${amount}\n`).join(""),
      );
      rows += holders.nodes.length;
      if (!holders.pageInfo.hasNextPage) break;
      after = holders.pageInfo.endCursor;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  reporter.step("snapshot", `${rows} rows in ${out}`, { rows, out });
}
