import type { Chain } from "../../chains.ts";
import type { Rounds } from "../../rounds.ts";
import type { RelayContext } from "../chain/context.ts";
import { isDeployable } from "../chain/deployable.ts";
import { loggable } from "../chain/node-failure.ts";
import { calls, parseQuantity } from "../chain/reads.ts";
import type { Node } from "../chain/rpc-nodes.ts";
import type { RelayFigures } from "../store/relay-figures.ts";

/** Two calls for each endpoint: 11,520 a day, and half as many again of the first one: little beside what others ask. */
const periodMs = { local: 2_000, elsewhere: 15_000 };

/**
 * Asks every endpoint for its head until the signal, also those that nobody needs while a better one answers: a spare
 * that has been dead for weeks is found out when it is needed, else. So for the wallets' balances, which the relay reads while
 * it has work. Decides nothing; it is for metrics.
 */
export async function watchEndpoints(services: RelayContext, rounds: Rounds): Promise<void> {
  const { chains, log, relay } = services;
  await Promise.all(
    chains
      .filter(({ rpcUrls }) => rpcUrls.length > 0)
      .map(async (chain) => {
        const round = async () => {
          await Promise.all([
            pollEndpoints(relay.nodes(chain).every, chain, relay.figures),
            isDeployable(chain) ? pollBalances(services, chain) : null,
          ]);
          return "soon" as const;
        };
        const pace = { periodMs: chain.local ? periodMs.local : periodMs.elsewhere };
        await rounds.repeat(round, pace, { log, failing: "the endpoints could not be looked at", fields: loggable });
      }),
  );
}

/** Records what each endpoint says now. Never fails. */
async function pollEndpoints(nodes: readonly Node[], chain: Chain, figures: RelayFigures): Promise<void> {
  await Promise.all(
    nodes.map(async (node, index) => {
      const asked = performance.now();
      const head = await node
        .ask([{ method: "eth_blockNumber", params: [] }])
        .then(([answer]) => parseQuantity(answer, "a block number"))
        .catch(() => null);
      const host = new URL(chain.rpcUrls[index] ?? "").host;
      const seconds = (performance.now() - asked) / 1_000;
      figures.recordEndpoint({ chain: chain.name, endpoint: String(index), host, head, seconds });
    }),
  );
}

/** Records what the paying wallets have, as the first endpoint that answers reports; what was recorded stays while none does. */
async function pollBalances({ relay }: RelayContext, chain: Chain): Promise<void> {
  const wallets = relay.signers(chain).map(({ address }) => address);
  await relay
    .nodes(chain)
    .first((node) => node.ask(wallets.map((wallet) => calls.balance(wallet))))
    .then((answers) => {
      for (const [index, wallet] of wallets.entries())
        relay.figures.recordBalance(chain, wallet, parseQuantity(answers[index], "a balance"));
    })
    .catch(() => undefined);
}
