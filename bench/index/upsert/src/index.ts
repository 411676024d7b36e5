import { ponder } from "ponder:registry";
import { account, token, transfer } from "ponder:schema";

ponder.on("Nft:Transfer", async ({ event, context }) => {
  const { from, to, tokenId } = event.args;
  const contract = event.log.address;
  await context.db
    .insert(transfer)
    .values({ id: event.id, contract, tokenId, from, to, blockNumber: event.block.number });
  await context.db
    .insert(token)
    .values({ contract, tokenId, owner: to, transfers: 1 })
    .onConflictDoUpdate((row) => ({ owner: to, transfers: row.transfers + 1 }));
  for (const [address, change] of [
    [from, -1],
    [to, 1],
  ] as const)
    await context.db
      .insert(account)
      .values({ address, tokens: change })
      .onConflictDoUpdate((row) => ({ tokens: row.tokens + change }));
});
