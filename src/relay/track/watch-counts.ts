import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { calls, parseQuantity } from "../chain/reads.ts";
import { listWallets } from "../store/wallets.ts";
import { reconcileNonces } from "../submit/reconcile-nonces.ts";
import type { RelayMemory } from "./loop-steps.ts";
import { refreshWallets } from "./watch-wallets.ts";

/**
 * Notices transactions of a wallet that this database did not send also while no request is under way: then they are
 * read at once, and what they are is recorded (`reconcileNonces`, `refreshWallets`).
 *
 * @throws NodeFault while no endpoint answers.
 */
export async function watchCounts(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<void> {
  const wallets = services.relay.signers(chain).map(({ address }) => address.toLowerCase() as Address);
  const counts = await services.relay
    .nodes(chain)
    .first(async (node) =>
      (await node.ask(wallets.map((wallet) => calls.count(wallet, "latest")))).map((answer) =>
        parseQuantity(answer, "a count"),
      ),
    );
  // Read after the counts: what was given out meanwhile is not taken for somebody else's.
  for (const wallet of await listWallets(services.db, chain.id)) {
    const count = counts[wallets.indexOf(wallet.address)];
    if (count === undefined || count <= wallet.nextNonce || wallet.state !== "open") continue;
    await reconcileNonces(services, chain, wallet.address);
    await refreshWallets(services, chain, memory);
  }
}
