import { ensureNftViews } from "../indexing/nft-views.ts";
import { migrate } from "./migrate.ts";

/** What every process does before it reads: the service schema is current, and the index's views exist. */
export async function prepareDatabase(databaseUrl: string): Promise<void> {
  await migrate(databaseUrl);
  await ensureNftViews(databaseUrl);
}
