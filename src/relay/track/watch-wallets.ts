import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { loggable } from "../chain/node-failure.ts";
import { type ChainView, readChainView } from "../chain/view.ts";
import { toBytes } from "../store/bytes.ts";
import { type Lane, listLanes } from "../store/wallets.ts";
import { importFound } from "./import-found.ts";
import type { RelayMemory } from "./loop-steps.ts";

/**
 * Reads where the chain and the paying wallets stand, and opens and closes their lanes by it. What another round has
 * read a moment ago is taken as it is.
 *
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function lookAtLanes(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<ChainView> {
  if (memory.view && performance.now() - memory.view.at < memory.viewMs) return await memory.view.reading;
  const reading = readLanes(services, chain, memory);
  memory.view = { at: performance.now(), reading };
  // A failure is for those who wait for it now; the next round asks again.
  reading.catch(() => {
    if (memory.view?.reading === reading) memory.view = null;
  });
  return await reading;
}

async function readLanes(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<ChainView> {
  const wallets = services.relay.signers(chain).map(({ address }) => address);
  const view = await readChainView(services.relay.nodes(chain), chain, wallets);
  await watchLanes(services, chain, view, memory);
  return view;
}

/** Each look reads the transactions anew. */
const lookAgainMs = { local: 1_000, elsewhere: 30_000 };

/**
 * Opens and closes lanes by what the chain shows: one that waited for money opens when it is there; what a wallet did
 * and the database forgot is noted once it is final, and closes the wallet's lane only if this service never signs it.
 * A halted lane is a person's.
 */
async function watchLanes(services: RelayContext, chain: Chain, view: ChainView, memory: RelayMemory): Promise<void> {
  for (const lane of await listLanes(services.db, chain.id)) {
    const wallet = view.wallets.get(lane.address);
    if (!wallet) continue;
    const facts = { chain: chain.name, wallet: lane.address };
    const count = wallet.finalNonce;
    const forgot = count !== null && (count > lane.nextNonce || (lane.found !== null && lane.found < count));
    if (lane.state !== "halted" && count !== null && (forgot || lane.state === "reconcile"))
      await lookForFound(services, chain, lane, count, memory);
    if (lane.state === "paused_funds" && wallet.balanceWei - lane.reservedWei >= lane.neededWei) {
      services.log.info({ ...facts, balance: wallet.balanceWei }, "a wallet has funds again");
      await openFunded(services, chain, lane);
    }
  }
}

/**
 * What cannot be read keeps nothing else from being done, and closes nothing: a wallet whose chain is ahead gives out no
 * nonce before its transactions were read (`takeBasis`).
 */
async function lookForFound(
  services: RelayContext,
  chain: Chain,
  lane: Lane,
  count: bigint,
  { lookedForFound }: RelayMemory,
): Promise<void> {
  const waitMs = chain.local ? lookAgainMs.local : lookAgainMs.elsewhere;
  if (performance.now() - (lookedForFound.get(lane.address) ?? Number.NEGATIVE_INFINITY) < waitMs) return;
  lookedForFound.set(lane.address, performance.now());
  const facts = { chain: chain.name, wallet: lane.address, count };
  try {
    const found = await importFound(services, chain, lane.address, { count });
    const strange = found.filter(({ explained }) => !explained);
    if (strange.length > 0) services.log.error({ ...facts, strange }, "foreign transactions from the paying wallet");
  } catch (error) {
    services.log.error({ ...facts, ...loggable(error) }, "what the wallet did beside the database cannot be read");
  }
}

async function openFunded(services: RelayContext, chain: Chain, lane: Lane): Promise<void> {
  await services.db
    .updateTable("service.lane")
    .set({ state: "open", needed_wei: null })
    .where("chain_id", "=", chain.id)
    .where("addr", "=", toBytes(lane.address))
    .where("state", "=", "paused_funds")
    .where("next_nonce", "=", lane.nextNonce)
    .execute();
}
