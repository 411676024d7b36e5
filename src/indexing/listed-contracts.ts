import type { Kysely } from "kysely";
import { writeAudit } from "../auth/audit.ts";
import { toHex } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";

/** The most contracts in one answer. */
const most = 1_000;

export interface WithheldContract {
  contract: string;
  /** Number of tokens in its ranges that are not listed. */
  tokens: bigint;
  /** Whether an operator allowed it: its ranges are listed once their blocks are final. */
  allowed: boolean;
}

/** The contracts of a chain with withheld ranges, those with the most tokens first. */
export async function listWithheldContracts(db: Kysely<Database>, chainId: number): Promise<WithheldContract[]> {
  const rows = await db
    .selectFrom("nft.contract_flags as f")
    .leftJoin("service.listed_contract as a", (join) =>
      join.onRef("a.chain_id", "=", "f.chain_id").onRef("a.address", "=", "f.contract"),
    )
    .select(["f.contract", "f.count", "a.address as allowed"])
    .where("f.chain_id", "=", chainId)
    .where("f.flag", "=", "withheld")
    .orderBy("f.count", "desc")
    .orderBy("f.contract")
    .limit(most)
    .execute();
  return rows.map(({ contract, count, allowed }) => ({
    contract: toHex(contract),
    tokens: count,
    allowed: allowed !== null,
  }));
}

/** Allows all ranges of a contract to be listed, or makes its further ones follow the allowances again. */
export async function changeListedContract(
  db: Kysely<Database>,
  actor: string,
  { chainId, contract, allowed }: { chainId: number; contract: Buffer; allowed: boolean },
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    if (allowed)
      await transaction
        .insertInto("service.listed_contract")
        .values({ chain_id: chainId, address: contract })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    else
      await transaction
        .deleteFrom("service.listed_contract")
        .where("chain_id", "=", chainId)
        .where("address", "=", contract)
        .execute();
    const object = `listed_contract:${chainId}:${toHex(contract)}`;
    await writeAudit(transaction, { actor, action: allowed ? "create" : "end", object });
  });
}
