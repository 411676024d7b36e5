import { ponder } from "ponder:registry";
import { contract, holder, token, transfer } from "ponder:schema";

const nobody = `0x${"0".repeat(40)}`;

// One write per fact and event through Ponder's store, which caches rows and reads those it does not hold.
ponder.on("Nft:Transfer", async ({ event, context }) => {
  const { from, to, tokenId } = event.args;
  const address = event.log.address;
  await context.db.insert(transfer).values({
    blockNumber: event.block.number,
    logIndex: event.log.logIndex,
    timestamp: event.block.timestamp,
    txHash: event.transaction.hash,
    contract: address,
    tokenId,
    from,
    to,
  });
  await context.db
    .insert(token)
    .values({ contract: address, tokenId, owner: to, transfers: 1 })
    .onConflictDoUpdate((row) => ({ owner: to, transfers: row.transfers + 1 }));
  if (from !== nobody) {
    await context.db
      .insert(holder)
      .values({ contract: address, owner: from, tokens: -1 })
      .onConflictDoUpdate((row) => ({ tokens: row.tokens - 1 }));
  }
  await context.db
    .insert(holder)
    .values({ contract: address, owner: to, tokens: 1 })
    .onConflictDoUpdate((row) => ({ tokens: row.tokens + 1 }));
  const minted = from === nobody ? 1 : 0;
  await context.db
    .insert(contract)
    .values({ address, transfers: 1, tokens: minted })
    .onConflictDoUpdate((row) => ({ transfers: row.transfers + 1, tokens: row.tokens + minted }));
});
