import type { Services } from "../services.ts";

/** How far the index of a chain had come when the answer was started: the answer includes at least this block. */
export interface ChainFreshness {
  block: string;
  /** The block's hash from the indexer's journal of the chain; null if there is no journal. */
  hash: string | null;
  /** The block's own timestamp, RFC 3339. */
  timestamp: string;
  lagSeconds: number;
}

export type Freshness = Record<string, ChainFreshness>;

type HeadRow = { chain_id: number; block_number: bigint; block_timestamp: bigint; hash: string | null };

/** The freshness that answers show within one second of the clock. */
export interface ShownFreshness {
  second: number;
  freshness: Freshness;
  /** The freshness as JSON text, for `extensions.freshness`. */
  text: string;
}

interface Kept {
  /** The last read, and when it was started. */
  rows: HeadRow[];
  askedAt: number;
  asking: Promise<void> | null;
  /** Made from `rows`. */
  shown: ShownFreshness | null;
}

/** An older head is still a valid lower bound, so it is not read for every answer. */
const keptMs = 500;
/** From this age it is re-read in the background, so that no request waits for it. */
const renewedMs = 250;
const kept = new WeakMap<Services, Kept>();

/** The freshness of each indexed chain of this installation. Never fails: without a database it is empty. */
export async function readFreshness(services: Services): Promise<Freshness> {
  return (await readShownFreshness(services)).freshness;
}

/** The freshness if it is known without waiting; null: it has to be read. */
export function knownFreshness(services: Services): ShownFreshness | null {
  const heads = headsOf(services);
  const age = performance.now() - heads.askedAt;
  if (age >= renewedMs) heads.asking ??= ask(services, heads);
  return age >= keptMs ? null : shownAt(services, heads);
}

/** The freshness as headers of `/v0`. */
export function indexedHeaders(head: ChainFreshness | undefined): Record<string, string> {
  if (!head) return {};
  const { block, hash, timestamp, lagSeconds } = head;
  return {
    "x-indexed-at": timestamp,
    "x-indexed-block": block,
    ...(hash === null ? {} : { "x-indexed-hash": hash }),
    "x-indexed-lag-seconds": String(lagSeconds),
  };
}

/** `readFreshness` with its JSON text. */
export async function readShownFreshness(services: Services): Promise<ShownFreshness> {
  const known = knownFreshness(services);
  if (known) return known;
  const heads = headsOf(services);
  await heads.asking;
  return shownAt(services, heads);
}

function headsOf(services: Services): Kept {
  const known = kept.get(services);
  if (known) return known;
  const heads: Kept = { rows: [], askedAt: Number.NEGATIVE_INFINITY, asking: null, shown: null };
  kept.set(services, heads);
  return heads;
}

function shownAt(services: Services, heads: Kept): ShownFreshness {
  const second = Math.round(Date.now() / 1000);
  if (heads.shown?.second === second) return heads.shown;
  const freshness = freshnessAt(services, heads.rows, second);
  heads.shown = { second, freshness, text: JSON.stringify(freshness) };
  return heads.shown;
}

async function ask(services: Services, heads: Kept): Promise<void> {
  const askedAt = performance.now();
  try {
    const answers = await services.index.pool.askEach<HeadRow>({
      text: `SELECT chain_id, block_number, block_timestamp, (SELECT j.hash FROM service.chain_block j
        WHERE j.chain_id = heads.chain_id AND j.number = heads.block_number) AS hash FROM nft.heads`,
    });
    heads.rows = leastOf(answers);
  } catch {
    heads.rows = [];
  }
  heads.askedAt = askedAt;
  heads.asking = null;
  heads.shown = null;
}

/** The lowest head of each chain among the database servers: whichever of them answers a read has that block. */
function leastOf([first = [], ...others]: readonly HeadRow[][]): HeadRow[] {
  return first.flatMap((head) => {
    const same = others.map((rows) => rows.find((row) => row.chain_id === head.chain_id));
    if (same.includes(undefined)) return [];
    return [same.reduce<HeadRow>((least, row) => (row && row.block_number < least.block_number ? row : least), head)];
  });
}

function freshnessAt(services: Services, rows: readonly HeadRow[], second: number): Freshness {
  return Object.fromEntries(
    services.chains.flatMap(({ id, name }) => {
      const head = rows.find((row) => row.chain_id === id);
      if (!head) return [];
      const timestamp = new Date(Number(head.block_timestamp) * 1000).toISOString();
      const lagSeconds = Math.max(0, second - Number(head.block_timestamp));
      return [[name, { block: String(head.block_number), hash: head.hash, timestamp, lagSeconds }]];
    }),
  );
}
