/*
 * Who counts as the creator of a token: the sender of its first mint's transaction; of a product contract's tokens the owner
 * whom the operator named when it deployed the contract. The service's wallet sends their mints, for that owner.
 *
 * Rows of `product` and of `transfer` come and go in any order, also within a block: the triggers of both leave the same.
 */

const zeroAddress = `'\\x${"00".repeat(20)}'::bytea`;

/** To be joined by USING (contract): the owner named for a contract, as `product_owner`. */
export function productOwners(s: string): string {
  return `(SELECT address AS contract, owner AS product_owner FROM ${s}.product) p`;
}

/**
 * Whether the trigger's rows have mints in product contracts. Few blocks have any, and to plan the join takes longer than to
 * ask this. It keeps its plan: the LIMIT makes it look up contracts in the index, however large the table has become.
 */
export function mintedInProducts(s: string): string {
  return `EXISTS (SELECT FROM rows r
      CROSS JOIN LATERAL (SELECT FROM ${s}.product p WHERE p.address = r.contract LIMIT 1) one
      WHERE r.from_address = ${zeroAddress})`;
}

/** Triggers of table `product`, for the tokens that are there before it, or still. */
export function productStatements(s: string, planned: (statements: string) => string): string[] {
  const added = `UPDATE ${s}.token t SET creator = r.owner FROM rows r
    WHERE t.contract = r.address AND t.mint_block IS NOT NULL`;
  const removed = `UPDATE ${s}.token t SET creator = m.tx_from FROM rows r, ${s}.transfer m
    WHERE t.contract = r.address AND m.block_number = t.mint_block AND m.log_index = t.mint_log_index
      AND m.batch_index = t.mint_batch_index`;
  const trigger = (name: string, operation: string, rows: string, statement: string) => [
    `CREATE FUNCTION ${s}.${name}() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN
      ${planned(statement)} RETURN NULL; END $body$`,
    `CREATE TRIGGER derive_${name} AFTER ${operation} ON ${s}.product REFERENCING ${rows} TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION ${s}.${name}()`,
  ];
  return [...trigger("product_added", "INSERT", "NEW", added), ...trigger("product_removed", "DELETE", "OLD", removed)];
}
