// Withheld ranges of ERC-2309; docs/indexing.md.
import { findChain } from "../src/chains.ts";
import { toBytes } from "../src/db/bytes.ts";
import { changeListedContract, listWithheldContracts } from "../src/indexing/listed-contracts.ts";
import { asOperator } from "./operator.ts";

export async function printWithheld(chain: string): Promise<number> {
  return await asOperator(
    async ({ db, config }) => await listWithheldContracts(db, findChain(config.chains, chain).id),
  );
}

export async function setAllowed(chain: string, contract: string, allowed: boolean): Promise<number> {
  return await asOperator(async ({ db, config }, actor) => {
    const { id, name } = findChain(config.chains, chain);
    await changeListedContract(db, actor, { chainId: id, contract: toBytes(contract), allowed });
    return [{ chain: name, contract: contract.toLowerCase(), allowed }];
  });
}
