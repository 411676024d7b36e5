import { flagDeltas, flagStatements, ledgerBreaks } from "./contract-flags.ts";
import { countLeftOut, fungibleStatements, isMovement, movements } from "./fungible.ts";
import { mintedInProducts, productOwners, productStatements } from "./product-owners.ts";
import { expandRanges, type RangeAllowance, rangeAllowance, rangeStatements } from "./range-allowance.ts";
import { tokensAdded } from "./tokens-added.ts";

const zeroAddress = `'\\x${"00".repeat(20)}'::bytea`;
const position = ["block_number", "log_index", "batch_index"] as const;

/**
 * Tables of the present state (contract, token, holding, account_total) and the triggers that keep
 * them equal to the ledger, as statements to run once in the schema that holds table `transfer`.
 *
 * Every trigger works on a whole statement's rows and is symmetric: deleting ledger rows, in any
 * order, leaves what would be there had they never come. So a reorg needs no code of its own.
 *
 * - ERC-721: the owner is the receiver of the token's last ledger row. Balances would forget the
 *   owner of a token that was minted before the first indexed block and came back to an old holder.
 * - ERC-1155: balances are sums, in `holding`; they and their totals are `numeric` without a size,
 *   because a hostile contract can add up more than 2^256. They may fall below zero.
 * - A token that has both kinds of events counts as ERC-1155 (contracts exist that emit both for
 *   one movement).
 * - Rows of contracts in table `fungible` are no movements, and leave no trace here.
 */
export function derivedStateStatements(schema: string, allowance: RangeAllowance = rangeAllowance): string[] {
  const s = `"${schema}"`;
  return [
    ...tables(s),
    ...fungibleStatements(s),
    ...flagStatements(s),
    ...rangeStatements(s),
    ...productStatements(s, planned),
    ...ledgerTriggers(s, allowance),
    ...holdingTriggers(s),
    ...tokenTriggers(s),
  ];
}

function tables(s: string): string[] {
  return [
    `CREATE TABLE ${s}.contract (
      address bytea PRIMARY KEY,
      first_block bigint NOT NULL,
      transfers_721 bigint NOT NULL,
      transfers_1155 bigint NOT NULL,
      token_count bigint NOT NULL DEFAULT 0,
      token_count_ever bigint NOT NULL DEFAULT 0,
      standard text NOT NULL GENERATED ALWAYS AS (CASE WHEN transfers_1155 > 0 THEN 'ERC1155' ELSE 'ERC721' END) STORED
    )`,
    `CREATE TABLE ${s}.token (
      contract bytea NOT NULL,
      token_id numeric(78,0) NOT NULL,
      transfers_721 bigint NOT NULL,
      transfers_1155 bigint NOT NULL,
      last_block bigint,
      last_log_index integer,
      last_batch_index integer,
      last_to bytea,
      supply_1155 numeric NOT NULL DEFAULT 0,
      mint_block bigint,
      mint_log_index integer,
      mint_batch_index integer,
      mint_timestamp bigint,
      mint_tx bytea,
      creator bytea,
      -- Movements whose sender was not the owner by the ledger; first_from only carries a value to its sum.
      breaks bigint NOT NULL DEFAULT 0,
      first_from bytea,
      standard text NOT NULL GENERATED ALWAYS AS (CASE WHEN transfers_1155 > 0 THEN 'ERC1155' ELSE 'ERC721' END) STORED,
      owner bytea GENERATED ALWAYS AS (
        CASE WHEN transfers_1155 = 0 AND last_to <> ${zeroAddress} THEN last_to END) STORED,
      supply numeric NOT NULL GENERATED ALWAYS AS (
        CASE WHEN transfers_1155 > 0 THEN supply_1155 WHEN last_to <> ${zeroAddress} THEN 1 ELSE 0 END) STORED,
      PRIMARY KEY (contract, token_id)
    )`,
    `CREATE TABLE ${s}.holding (
      contract bytea NOT NULL,
      token_id numeric(78,0) NOT NULL,
      owner bytea NOT NULL,
      amount numeric NOT NULL,
      PRIMARY KEY (contract, token_id, owner)
    )`,
    `CREATE TABLE ${s}.account_total (
      owner bytea NOT NULL,
      standard text NOT NULL,
      holding_count bigint NOT NULL,
      PRIMARY KEY (owner, standard)
    )`,
  ];
}

const counts = `count(*) FILTER (WHERE standard = 'ERC721') AS n721, count(*) FILTER (WHERE standard = 'ERC1155') AS n1155`;

/** Counts movements for their contracts. @param moved the rows, as a table. */
export function contractsAdded(s: string, moved: string): string {
  return `
    INSERT INTO ${s}.contract AS c (address, first_block, transfers_721, transfers_1155)
    SELECT contract, min(block_number), ${counts} FROM ${moved} m GROUP BY contract ORDER BY contract
    ON CONFLICT (address) DO UPDATE SET
      first_block = least(c.first_block, excluded.first_block),
      transfers_721 = c.transfers_721 + excluded.transfers_721,
      transfers_1155 = c.transfers_1155 + excluded.transfers_1155;`;
}

function ledgerTriggers(s: string, allowance: RangeAllowance): string[] {
  const moved = movements(s, "rows");
  // Most blocks have one standard only; planning what finds nothing takes longer than running it.
  const ifAny = (standard: string, statements: string) =>
    `IF EXISTS (SELECT FROM rows WHERE standard = '${standard}') THEN ${planned(statements)} END IF;`;
  const ifAnyFungible = (sign: 1 | -1) =>
    `IF EXISTS (SELECT FROM ${s}.fungible) THEN ${planned(countLeftOut(s, sign))} END IF;`;
  const tokens = (inProducts: boolean) => `
    ${ifAny("ERC721", tokensAdded(s, "ERC721", { rows: moved, inProducts }))}
    ${ifAny("ERC1155", tokensAdded(s, "ERC1155", { rows: "rows", inProducts }) + holdingDeltas(s, 1))}`;
  const added = `IF EXISTS (SELECT FROM rows WHERE batch_index < 0) THEN
      ${expandRanges(s, allowance, planned)}
      RETURN NULL;
    END IF;
    ${planned(contractsAdded(s, moved))}
    IF ${mintedInProducts(s)} THEN ${tokens(true)} ELSE ${tokens(false)} END IF;
    ${ifAnyFungible(1)}`;

  const first = (direction: string) => position.map((column) => `x.${column} ${direction}`).join(", ");
  const byIndex = (where: string, direction: string, alias: string) => `LEFT JOIN LATERAL (
      SELECT x.* FROM ${s}.transfer x WHERE x.contract = n.contract AND x.token_id = n.token_id AND ${where} AND ${isMovement(s, "x")}
      ORDER BY ${first(direction)} LIMIT 1) ${alias} ON true`;
  const byScan = (where: string, direction: string, alias: string) => `LEFT JOIN (
      SELECT DISTINCT ON (x.contract, x.token_id) x.* FROM ${s}.transfer x
      JOIN (SELECT DISTINCT contract, token_id FROM rows) gone USING (contract, token_id)
      WHERE ${where} AND ${isMovement(s, "x")} ORDER BY x.contract, x.token_id, ${first(direction)}
    ) ${alias} ON ${alias}.contract = n.contract AND ${alias}.token_id = n.token_id`;
  const tokensRemoved = (lookUp: typeof byIndex) => `
    UPDATE ${s}.token t SET
      transfers_721 = t.transfers_721 - n.n721, transfers_1155 = t.transfers_1155 - n.n1155,
      last_block = l.block_number, last_log_index = l.log_index, last_batch_index = l.batch_index, last_to = l.to_address,
      mint_block = m.block_number, mint_log_index = m.log_index, mint_batch_index = m.batch_index,
      mint_timestamp = m.block_timestamp, mint_tx = m.tx_hash,
      creator = CASE WHEN m.tx_from IS NOT NULL THEN coalesce(p.product_owner, m.tx_from) END,
      breaks = t.breaks - coalesce(b.breaks, 0) - (b.first_from IS DISTINCT FROM l.to_address
        AND b.first_from IS NOT NULL AND l.to_address IS NOT NULL)::integer
    FROM (SELECT contract, token_id, ${counts} FROM ${moved} m GROUP BY contract, token_id) n
    LEFT JOIN (${ledgerBreaks(moved)}) b USING (contract, token_id)
    LEFT JOIN ${productOwners(s)} USING (contract)
    ${lookUp("x.standard = 'ERC721'", "DESC", "l")}
    ${lookUp(`x.from_address = ${zeroAddress}`, "ASC", "m")}
    WHERE t.contract = n.contract AND t.token_id = n.token_id;`;

  const emptied = `
    DELETE FROM ${s}.token t USING (SELECT DISTINCT contract, token_id FROM rows) n
    WHERE t.contract = n.contract AND t.token_id = n.token_id AND t.transfers_721 = 0 AND t.transfers_1155 = 0;

    UPDATE ${s}.contract c SET
      transfers_721 = c.transfers_721 - n.n721, transfers_1155 = c.transfers_1155 - n.n1155,
      first_block = CASE WHEN n.first_block > c.first_block OR n.n721 + n.n1155 = c.transfers_721 + c.transfers_1155
        THEN c.first_block
        ELSE coalesce((SELECT x.block_number FROM ${s}.transfer x WHERE x.contract = c.address AND ${isMovement(s, "x")}
          ORDER BY x.block_number LIMIT 1), c.first_block) END
    FROM (SELECT contract, min(block_number) AS first_block, ${counts} FROM ${moved} m GROUP BY contract) n
    WHERE c.address = n.contract;

    DELETE FROM ${s}.contract c USING (SELECT DISTINCT contract FROM rows) n
    WHERE c.address = n.contract AND c.transfers_721 = 0 AND c.transfers_1155 = 0;`;
  // Until the backfill is through the indexes of read-indexes.ts are missing; one scan is better then than one for each token.
  const removed = `
    -- What expandRanges takes out to write it again has not reached the derived state.
    IF pg_trigger_depth() > 1 THEN RETURN NULL; END IF;
    ${ifAny("ERC1155", holdingDeltas(s, -1))}
    IF to_regclass('${s}.transfer_token') IS NULL THEN ${planned(tokensRemoved(byScan))}
    ELSE ${planned(tokensRemoved(byIndex))}
    END IF;
    ${planned(emptied)}
    ${ifAnyFungible(-1)}`;

  return [
    triggerFunction(s, "ledger_added", "rows", added),
    triggerFunction(s, "ledger_removed", "rows", removed),
    `CREATE TRIGGER derive_added AFTER INSERT ON ${s}.transfer REFERENCING NEW TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION ${s}.ledger_added()`,
    `CREATE TRIGGER derive_removed AFTER DELETE ON ${s}.transfer REFERENCING OLD TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION ${s}.ledger_removed()`,
  ];
}

/** Rows whose balance has come back to zero stay: they are few, and deleting them would cost a check per movement. */
function holdingDeltas(s: string, sign: 1 | -1): string {
  return `INSERT INTO ${s}.holding AS h (contract, token_id, owner, amount)
    SELECT contract, token_id, owner, sum(delta) FROM (
      SELECT contract, token_id, to_address AS owner, ${sign} * amount AS delta FROM rows
        WHERE standard = 'ERC1155' AND to_address <> ${zeroAddress}
      UNION ALL
      SELECT contract, token_id, from_address, ${-sign} * amount FROM rows
        WHERE standard = 'ERC1155' AND from_address <> ${zeroAddress}) moved
    GROUP BY contract, token_id, owner HAVING sum(delta) <> 0 ORDER BY contract, token_id, owner
    ON CONFLICT (contract, token_id, owner) DO UPDATE SET amount = h.amount + excluded.amount;`;
}

/** `holding` rows are never deleted, so there is no trigger for it. */
function holdingTriggers(s: string): string[] {
  const changed = (changes: string) => `
    UPDATE ${s}.token t SET supply_1155 = t.supply_1155 + d.delta
    FROM (SELECT contract, token_id, sum(sign * greatest(amount, 0)) AS delta FROM (${changes}) changes
      GROUP BY contract, token_id HAVING sum(sign * greatest(amount, 0)) <> 0) d
    WHERE t.contract = d.contract AND t.token_id = d.token_id;
    ${flagDeltas(s, "SELECT contract, sum(sign) AS delta FROM changes WHERE amount < 0 GROUP BY contract", changes)}
    ${totalDeltas(s, "ERC1155", "SELECT owner, sign FROM changes WHERE amount > 0", changes)}`;
  return [...transitionTriggers(s, "holding", "contract, token_id, owner, amount", ["INSERT", "UPDATE"], changed)];
}

function tokenTriggers(s: string): string[] {
  const changed = (changes: string) => `
    UPDATE ${s}.contract c SET token_count = c.token_count + d.live, token_count_ever = c.token_count_ever + d.ever
    FROM (SELECT contract, sum(sign) AS ever, coalesce(sum(sign) FILTER (WHERE supply > 0), 0) AS live
      FROM (${changes}) changes GROUP BY contract) d
    WHERE c.address = d.contract AND (d.live <> 0 OR d.ever <> 0);
    ${flagDeltas(s, "SELECT contract, sum(sign * breaks) AS delta FROM changes GROUP BY contract", changes)}
    ${totalDeltas(s, "ERC721", "SELECT owner, sign FROM changes WHERE owner IS NOT NULL", changes)}`;
  return transitionTriggers(s, "token", "contract, owner, supply, breaks", ["INSERT", "UPDATE", "DELETE"], changed);
}

function totalDeltas(s: string, standard: string, holders: string, changes: string): string {
  return `
    WITH changes AS (${changes}), holders AS (${holders})
    MERGE INTO ${s}.account_total a
    USING (SELECT owner, sum(sign) AS delta FROM holders GROUP BY owner HAVING sum(sign) <> 0 ORDER BY owner) d
    ON a.owner = d.owner AND a.standard = '${standard}'
    WHEN MATCHED THEN UPDATE SET holding_count = a.holding_count + d.delta
    WHEN NOT MATCHED THEN INSERT (owner, standard, holding_count) VALUES (d.owner, '${standard}', d.delta);`;
}

type Operation = "INSERT" | "UPDATE" | "DELETE";

/** Postgres allows transition tables only on triggers of a single operation: hence one function for each. */
function transitionTriggers(
  s: string,
  table: string,
  columns: string,
  operations: readonly Operation[],
  body: (changes: string) => string,
): string[] {
  const gained = `SELECT ${columns}, 1 AS sign FROM new_rows`;
  const lost = `SELECT ${columns}, -1 AS sign FROM old_rows`;
  const changes = { INSERT: gained, UPDATE: `${gained} UNION ALL ${lost}`, DELETE: lost };
  const names = {
    INSERT: "NEW TABLE AS new_rows",
    UPDATE: "OLD TABLE AS old_rows NEW TABLE AS new_rows",
    DELETE: "OLD TABLE AS old_rows",
  };
  return operations.flatMap((operation) => {
    const name = `${table}_${operation.toLowerCase()}`;
    return [
      triggerFunction(s, name, operation === "DELETE" ? "old_rows" : "new_rows", planned(body(changes[operation]))),
      `CREATE TRIGGER derive_${name} AFTER ${operation} ON ${s}.${table} REFERENCING ${names[operation]}
        FOR EACH STATEMENT EXECUTE FUNCTION ${s}.${name}()`,
    ];
  });
}

/**
 * Statements that are planned each time they run. Otherwise a session keeps the plan of the first time, when tables were
 * empty and the batch perhaps one row: it then reads a whole table for every batch, or compares each of its rows with all.
 * (`plan_cache_mode` does not help: a statement without parameters always keeps its plan.)
 */
function planned(statements: string): string {
  return `EXECUTE $sql$${statements}$sql$;`;
}

/** @param rows transition table that is empty when there is nothing to do: a statement without rows fires triggers too. */
function triggerFunction(s: string, name: string, rows: string, body: string): string {
  return `CREATE FUNCTION ${s}.${name}() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN
    IF EXISTS (SELECT FROM ${rows}) THEN ${body} END IF;
    RETURN NULL;
  END $body$`;
}
