import { sql } from "kysely";
import type { ReplicaStatus } from "../db/replica.ts";
import type { Services } from "../services.ts";

/** What of a chain is not as it should be; none of them keeps this process from answering. */
export type Trouble =
  /** No block of it is indexed yet. */
  | "index_missing"
  /** Its indexer has not reported lately: it or the chain's nodes are away. */
  | "index_stalled"
  /** More blocks behind its node than `MAX_INDEX_LAG_BLOCKS`. */
  | "index_behind"
  /** Its endpoints named different final blocks. */
  | "nodes_disagree"
  /** A paying wallet signs nothing: the state of its lane says why. */
  | "lane_paused_funds"
  | "lane_paused_fee"
  | "lane_reconcile"
  | "lane_halted"
  /** A deployment has waited for its signature for ten minutes. */
  | "queue_stuck";

export interface ChainStatus {
  chain: string;
  chainId: number;
  /** Last block the index has taken in; null before the first. */
  indexedBlock: string | null;
  indexedAt: string | null;
  lagSeconds: number | null;
  /** Blocks between the index and its node's head, when the indexer looked last. */
  lagBlocks: number | null;
  checkedSecondsAgo: number | null;
  /** Endpoints that have to agree on a block before a deployment counts as final. */
  quorum: number;
  lanes: { wallet: string; state: string; nextNonce: string; open: number }[];
  /** Deployments and updates that are not final, by state. */
  queue: Record<string, number>;
  oldestWaitingSeconds: number | null;
  troubles: Trouble[];
}

export interface ServiceStatus {
  database: "ok" | "unreachable";
  /** Standbys this process reads from; one with a trouble gets no reads, and the others or the primary answer. */
  replicas: ReplicaStatus[];
  chains: ChainStatus[];
  /** Tokens whose metadata waits or failed; 100000 stands for more. */
  metadata: Record<string, number>;
  /** Uploads that are not pinned. */
  pins: Record<string, number>;
}

/** An indexer reports every few seconds. */
const stalledSeconds = 120;
const stuckSeconds = 600;

interface Row {
  heads: { chain_id: number; block_number: number; block_timestamp: number }[];
  freshness: { chain_id: number; lag: number; checked: number; agree: boolean | null }[];
  lanes: { chain_id: number; wallet: string; state: string; next_nonce: string; open: number }[];
  queue: { chain_id: number; state: string; items: number; oldest_seconds: number }[];
  metadata: { status: string; items: number }[];
  pins: { state: string; items: number }[];
}

/** How the service is: for operators and load balancers; holds nothing of any account. One statement. */
export async function readStatus(services: Services): Promise<ServiceStatus> {
  const row = await sql<Row>`
    SELECT
      (SELECT coalesce(json_agg(h), '[]') FROM (SELECT chain_id, block_number, block_timestamp FROM nft.heads) h) AS heads,
      (SELECT coalesce(json_agg(f), '[]') FROM (
        SELECT chain_id, greatest(node_head - indexed_block, 0) AS lag, providers_agree AS agree,
          extract(epoch FROM clock_timestamp() - checked_at) AS checked FROM service.chain_freshness) f) AS freshness,
      (SELECT coalesce(json_agg(l), '[]') FROM (
        SELECT chain_id, '0x' || encode(addr, 'hex') AS wallet, state, next_nonce::text, (SELECT count(*) FROM service.slot s
          WHERE s.chain_id = lane.chain_id AND s.addr = lane.addr AND s.state = 'open') AS open
        FROM service.lane ORDER BY addr) l) AS lanes,
      (SELECT coalesce(json_agg(q), '[]') FROM service.work_queue q) AS queue,
      (SELECT coalesce(json_agg(m), '[]') FROM service.metadata_queue m) AS metadata,
      (SELECT coalesce(json_agg(p), '[]') FROM service.pin_queue p) AS pins`
    .execute(services.db)
    .then(
      ({ rows }) => rows[0] ?? null,
      () => null,
    );
  return {
    database: row ? "ok" : "unreachable",
    replicas: services.index.pool.replicas(),
    chains: services.chains.map((chain) => chainStatus(services, chain, row)),
    metadata: Object.fromEntries((row?.metadata ?? []).map(({ status, items }) => [status, items])),
    pins: Object.fromEntries((row?.pins ?? []).map(({ state, items }) => [state, items])),
  };
}

function chainStatus(services: Services, chain: Services["chains"][number], row: Row | null): ChainStatus {
  const mine = <T extends { chain_id: number }>(rows: readonly T[] | undefined) =>
    (rows ?? []).filter((item) => item.chain_id === chain.id);
  const [head] = mine(row?.heads);
  const [fresh] = mine(row?.freshness);
  const lanes = mine(row?.lanes);
  const queue = mine(row?.queue);
  const waiting = queue.filter(({ state }) => state === "queued" || state === "held");
  const timestamp = head?.block_timestamp ?? null;
  const status = {
    chain: chain.name,
    chainId: chain.id,
    indexedBlock: head ? String(head.block_number) : null,
    indexedAt: timestamp === null ? null : new Date(timestamp * 1000).toISOString(),
    lagSeconds: timestamp === null ? null : Math.max(0, Math.round(Date.now() / 1000 - timestamp)),
    lagBlocks: fresh?.lag ?? null,
    checkedSecondsAgo: fresh ? Math.max(0, Math.round(fresh.checked)) : null,
    quorum: chain.relay.quorum,
    lanes: lanes.map(({ wallet, state, next_nonce, open }) => ({ wallet, state, nextNonce: next_nonce, open })),
    queue: Object.fromEntries(queue.map(({ state, items }) => [state, items])),
    oldestWaitingSeconds: waiting.length ? Math.round(Math.max(...waiting.map((item) => item.oldest_seconds))) : null,
  };
  return {
    ...status,
    troubles: row ? troublesOf(status, services.config.maxIndexLagBlocks, fresh?.agree ?? null) : [],
  };
}

function troublesOf(status: Omit<ChainStatus, "troubles">, maxLag: number, agree: boolean | null): Trouble[] {
  const troubles = new Set<Trouble>();
  if (status.indexedBlock === null) troubles.add("index_missing");
  if (status.checkedSecondsAgo !== null && status.checkedSecondsAgo > stalledSeconds) troubles.add("index_stalled");
  if (status.lagBlocks !== null && status.lagBlocks > maxLag) troubles.add("index_behind");
  if (agree === false) troubles.add("nodes_disagree");
  for (const { state } of status.lanes) if (state !== "open") troubles.add(`lane_${state}` as Trouble);
  if ((status.oldestWaitingSeconds ?? 0) > stuckSeconds) troubles.add("queue_stuck");
  return [...troubles];
}
