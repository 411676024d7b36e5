import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { loggable } from "../chain/node-failure.ts";
import { type ChainView, readChainView } from "../chain/view.ts";
import { listWallets, nameWallet, type RelayerWallet } from "../store/wallets.ts";
import { importFound } from "./import-found.ts";
import type { RelayMemory } from "./loop-steps.ts";

/**
 * Reads where the chain and the paying wallets stand, and opens and closes them by it. What another round has
 * read a moment ago is taken as it is.
 *
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function refreshWallets(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<ChainView> {
  if (memory.view && performance.now() - memory.view.at < memory.viewMs) return await memory.view.reading;
  const reading = readWallets(services, chain, memory);
  memory.view = { at: performance.now(), reading };
  // A failure is for those who wait for it now; the next round asks again.
  reading.catch(() => {
    if (memory.view?.reading === reading) memory.view = null;
  });
  return await reading;
}

async function readWallets(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<ChainView> {
  const wallets = services.relay.signers(chain).map(({ address }) => address);
  const view = await readChainView(services.relay.nodes(chain), chain, wallets);
  for (const [wallet, { nonce }] of view.wallets) services.relay.wallets.sawMined(nameWallet(chain, wallet), nonce);
  await watchWallets(services, chain, view, memory);
  return view;
}

/** Each look reads the transactions anew. */
const pollMs = { local: 1_000, elsewhere: 30_000 };

/**
 * Opens and closes wallets by what the chain shows: one that waited for money opens when it is there; what a wallet did
 * and the database forgot is recorded once it is final, and closes the wallet only if this service never signs it.
 * A halted wallet is a person's.
 */
async function watchWallets(services: RelayContext, chain: Chain, view: ChainView, memory: RelayMemory): Promise<void> {
  for (const wallet of await listWallets(services.db, chain.id)) {
    const onChain = view.wallets.get(wallet.address);
    if (!onChain) continue;
    const context = { chain: chain.name, wallet: wallet.address };
    const count = onChain.finalNonce;
    const forgot = count !== null && (count > wallet.nextNonce || (wallet.found !== null && wallet.found < count));
    if (wallet.state !== "halted" && count !== null && (forgot || wallet.state === "reconcile"))
      await importNewlyFound(services, chain, wallet, count, memory);
    if (wallet.state === "paused_funds" && onChain.balanceWei - wallet.reservedWei >= wallet.neededWei) {
      services.log.info({ ...context, balance: onChain.balanceWei }, "a wallet has funds again");
      await openFunded(services, chain, wallet);
    }
  }
}

/**
 * What cannot be read keeps nothing else from being done, and closes nothing: a wallet whose chain is ahead gives out no
 * nonce before its transactions were read (`reconcileNonces`).
 */
async function importNewlyFound(
  services: RelayContext,
  chain: Chain,
  wallet: RelayerWallet,
  count: bigint,
  { foundReadAt }: RelayMemory,
): Promise<void> {
  const waitMs = chain.local ? pollMs.local : pollMs.elsewhere;
  if (performance.now() - (foundReadAt.get(wallet.address) ?? Number.NEGATIVE_INFINITY) < waitMs) return;
  foundReadAt.set(wallet.address, performance.now());
  const context = { chain: chain.name, wallet: wallet.address, count };
  try {
    const found = await importFound(services, chain, wallet.address, { count });
    const strange = found.filter(({ explained }) => !explained);
    if (strange.length > 0) services.log.error({ ...context, strange }, "external transactions from the paying wallet");
  } catch (error) {
    services.log.error({ ...context, ...loggable(error) }, "what the wallet did beside the database cannot be read");
  }
}

async function openFunded(services: RelayContext, chain: Chain, wallet: RelayerWallet): Promise<void> {
  await services.db
    .updateTable("service.relayer_wallet")
    .set({ state: "open", needed_wei: null })
    .where("chain_id", "=", chain.id)
    .where("addr", "=", toBytes(wallet.address))
    .where("state", "=", "paused_funds")
    .where("next_nonce", "=", wallet.nextNonce)
    .execute();
}
