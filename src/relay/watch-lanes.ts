import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { toBytes } from "./bytes.ts";
import { type ChainView, readChainView } from "./chain-view.ts";
import { type Lane, listLanes } from "./lanes.ts";
import type { RelayMemory } from "./round-steps.ts";
import { missingNonces } from "./slot-gaps.ts";

/**
 * Reads where the chain and the paying wallets stand, and opens and closes their lanes by it. What another round has
 * read a moment ago is taken as it is.
 *
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function lookAtLanes(services: Services, chain: Chain, memory: RelayMemory): Promise<ChainView> {
  if (memory.view && performance.now() - memory.view.at < memory.viewMs) return await memory.view.reading;
  const reading = readLanes(services, chain);
  memory.view = { at: performance.now(), reading };
  // A failure is for those who wait for it now; the next round asks again.
  reading.catch(() => {
    if (memory.view?.reading === reading) memory.view = null;
  });
  return await reading;
}

async function readLanes(services: Services, chain: Chain): Promise<ChainView> {
  const wallets = services.relay.signers(chain).map(({ address }) => address);
  const view = await readChainView(services.relay.nodes(chain), chain, wallets);
  await watchLanes(services, chain, view);
  return view;
}

type LaneState = "open" | "paused_funds" | "reconcile";

/**
 * Opens and closes lanes by what the chain shows: one that waited for money opens when it is there; one
 * whose wallet did more than we know of is closed until that is explained. A halted lane is a person's.
 */
async function watchLanes(services: Services, chain: Chain, view: ChainView): Promise<void> {
  for (const lane of await listLanes(services.db, chain.id)) {
    const wallet = view.wallets.get(lane.address);
    if (!wallet) continue;
    const facts = { chain: chain.name, wallet: lane.address };
    const ahead = wallet.finalNonce !== null && wallet.finalNonce > lane.nextNonce;
    if (lane.state === "open" && ahead) {
      services.log.error({ ...facts, count: wallet.finalNonce }, "foreign transactions from the paying wallet");
      await setLane(services, chain, lane, "reconcile");
    }
    // Adopting what a restored database had forgotten moves the counter on; then the lane is whole again. A
    // nonce between the adopted ones that nobody asked for is still somebody's transaction.
    if (lane.state === "reconcile" && wallet.finalNonce !== null && !ahead) {
      const missing = await missingNonces(services.db, chain.id, toBytes(lane.address), wallet.finalNonce);
      if (missing.length === 0) await setLane(services, chain, lane, "open");
    }
    if (lane.state === "paused_funds" && wallet.balanceWei - lane.reservedWei >= lane.neededWei) {
      services.log.info({ ...facts, balance: wallet.balanceWei }, "a wallet has funds again");
      await setLane(services, chain, lane, "open");
    }
  }
}

async function setLane(services: Services, chain: Chain, lane: Lane, state: LaneState): Promise<void> {
  await services.db
    .updateTable("service.lane")
    .set({ state, needed_wei: null })
    .where("chain_id", "=", chain.id)
    .where("addr", "=", toBytes(lane.address))
    .where("state", "=", lane.state as LaneState)
    .where("next_nonce", "=", lane.nextNonce)
    .execute();
}
