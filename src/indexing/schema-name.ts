import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type Chain, operatorsOf } from "../chains.ts";
import { ponderFolder } from "./ponder-process.ts";

const root = new URL("../../", import.meta.url);
/** Every file that decides what an indexer's tables hold; a change to one makes a new schema, indexed from the start. */
const decisiveFiles = [
  "ponder.config.ts",
  ...[
    "ledger",
    "bytea-column",
    "derived-state",
    "fungible",
    "range-allowance",
    "tokens-added",
    "product-owners",
    "contract-flags",
    "nft-events",
    "marked-logs",
  ].map((name) => `schema/${name}.ts`),
  ...["hostile-logs", "erc20-noise"].map((name) => `src/indexing/${name}.ts`),
];

export interface IndexIdentity {
  /** Schema of the chain's tables: `c<chainId>_<8 hex digits>`. */
  schema: string;
  /** For Ponder's build id, which does not see files outside its root by itself. */
  salt: string;
}

/**
 * Names the schema for what will be in it: code, chain settings and genesis.
 *
 * @param rebuilds how often the chain was indexed anew for reasons that the code does not show.
 */
export async function indexIdentity(chain: Chain, genesisHash: string, rebuilds: number): Promise<IndexIdentity> {
  const hash = createHash("sha256");
  const folder = fileURLToPath(new URL("indexer/", root));
  const handlers = await readdir(folder, { recursive: true, withFileTypes: true });
  const ofIndexer = handlers
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".d.ts"))
    .map((entry) => `indexer/${relative(folder, `${entry.parentPath}/${entry.name}`)}`);
  for (const name of [...decisiveFiles, ...ofIndexer].sort()) {
    hash
      .update(`${name}\0`)
      .update(await readFile(new URL(name, root)))
      .update("\0");
  }
  const ponder = JSON.parse(await readFile(join(ponderFolder(), "package.json"), "utf8")) as { version: string };
  const { id, startBlock, indexScope: scope } = chain;
  const factory = chain.factory && [chain.factory.address, String(chain.factory.block)];
  // Sorted: which of them is the present one is nothing to the index.
  const operators = operatorsOf(chain)
    .map(({ address, block }) => `${address}:${block}`)
    .sort();
  hash.update(
    JSON.stringify({ ponder: ponder.version, id, startBlock, scope, factory, operators, genesisHash, rebuilds }),
  );
  const salt = hash.digest("hex");
  return { schema: `c${id}_${salt.slice(0, 8)}`, salt };
}
