import type pg from "pg";
import { type Hex, keccak256, stringToBytes } from "viem";
import type { Anvil } from "../anvil.ts";
import { batchTopic, consecutiveTopic, singleTopic, transferTopic } from "../hostile-cases.ts";

interface RawLog {
  address: Hex;
  topics: Hex[];
  data: Hex;
  blockNumber: Hex;
  blockHash: Hex;
  logIndex: Hex;
  transactionHash: Hex;
}

/** Copies the chain's raw logs, as the node itself has them, into a table of their own. */
export async function copyRawLogs(client: pg.ClientBase, chain: Anvil, contracts: readonly Hex[]): Promise<number> {
  await client.query(`CREATE TEMP TABLE IF NOT EXISTS raw_log (block bigint, log integer, hash text, tx text, sender text,
    contract text, topic text, t1 text, t2 text, t3 text, data text)`);
  await client.query("TRUNCATE raw_log");
  const head = await chain.head();
  let count = 0;
  for (let from = 0n; from <= head; from += 200n) {
    const to = from + 199n < head ? from + 199n : head;
    const hex = (value: bigint) => `0x${value.toString(16)}`;
    const logs = await chain.rpc<RawLog[]>("eth_getLogs", [
      { fromBlock: hex(from), toBlock: hex(to), address: contracts },
    ]);
    count += logs.length;
    const senders = await sendersOf(chain, new Set(logs.map(({ blockNumber }) => blockNumber)));
    const column = (pick: (log: RawLog) => unknown) => logs.map(pick);
    await client.query(
      "INSERT INTO raw_log SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[])",
      [
        column((log) => String(BigInt(log.blockNumber))),
        column((log) => Number(log.logIndex)),
        column((log) => log.blockHash.slice(2)),
        column((log) => log.transactionHash.slice(2)),
        column((log) => senders.get(log.transactionHash)?.slice(2)),
        column((log) => log.address.slice(2).toLowerCase()),
        ...[0, 1, 2, 3].map((index) => column((log) => log.topics[index]?.slice(2) ?? null)),
        column((log) => log.data.slice(2)),
      ],
    );
  }
  return count;
}

/** By transaction. */
async function sendersOf(chain: Anvil, blocks: ReadonlySet<Hex>): Promise<Map<Hex, Hex>> {
  const senders = new Map<Hex, Hex>();
  for (const block of blocks) {
    const { transactions } = await chain.rpc<{ transactions: { hash: Hex; from: Hex }[] }>("eth_getBlockByNumber", [
      block,
      true,
    ]);
    for (const { hash, from } of transactions) senders.set(hash, from);
  }
  return senders;
}

const number = (hex: string) => `('x' || right(${hex}, 16))::bit(64)::bigint::numeric`;
const wordAt = (index: string) => number(`substr(data, (${index}) * 64 + 1, 64)`);
const person = (topic: string) => `decode(right(${topic}, 40), 'hex')`;
const topicIs = (topic: Hex) => `topic = '${topic.slice(2)}'`;
const zero = `'\\x${"00".repeat(20)}'::bytea`;
const place = `block, log, hash, tx, decode(sender, 'hex') AS sender, decode(contract, 'hex') AS contract`;
const products = `SELECT ${person("t2")} AS product, ${person("t3")} AS owner, decode(contract, 'hex') AS operator, block
    FROM raw_log WHERE ${topicIs(keccak256(stringToBytes("ProductDeployed(bytes32,address,address)")))}`;

/** Every movement that the raw logs tell but those of withheld ranges; ids and amounts of the run are below 2^63. */
const moves = `
  SELECT ${place}, 0 AS batch, ${number("t3")} AS id, ${person("t1")} AS giver, ${person("t2")} AS taker, 1::numeric AS amount, 'ERC721' AS standard
    FROM raw_log WHERE ${topicIs(transferTopic)}
  UNION ALL SELECT ${place}, n::int, ${number("t1")} + n, ${person("t2")}, ${person("t3")}, 1, 'ERC721'
    FROM raw_log, generate_series(0, (${wordAt("0")} - ${number("t1")})::int) n WHERE ${topicIs(consecutiveTopic)}
      AND (block, log) NOT IN (SELECT block_number, log_index FROM nft.token_ranges WHERE NOT listed)
  UNION ALL SELECT ${place}, 0, ${wordAt("0")}, ${person("t2")}, ${person("t3")}, ${wordAt("1")}, 'ERC1155'
    FROM raw_log WHERE ${topicIs(singleTopic)}
  UNION ALL SELECT ${place}, n::int, ${wordAt("3 + n")}, ${person("t2")}, ${person("t3")}, ${wordAt(`4 + ${wordAt("2")}::int + n`)}, 'ERC1155'
    FROM raw_log, generate_series(0, ${wordAt("2")}::int - 1) n WHERE ${topicIs(batchTopic)}`;
const present = `SELECT contract, id, taker AS owner, 1::numeric AS amount FROM (
    SELECT DISTINCT ON (contract, id) * FROM moves WHERE standard = 'ERC721' ORDER BY contract, id, block DESC, log DESC) l
    WHERE taker <> ${zero}
  UNION ALL SELECT contract, id, owner, sum(amount) FROM (
    SELECT contract, id, taker AS owner, amount FROM moves WHERE standard = 'ERC1155'
    UNION ALL SELECT contract, id, giver, -amount FROM moves WHERE standard = 'ERC1155') m
    WHERE owner <> ${zero} GROUP BY 1, 2, 3 HAVING sum(amount) > 0`;

/** What each table should hold, and what it shows, with the same columns. */
const tables: Record<string, [expected: string, shown: string]> = {
  transfers: [
    "SELECT block, log, batch, hash, tx, sender, contract, id, giver, taker, amount, standard FROM moves",
    `SELECT block_number, log_index, batch_index, encode(block_hash, 'hex'), encode(tx_hash, 'hex'), tx_from, contract, token_id,
      from_address, to_address, amount, standard FROM nft.transfers`,
  ],
  holdings: ["SELECT * FROM present", "SELECT contract, token_id, owner, amount FROM nft.holdings"],
  tokens: [
    `SELECT m.contract, m.id, count(*), min(block) FILTER (WHERE giver = ${zero}),
      coalesce((SELECT sum(amount) FROM present p WHERE p.contract = m.contract AND p.id = m.id), 0),
      CASE WHEN bool_or(giver = ${zero}) THEN coalesce((SELECT owner FROM products p WHERE p.product = m.contract),
        (array_agg(sender ORDER BY block, log, batch) FILTER (WHERE giver = ${zero}))[1]) END
      FROM moves m GROUP BY 1, 2`,
    "SELECT contract, token_id, transfer_count, mint_block, supply, creator FROM nft.tokens",
  ],
  products: ["SELECT * FROM products", "SELECT address, owner, operator, block_number FROM nft.products"],
  contracts: [
    `SELECT contract, min(block), count(*), count(DISTINCT id), min(standard),
      (SELECT count(DISTINCT id) FROM present p WHERE p.contract = m.contract) FROM moves m GROUP BY 1`,
    "SELECT address, first_block, transfer_count, token_count_ever, standard, token_count FROM nft.contracts",
  ],
  account_totals: [
    "SELECT owner, count(*) FROM present GROUP BY 1",
    "SELECT owner, sum(holding_count)::bigint FROM nft.account_totals GROUP BY 1",
  ],
};

/** Rows in which the index and the recomputation from raw logs differ, by table, with a few of them. */
export async function differences(
  client: pg.ClientBase,
): Promise<Record<string, { count: number; samples: unknown[] }>> {
  // One state of the index: withheld ranges are listed at any time.
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  await client.query("DROP TABLE IF EXISTS moves, present, products");
  await client.query(`CREATE TEMP TABLE moves AS ${moves}`);
  await client.query(`CREATE TEMP TABLE present AS ${present}`);
  await client.query(`CREATE TEMP TABLE products AS ${products}`);
  await client.query("CREATE INDEX ON present (contract, id)");
  await client.query("ANALYZE moves, present, products");
  const found: Record<string, { count: number; samples: unknown[] }> = {};
  for (const [name, [expected, shown]] of Object.entries(tables)) {
    const { rows } = await client.query<Record<string, unknown>>(
      `(SELECT 'missing' AS fault, * FROM (${expected} EXCEPT ALL ${shown}) a)
       UNION ALL (SELECT 'too much', * FROM (${shown} EXCEPT ALL ${expected}) b)`,
    );
    if (rows.length > 0) found[name] = { count: rows.length, samples: rows.slice(0, 3) };
  }
  await client.query("COMMIT");
  return found;
}
