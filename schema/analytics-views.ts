/*
 * Schema `analytics`: the index and the metadata as analysts read them. A promise with a number
 * (`analyticsVersion`): within one version columns are only added. docs/analysts.md describes the
 * same columns, and a test compares the two.
 *
 * - Every view reads `nft` and `service` alone, never on another view of `analytics`: any of them
 *   can be replaced or fall with a view below it without taking its neighbours along.
 * - Nothing of a tenant is in here: no account, intent, upload, job or queue.
 * - Addresses and hashes come twice: as 0x text to read, and as bytes (`…_bytes`), which is what the
 *   ledger's indexes hold.
 * - Views that leave rows out of a `service` table are security barriers. The others hide no row, and
 *   a barrier would only keep conditions on token ids from reaching an index (numeric comparison is
 *   not leakproof in PostgreSQL).
 */
const analyticsVersion = 1;

/** Column name, expression, comment. */
type AnalyticsColumn = readonly [name: string, sql: string, comment: string];

export interface AnalyticsView {
  name: string;
  comment: string;
  barrier?: true;
  columns: readonly AnalyticsColumn[];
  /** What follows the SELECT list; empty for a view without a source. */
  from: string;
}

const zeroAddress = `'\\x${"00".repeat(20)}'::bytea`;
const hex = (bytes: string) => `'0x' || encode(${bytes}, 'hex')`;
const time = (seconds: string) => `to_timestamp(${seconds})`;

function twice(name: string, bytes: string, comment: string): AnalyticsColumn[] {
  return [
    [name, hex(bytes), `${comment}; lower-case 0x text.`],
    [`${name}_bytes`, bytes, `${comment}; bytes, to filter and join by.`],
  ];
}

const chain: AnalyticsColumn = ["chain_id", "chain_id", "Chain id (EIP-155)."];
const contract = twice("contract", "contract", "Address of the NFT contract");
const tokenId: AnalyticsColumn = ["token_id", "token_id", "Token id, 0 to 2^256-1."];
const amount: AnalyticsColumn = ["amount", "amount", "Units moved; 1 for ERC-721."];
const standard = (comment: string): AnalyticsColumn => ["standard", "standard", comment];

const position: AnalyticsColumn[] = [
  ["block_number", "block_number", "Block of the event."],
  ["log_index", "log_index", "Position of the event's log in its block."],
  ["batch_index", "batch_index", "Position inside a log that moves several tokens; else 0."],
];
const when: AnalyticsColumn = ["block_time", time("block_timestamp"), "Time of the block."];
const transaction: AnalyticsColumn[] = [
  ...twice("tx_hash", "tx_hash", "Hash of the transaction"),
  ...twice("tx_from", "tx_from", "Sender of the transaction"),
];

const collectionsFrom = (contractMetadata: string) => `FROM (
  SELECT n.chain_id, n.address, n.standard, n.first_block, n.token_count, n.token_count_ever, n.transfer_count,
    l.owner, l.block_number, l.block_timestamp, l.tx_hash
  FROM nft.contracts n LEFT JOIN nft.collections l ON l.chain_id = n.chain_id AND l.address = n.address
  UNION ALL
  SELECT l.chain_id, l.address, 'ERC721', l.block_number, 0, 0, 0, l.owner, l.block_number, l.block_timestamp, l.tx_hash
  FROM nft.collections l
  WHERE NOT EXISTS (SELECT FROM nft.contracts n WHERE n.chain_id = l.chain_id AND n.address = l.address)
) c LEFT JOIN ${contractMetadata} m ON m.chain_id = c.chain_id AND m.address = c.address`;

/** @param hasService false before the migrations of schema `service` have run: its part is empty then. */
export function analyticsViews(hasService: boolean): AnalyticsView[] {
  const contractMetadata = hasService
    ? "service.contract_metadata"
    : "(SELECT NULL::integer AS chain_id, NULL::bytea AS address, NULL::text AS name, NULL::text AS symbol WHERE false)";
  const tokenMetadata = hasService
    ? "service.token_metadata"
    : `(SELECT NULL::integer AS chain_id, NULL::bytea AS contract, NULL::numeric(78,0) AS token_id, NULL::text AS status,
        NULL::text AS name, NULL::text AS description, NULL::text AS image, NULL::text AS animation_url,
        NULL::text AS token_uri, NULL::text AS metadata, NULL::text AS raw_cid, NULL::timestamptz AS fetched_at,
        NULL::bigint AS fetched_block, NULL::text AS error_code, NULL::text[] AS warnings, NULL::text[] AS trait_warnings,
        NULL::text AS file_error WHERE false) token_metadata`;
  return [
    {
      name: "version",
      comment: "The version of schema analytics. Within one version columns are only added.",
      columns: [["version", String(analyticsVersion), "Number of the version."]],
      from: "",
    },
    {
      name: "chains",
      comment: "The indexed chains and how far each index has come.",
      columns: [
        chain,
        ["block_number", "block_number", "Last block taken in; everything here is the state after it."],
        ["block_time", time("block_timestamp"), "Time of that block."],
      ],
      from: "FROM nft.heads",
    },
    {
      name: "collections",
      comment: "Every NFT contract seen, and every collection launched through this service, one row each.",
      barrier: true,
      columns: [
        ["chain_id", "c.chain_id", chain[2]],
        ...twice("contract", "c.address", "Address of the NFT contract"),
        ["name", "m.name", "name() of the contract; null while unknown."],
        ["symbol", "m.symbol", "symbol() of the contract; null while unknown."],
        ["standard", "c.standard", "ERC721 or ERC1155, by its events."],
        ["launched_here", "c.owner IS NOT NULL", "True for collections created by this installation's factory."],
        ...twice("launch_owner", "c.owner", "Wallet that owned the collection when it was launched; null for others"),
        ["launch_block", "c.block_number", "Block of the launch; null for others."],
        ["launch_time", time("c.block_timestamp"), "Time of the launch; null for others."],
        ...twice("launch_tx", "c.tx_hash", "Transaction of the launch; null for others"),
        ["first_block", "c.first_block", "First indexed block with an event of it."],
        ["token_count", "c.token_count", "Tokens that exist now."],
        ["token_count_ever", "c.token_count_ever", "Tokens ever seen, burned ones included."],
        ["transfer_count", "c.transfer_count", "Rows of it in transfers."],
      ],
      from: collectionsFrom(contractMetadata),
    },
    {
      name: "contract_flags",
      comment: "What the index left out of a contract or found inconsistent; a contract without a row has all of it.",
      columns: [
        chain,
        ...contract,
        [
          "flag",
          "flag",
          "withheld: tokens of ERC-2309 ranges without rows; suspended: blocks left out; undecodable: logs left out; inconsistent: movements that cannot be; fungible: transfers of an ERC-20 left out.",
        ],
        ["count", "count", "How many."],
      ],
      from: "FROM nft.contract_flags",
    },
    {
      name: "tokens",
      comment: "Every token ever seen, one row each; burned ones have supply 0.",
      columns: [
        chain,
        ...contract,
        tokenId,
        standard("ERC721 or ERC1155, by its events; with both, ERC1155."),
        ["supply", "supply", "Units that exist now; 0 when burned."],
        ...twice("owner", "owner", "Holder of an ERC-721 token; null when burned and for ERC-1155"),
        ["mint_block", "mint_block", "Block of the first mint; null when that lies before the index."],
        ["mint_time", time("mint_timestamp"), "Time of the first mint."],
        ...twice("mint_tx", "mint_tx", "Transaction of the first mint"),
        ...twice(
          "creator",
          "creator",
          "Sender of the first mint's transaction; in a contract that this service mints in, the owner it was deployed for",
        ),
        ["transfer_count", "transfer_count", "Rows of it in transfers."],
      ],
      from: "FROM nft.tokens",
    },
    {
      name: "holdings",
      comment: "Who holds what now: one row per token and holder, only amounts above zero.",
      columns: [
        chain,
        ...contract,
        tokenId,
        ...twice("owner", "owner", "The holder"),
        ["amount", "amount", "Units held; 1 for ERC-721."],
        standard("ERC721 or ERC1155."),
      ],
      from: "FROM nft.holdings",
    },
    {
      name: "transfers",
      comment: "Every movement of a token, one row each; key: chain_id, block_number, log_index, batch_index.",
      columns: [
        chain,
        ...position,
        when,
        ...twice("block_hash", "block_hash", "Hash of the block"),
        ...transaction,
        ...contract,
        tokenId,
        ...twice("from_address", "from_address", "Holder before; the zero address for a mint"),
        ...twice("to_address", "to_address", "Holder after; the zero address for a burn"),
        ...twice("operator", "operator", "Who moved it (ERC-1155); null for ERC-721"),
        amount,
        standard("Standard of the event: ERC721 or ERC1155."),
        [
          "kind",
          `CASE WHEN from_address = ${zeroAddress} THEN 'mint' WHEN to_address = ${zeroAddress} THEN 'burn' ELSE 'transfer' END`,
          "mint, burn or transfer.",
        ],
      ],
      from: "FROM nft.transfers",
    },
    {
      name: "mints",
      comment: "The rows of transfers that come from the zero address; a token burned and minted again has several.",
      columns: [
        chain,
        ...position,
        when,
        ...transaction,
        ...contract,
        tokenId,
        ...twice("minter", "to_address", "Who received the token"),
        ["amount", "amount", "Units minted; 1 for ERC-721."],
        standard("Standard of the event: ERC721 or ERC1155."),
      ],
      from: `FROM nft.transfers WHERE from_address = ${zeroAddress}`,
    },
    {
      name: "daily_activity",
      comment: "Movements per contract and day (UTC); days without any have no row.",
      columns: [
        chain,
        ...contract,
        ["day", "(to_timestamp(block_timestamp) AT TIME ZONE 'UTC')::date", "Day in UTC, by block time."],
        ["mints", `count(*) FILTER (WHERE from_address = ${zeroAddress})`, "Movements from the zero address."],
        [
          "burns",
          `count(*) FILTER (WHERE to_address = ${zeroAddress} AND from_address <> ${zeroAddress})`,
          "Movements to the zero address.",
        ],
        [
          "transfers",
          `count(*) FILTER (WHERE to_address <> ${zeroAddress} AND from_address <> ${zeroAddress})`,
          "Movements between holders.",
        ],
        ["units", "sum(amount)", "Units moved in all of them."],
        ["tokens", "count(DISTINCT token_id)", "Different tokens moved."],
        [
          "senders",
          `count(DISTINCT from_address) FILTER (WHERE from_address <> ${zeroAddress})`,
          "Different holders before.",
        ],
        [
          "receivers",
          `count(DISTINCT to_address) FILTER (WHERE to_address <> ${zeroAddress})`,
          "Different holders after.",
        ],
      ],
      from: "FROM nft.transfers GROUP BY chain_id, contract, (to_timestamp(block_timestamp) AT TIME ZONE 'UTC')::date",
    },
    {
      name: "holders_distribution",
      comment: "How many holders a contract has by how many units they hold together; empty classes have no row.",
      columns: [
        chain,
        ...contract,
        ["least_units", "least_units", "Lower end of the class: 1, 2, 6, 21, 101 or 1001 units."],
        [
          "most_units",
          "CASE least_units WHEN 1 THEN 1 WHEN 2 THEN 5 WHEN 6 THEN 20 WHEN 21 THEN 100 WHEN 101 THEN 1000 END",
          "Upper end of the class; null for the last.",
        ],
        ["holders", "count(*)", "Holders in the class."],
        ["units", "sum(units)", "Units that they hold together."],
      ],
      from: `FROM (
  SELECT chain_id, contract, owner, sum(amount) AS units,
    CASE WHEN sum(amount) < 2 THEN 1 WHEN sum(amount) < 6 THEN 2 WHEN sum(amount) < 21 THEN 6
      WHEN sum(amount) < 101 THEN 21 WHEN sum(amount) < 1001 THEN 101 ELSE 1001 END AS least_units
  FROM nft.holdings GROUP BY chain_id, contract, owner) h
GROUP BY chain_id, contract, least_units`,
    },
    {
      name: "metadata",
      comment: "What was read behind the tokens' URIs; tokens that were not read yet have no row.",
      barrier: true,
      columns: [
        chain,
        ...contract,
        tokenId,
        ["status", "status", "fresh; failed when the last read did not succeed; pending when a new read is due."],
        ["name", "name", "Member name of the document."],
        ["description", "description", "Member description of the document."],
        ["image", "image", "Member image of the document, as written there."],
        ["animation_url", "animation_url", "Member animation_url of the document, as written there."],
        ["token_uri", "token_uri", "What the contract answered."],
        [
          "document",
          "metadata",
          "The JSON document as text, unchanged. Written by third parties: check before casting.",
        ],
        ["document_cid", "raw_cid", "IPFS CID of the document, when it was read from IPFS."],
        ["fetched_time", "fetched_at", "When the document was read."],
        ["fetched_block", "fetched_block", "Block at which the URI was read."],
        ["error_code", "error_code", "Why the last read failed."],
        [
          "warnings",
          "warnings || trait_warnings || CASE WHEN file_error IS NOT NULL THEN ARRAY['image:' || file_error] END",
          "What could not be read of the document, as MEMBER:REASON; null when all was read.",
        ],
      ],
      from: `FROM ${tokenMetadata} WHERE fetched_at IS NOT NULL OR status = 'failed'`,
    },
  ];
}
