import { ponder } from "ponder:registry";
import { account, contract, token, transfer } from "ponder:schema";

const nobody = `0x${"0".repeat(40)}`;

// One write per fact and event through Ponder's store, which caches rows and reads those it does not hold.
ponder.on("Nft:Transfer", async ({ event, context }) => {
  const { from, to, tokenId } = event.args;
  const { block, transaction, log } = event;
  const { address, logIndex } = log;
  await context.db.insert(transfer).values({
    blockNumber: block.number,
    logIndex,
    batchIndex: 0,
    blockHash: block.hash,
    blockTimestamp: block.timestamp,
    txHash: transaction.hash,
    txFrom: transaction.from,
    contract: address,
    tokenId,
    from,
    to,
    amount: 1n,
    standard: "ERC721",
  });
  const minted = from === nobody;
  const mint = {
    mintBlock: block.number,
    mintLogIndex: logIndex,
    mintTimestamp: block.timestamp,
    mintTx: transaction.hash,
    creator: transaction.from,
  };
  const last = { owner: to === nobody ? null : to, lastBlock: block.number, lastLogIndex: logIndex };
  let isNew = 1;
  let broken = 0;
  await context.db
    .insert(token)
    .values({ contract: address, tokenId, transfers: 1, breaks: 0, ...last, ...(minted ? mint : {}) })
    .onConflictDoUpdate((row) => {
      isNew = 0;
      broken = (row.owner ?? nobody) === from ? 0 : 1;
      return { ...last, transfers: row.transfers + 1, breaks: row.breaks + broken };
    });
  if (!minted) {
    await context.db
      .insert(account)
      .values({ owner: from, tokens: -1 })
      .onConflictDoUpdate((row) => ({ tokens: row.tokens - 1 }));
  }
  if (to !== nobody) {
    await context.db
      .insert(account)
      .values({ owner: to, tokens: 1 })
      .onConflictDoUpdate((row) => ({ tokens: row.tokens + 1 }));
  }
  const live = (minted ? 1 : 0) - (to === nobody ? 1 : 0);
  await context.db
    .insert(contract)
    .values({
      address,
      firstBlock: block.number,
      transfers: 1,
      tokens: live,
      tokensEver: 1,
      inconsistent: 0,
    })
    .onConflictDoUpdate((row) => ({
      transfers: row.transfers + 1,
      tokens: row.tokens + live,
      tokensEver: row.tokensEver + isNew,
      inconsistent: row.inconsistent + broken,
    }));
});
