import { setTimeout as sleep } from "node:timers/promises";
import type { Address } from "viem";
import { endableStream } from "../endable-stream.ts";
import type { Services } from "../services.ts";
import { getPublicSale, isSameSale, type PublicSale } from "./public-sale.ts";

const pollMs = 1_000;
const watchMs = 30 * 60_000;

/**
 * The state of a collection's sale, now and after each change, until half an hour has passed or nobody listens any more.
 * All who watch one collection in one process cost its node as much as one of them.
 *
 * @param watcher whose streams are counted together: an account, or `address:…` of a client without a key.
 * @param admit is called before each further reading: what it refuses is read a second later. The first reading was admitted
 *   with the operation.
 * @throws ServiceError as `getPublicSale`; with too many streams what `StreamPermits` throws. A node that is silent later
 *   ends nothing: the state is told when it answers again.
 */
export async function watchSale(
  services: Services,
  watcher: string,
  input: { chain: string; collection: Address },
  admit: (calls: number) => Promise<void>,
): Promise<AsyncGenerator<PublicSale, void>> {
  const release = services.auth.streams.take(watcher);
  try {
    const first = await getPublicSale(services, input, { owner: watcher, admit: async () => undefined });
    const read = async () => await getPublicSale(services, input, { owner: watcher, admit });
    return endableStream((signal) => follow(read, first, signal), release);
  } catch (error) {
    release();
    throw error;
  }
}

async function* follow(
  read: () => Promise<PublicSale>,
  first: PublicSale,
  signal: AbortSignal,
): AsyncGenerator<PublicSale, void> {
  const end = performance.now() + watchMs;
  let seen = first;
  yield seen;
  while (performance.now() < end) {
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const now = await read().catch(() => seen);
    if (isSameSale(now, seen)) continue;
    seen = now;
    yield seen;
  }
}
