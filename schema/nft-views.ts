/** A chain's schema that readers shall see. */
export interface LiveSchema {
  chainId: number;
  schema: string;
  /** The tables that it has; all of them unless given. One of an older version of the index may lack some. */
  tables?: ReadonlySet<string>;
  /** Whether its table `fungible` has rows; it may have unless this is false. */
  hasFungible?: boolean;
}

interface View {
  name: string;
  /**
   * Rows of contracts that are of ERC-20 are left out (fungible.ts): the condition on a row `x` and a row `f` of
   * `nft.fungible_contracts` of the same contract. All rows are then in another view, `rows`. The condition is above the union
   * of the chains: in its arms it would keep PostgreSQL from walking an index in order. Where no chain has such a contract there
   * is no condition: planning it takes as long as reading a page.
   */
  leavesOut?: { rows: string; where: string };
  /** Column names with their SQL types: the contract with every reader. */
  columns: Record<string, string>;
  /** SELECT lists and FROM parts of one chain, without `chain_id`; several are added up. */
  parts: readonly { select?: Record<string, string>; from: string; where?: string }[];
}

const position = { block_number: "bigint", log_index: "integer" };

const holdingColumns = {
  contract: "bytea",
  token_id: "numeric(78,0)",
  owner: "bytea",
  amount: "numeric",
  standard: "text",
};
const holding721 = { amount: "1::numeric", standard: "'ERC721'::text" };
const holding1155 = { standard: "'ERC1155'::text" };

const views: readonly View[] = [
  {
    name: "fungible_contracts",
    columns: { contract: "bytea", below: "numeric", transfers: "bigint" },
    parts: [{ from: "fungible", select: { contract: "address" } }],
  },
  {
    name: "transfers",
    leavesOut: { rows: "transfer_rows", where: "x.token_id < f.below AND x.standard = 'ERC721'" },
    columns: {
      ...position,
      batch_index: "integer",
      block_hash: "bytea",
      block_timestamp: "bigint",
      tx_hash: "bytea",
      tx_from: "bytea",
      contract: "bytea",
      token_id: "numeric(78,0)",
      from_address: "bytea",
      to_address: "bytea",
      operator: "bytea",
      amount: "numeric(78,0)",
      standard: "text",
    },
    parts: [{ from: "transfer" }],
  },
  {
    name: "tokens",
    columns: {
      contract: "bytea",
      token_id: "numeric(78,0)",
      standard: "text",
      supply: "numeric",
      owner: "bytea",
      mint_block: "bigint",
      mint_log_index: "integer",
      mint_batch_index: "integer",
      mint_timestamp: "bigint",
      mint_tx: "bytea",
      creator: "bytea",
      transfer_count: "bigint",
      last_block: "bigint",
      last_log_index: "integer",
      last_batch_index: "integer",
    },
    parts: [{ from: "token", select: { transfer_count: "transfers_721 + transfers_1155" } }],
  },
  {
    name: "holdings",
    columns: holdingColumns,
    parts: [
      { from: "token", select: holding721, where: "owner IS NOT NULL" },
      { from: "holding", select: holding1155, where: "amount > 0" },
    ],
  },
  {
    // The same with the rows of nobody and of nothing, for the account page, which filters by itself:
    // a WHERE in the arms keeps PostgreSQL from merging them in index order.
    name: "holding_rows",
    // What a page shows of the token comes with the rows of ERC-721, out of the same index (read-indexes.ts).
    columns: { ...holdingColumns, creator: "bytea", mint_timestamp: "bigint" },
    parts: [
      { from: "token", select: holding721 },
      {
        from: "holding",
        select: { ...holding1155, creator: "NULL::bytea", mint_timestamp: "NULL::bigint" },
      },
    ],
  },
  {
    name: "contracts",
    columns: {
      address: "bytea",
      standard: "text",
      first_block: "bigint",
      token_count: "bigint",
      token_count_ever: "bigint",
      transfer_count: "bigint",
    },
    parts: [{ from: "contract", select: { transfer_count: "transfers_721 + transfers_1155" } }],
  },
  {
    name: "contract_flags",
    leavesOut: { rows: "contract_flag_rows", where: "f.below > 0 AND x.flag = 'withheld'" },
    columns: { contract: "bytea", flag: "text", count: "bigint" },
    parts: [
      { from: "contract_flag", where: "count > 0" },
      {
        from: "fungible",
        select: { contract: "address", flag: "'fungible'::text", count: "transfers" },
        where: "transfers > 0",
      },
    ],
  },
  {
    // Logs of known events that became no ledger rows, with the reason.
    name: "rejected_logs",
    columns: {
      ...position,
      block_timestamp: "bigint",
      tx_hash: "bytea",
      contract: "bytea",
      event: "text",
      reason: "text",
    },
    parts: [{ from: "rejected_log" }],
  },
  {
    // Logs that reported a range of tokens (ERC-2309), and whether each of its tokens got a row.
    name: "token_ranges",
    leavesOut: { rows: "token_range_rows", where: "x.from_token_id < f.below" },
    columns: {
      ...position,
      block_timestamp: "bigint",
      tx_hash: "bytea",
      tx_from: "bytea",
      contract: "bytea",
      from_token_id: "numeric(78,0)",
      to_token_id: "numeric(78,0)",
      from_address: "bytea",
      to_address: "bytea",
      tokens: "bigint",
      listed: "boolean",
    },
    parts: [{ from: "range_listing" }],
  },
  {
    name: "collections",
    columns: {
      address: "bytea",
      owner: "bytea",
      intent_id: "bytea",
      factory: "bytea",
      block_number: "bigint",
      block_hash: "bytea",
      block_timestamp: "bigint",
      tx_hash: "bytea",
    },
    parts: [{ from: "collection" }],
  },
  {
    // Contracts that the service mints in for a client, with the owner at their deployment.
    name: "products",
    columns: {
      address: "bytea",
      owner: "bytea",
      intent_id: "bytea",
      operator: "bytea",
      block_number: "bigint",
      block_hash: "bytea",
      block_timestamp: "bigint",
      tx_hash: "bytea",
    },
    parts: [{ from: "product" }],
  },
  {
    name: "account_totals",
    columns: { owner: "bytea", standard: "text", holding_count: "bigint" },
    parts: [{ from: "account_total", where: "holding_count > 0" }],
  },
  {
    name: "metadata_updates",
    columns: {
      ...position,
      block_timestamp: "bigint",
      contract: "bytea",
      from_token_id: "numeric(78,0)",
      to_token_id: "numeric(78,0)",
    },
    parts: [{ from: "metadata_update" }],
  },
  {
    name: "contract_updates",
    columns: { ...position, block_timestamp: "bigint", contract: "bytea" },
    parts: [{ from: "contract_update" }],
  },
  {
    // Ponder writes its checkpoint in the transaction of each block, with NFT events or without:
    // timestamp (10 digits), chain id (16), block number (16), and more.
    name: "heads",
    columns: { block_number: "bigint", block_timestamp: "bigint" },
    parts: [
      {
        from: "_ponder_checkpoint",
        select: {
          block_number: "substr(latest_checkpoint, 27, 16)::bigint",
          block_timestamp: "substr(latest_checkpoint, 1, 10)::bigint",
        },
      },
    ],
  },
];

/**
 * One CREATE OR REPLACE VIEW per view of schema `nft` over the given chains, those that others read first; without chains
 * the views are empty but typed, so that readers can start first.
 */
export function nftViewStatements(live: readonly LiveSchema[]): { name: string; sql: string }[] {
  const create = (name: string, body: string) => ({ name, sql: `CREATE OR REPLACE VIEW nft.${name} AS\n${body}` });
  const hasFungible = live.some((chain) => chain.hasFungible !== false && chain.tables?.has("fungible") !== false);
  return views.flatMap((view) => {
    const arms = live.flatMap((chain) =>
      view.parts.filter(({ from }) => chain.tables?.has(from) ?? true).map((part) => arm(view, part, chain)),
    );
    const body = arms.length > 0 ? arms.join("\nUNION ALL\n") : emptyArm(view);
    if (!view.leavesOut) return [create(view.name, body)];
    const { rows, where } = view.leavesOut;
    const columns = ["chain_id", ...Object.keys(view.columns)].map((column) => `x.${column}`).join(", ");
    const condition = ` WHERE NOT EXISTS (SELECT FROM nft.fungible_contracts f
  WHERE f.chain_id = x.chain_id AND f.contract = x.contract AND ${where})`;
    const shown = `SELECT ${columns} FROM nft.${rows} x${hasFungible ? condition : ""}`;
    return [create(rows, body), create(view.name, shown)];
  });
}

function arm(view: View, part: View["parts"][number], { chainId, schema }: LiveSchema): string {
  const columns = Object.keys(view.columns).map((column) => {
    const expression = part.select?.[column];
    return expression === undefined ? column : `${expression} AS ${column}`;
  });
  const where = part.where === undefined ? "" : ` WHERE ${part.where}`;
  return `SELECT ${chainId}::integer AS chain_id, ${columns.join(", ")} FROM "${schema}".${part.from}${where}`;
}

function emptyArm(view: View): string {
  const columns = Object.entries(view.columns).map(([column, type]) => `NULL::${type} AS ${column}`);
  return `SELECT NULL::integer AS chain_id, ${columns.join(", ")} WHERE false`;
}
