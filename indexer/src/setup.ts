import { ponder } from "ponder:registry";
import { transfer } from "ponder:schema";
import { sql } from "ponder";
import { derivedStateStatements } from "../../schema/derived-state.ts";

ponder.on("Nft:setup", async ({ context }) => {
  // A handler does not know which schema it runs in, but its tables do.
  const schema: unknown = Reflect.get(transfer, Symbol.for("drizzle:Schema"));
  if (typeof schema !== "string") throw new Error("the schema of table transfer is not known");
  for (const statement of derivedStateStatements(schema)) await context.db.sql.execute(sql.raw(statement));
});
