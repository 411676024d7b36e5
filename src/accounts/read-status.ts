import { sql } from "kysely";
import { explainFailure } from "../config/explain-failure.ts";
import { clockLead, clockToleranceSeconds, clockTrouble } from "../db/pool/clock.ts";
import type { ReplicaStatus } from "../db/replicas/replica.ts";
import type { Nodes } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import type { SignerTrouble } from "../signing/trouble.ts";
import { isDeployable } from "../transactions/chain/context.ts";
import type { ChainTrouble } from "./troubles.ts";

export interface ChainStatus {
  chain: string;
  chainId: number;
  /** The last indexed block; null before the first. */
  indexedBlock: string | null;
  indexedAt: string | null;
  /** Seconds since that block's timestamp; 0 while the index is at its node's head: nothing is missing then. */
  lagSeconds: number | null;
  /** Blocks between the index and its node's head; null while no node reports its head. */
  lagBlocks: number | null;
  /** Since the indexer last polled. */
  checkedSecondsAgo: number | null;
  /** Since a node last reported its head. */
  nodeSeenSecondsAgo: number | null;
  /** Since the index last took in a block; 0 while it has reached its node's head. */
  standsSeconds: number | null;
  /** Why a stalled index does not move; null while it moves. `indexer`: no cause outside the indexer is visible. */
  waitsFor: "processor" | "nodes" | "database" | "indexer" | null;
  /**
   * Parts of the chain's headers that cannot prove logs, so that the index relies on agreeing endpoints instead:
   * `blooms` (logsBloom), `receipts` (receiptsRoot), `positions` (transaction indexes have gaps).
   */
  unproven: ("blooms" | "receipts" | "positions")[];
  /**
   * The index's endpoints in the order of `RPC_URL_<CHAIN>`, without websockets. `rests`: it failed and is asked last.
   * `contradicts`: it serves another chain or history. `blocksOfLogs`: its limit for a log query; null: none seen.
   */
  endpoints: {
    state: "used" | "rests" | "contradicts";
    blocksOfLogs: number | null;
    /** The node's message, without addresses and keys. The classes are in docs/indexing.md. */
    lastFault: { class: string; at: string; words: string } | null;
  }[];
  /** Final blocks compared with another endpoint's logs; logs the index lacks, and their first and last block. */
  sampled: { blocks: number; missingLogs: number; firstBlock: string | null; lastBlock: string | null };
  /** How many endpoints must agree on a block before a deployment counts as final. */
  quorum: number;
  walletStates: { wallet: string; state: string; nextNonce: string; open: number }[];
  /**
   * The wallets configured here. `hasRole` is null if no worker has read it in the last minute; `externalTransactions`
   * counts those sent by another installation.
   */
  wallets: { wallet: string; hasRole: boolean | null; externalTransactions: number }[];
  /** Deployments and updates that are not final yet, by state. */
  queue: Record<string, number>;
  /** Those of them that wait, by reason: `fee`, `budget`, `balance`, `wallet` and so on. */
  held: Record<string, number>;
  oldestWaitingSeconds: number | null;
  /**
   * What the chain's logs reported but the index does not list, over at most 100,000 contracts: tokens of withheld
   * ranges, blocks in which a contract moved too many tokens, and undecodable logs.
   */
  leftOut: { withheldTokens: number; suspendedBlocks: number; undecodableLogs: number };
  troubles: ChainTrouble[];
}

export interface ServiceStatus {
  /** Refused: it answers but denies this process access; the log says what is missing. */
  database: "ok" | "unreachable" | "refused";
  /** By how many seconds this process's clock is ahead of the database's, and whether that is too much. */
  clock: { aheadSeconds: number | null; wrong: boolean };
  /**
   * What signs the workers' transactions, and its trouble. Without a kind: no signing worker has reported in the last
   * minute.
   */
  signer: { kind: "in_process" | "signer" | "web3signer" | null; trouble: SignerTrouble | null };
  /** Standbys this process reads from. One with a trouble gets no reads; the others or the primary answer. */
  replicas: ReplicaStatus[];
  chains: ChainStatus[];
  /** Tokens whose metadata is pending or failed; 100000 means that many or more. */
  metadata: Record<string, number>;
  /** Uploads that are not pinned. */
  pins: Record<string, number>;
}

/** An indexer reports every few seconds, so this long without a report is a stall. */
const stalledSeconds = 120;
const stuckSeconds = 600;
/** A healthy node is polled every few seconds. */
const unseenSeconds = 10;
/** The most contracts whose flags one answer sums up. */
const mostContracts = 100_000;

interface Row {
  now: number;
  heads: { chain_id: number; block_number: number; block_timestamp: number }[];
  freshness: {
    chain_id: number;
    lag: number;
    checked: number;
    seen: number;
    stands: number;
    waits_for: ChainStatus["waitsFor"];
    fault: boolean;
    agree: boolean | null;
    unproven: ChainStatus["unproven"];
    endpoints: ChainStatus["endpoints"];
  }[];
  samples: {
    chain_id: number;
    blocks: number;
    missing: number;
    first_missing: number | null;
    last_missing: number | null;
  }[];
  wallet_states: { chain_id: number; wallet: string; state: string; next_nonce: string; open: number }[];
  roles: { chain_id: number; wallet: string; has_role: boolean }[];
  shared: { chain_id: number; wallet: string; transactions: number; recent: boolean }[];
  queue: { chain_id: number; state: string; items: number; oldest_seconds: number }[];
  held: { chain_id: number; reason: string; items: number }[];
  flags: { chain_id: number; flag: string; items: number }[];
  signer: ServiceStatus["signer"] | null;
  metadata: { status: string; items: number }[];
  pins: { state: string; items: number }[];
}

/** Callers within this time share one answer, so that anybody may ask without a key. */
const keptMs = 1_000;
const kept = new WeakMap<Services, { until: number; status: Promise<ServiceStatus> }>();

/** The service's status, for operators and load balancers; contains nothing of any account. At most a second old. */
export async function readStatus(services: Services): Promise<ServiceStatus> {
  const known = kept.get(services);
  const now = performance.now();
  if (known && known.until > now) return await known.status;
  const status = askStatus(services);
  kept.set(services, { until: now + keptMs, status });
  return await status;
}

async function askStatus(services: Services): Promise<ServiceStatus> {
  let row: Row | null = null;
  let ahead: number | null = null;
  let database: ServiceStatus["database"] = "ok";
  try {
    const askedAt = Date.now();
    row = await askRow(services);
    ahead = clockLead(row.now, askedAt, Date.now());
  } catch (error) {
    const cause = explainFailure(error, { DATABASE_URL: services.config.databaseUrl });
    services.logOnce.write("warn", `status ${cause}`, { cause }, "the state of the service cannot be read");
    database = isRefusal(error) ? "refused" : "unreachable";
  }
  const signer = row?.signer ?? { kind: null, trouble: null };
  return {
    signer,
    database,
    clock: { aheadSeconds: ahead, wrong: ahead !== null && clockTrouble(ahead) !== null },
    replicas: services.index.pool.replicas(),
    chains: services.chains.map((chain) => chainStatus(services, chain, row, signer)),
    metadata: Object.fromEntries((row?.metadata ?? []).map(({ status, items }) => [status, items])),
    pins: Object.fromEntries((row?.pins ?? []).map(({ state, items }) => [state, items])),
  };
}

/** One statement. */
async function askRow({ db, chains }: Services): Promise<Row> {
  const { rows } = await sql<Row>`
    SELECT extract(epoch FROM clock_timestamp())::float8 AS now,
      (SELECT coalesce(json_agg(h), '[]') FROM (SELECT chain_id, block_number, block_timestamp FROM nft.heads) h) AS heads,
      (SELECT coalesce(json_agg(f), '[]') FROM (
        SELECT chain_id, greatest(node_head - indexed_block, 0) AS lag, providers_agree AS agree,
          extract(epoch FROM clock_timestamp() - checked_at) AS checked,
          extract(epoch FROM clock_timestamp() - node_seen_at) AS seen,
          CASE WHEN node_head > indexed_block THEN extract(epoch FROM clock_timestamp() - progressed_at) ELSE 0 END AS stands,
          waits_for, node_fault IS NOT NULL AS fault, unproven, endpoints FROM service.chain_freshness) f) AS freshness,
      (SELECT coalesce(json_agg(s), '[]') FROM (
        SELECT l.chain_id, l.blocks, m.* FROM service.log_sample l JOIN service.chain_freshness USING (schema_name),
          LATERAL (SELECT coalesce(sum(value::bigint), 0) AS missing, min(key::bigint) AS first_missing,
            max(key::bigint) AS last_missing FROM jsonb_each_text(l.missing)) m) s) AS samples,
      (SELECT coalesce(json_agg(l), '[]') FROM (
        SELECT chain_id, '0x' || encode(addr, 'hex') AS wallet, state, next_nonce::text, (SELECT count(*) FROM service.nonce_reservation s
          WHERE s.chain_id = w.chain_id AND s.addr = w.addr AND s.state = 'open') AS open
        FROM service.relayer_wallet w ORDER BY addr) l) AS wallet_states,
      (SELECT coalesce(json_agg(r), '[]') FROM (
        SELECT chain_id, '0x' || encode(addr, 'hex') AS wallet, has_role FROM service.wallet_role
        WHERE checked_at > clock_timestamp() - interval '1 minute') r) AS roles,
      (SELECT coalesce(json_agg(s), '[]') FROM (
        SELECT chain_id, '0x' || encode(addr, 'hex') AS wallet, count(*) AS transactions,
          max(seen_at) > clock_timestamp() - interval '1 day' AS recent
        FROM service.external_transaction WHERE NOT explained GROUP BY chain_id, addr) s) AS shared,
      (SELECT coalesce(json_agg(q), '[]') FROM service.work_queue q) AS queue,
      (SELECT coalesce(json_agg(h), '[]') FROM service.held_requests h) AS held,
      (SELECT coalesce(json_agg(f), '[]') FROM (
        SELECT c.chain_id, f.flag, f.items FROM unnest(${chains.map(({ id }) => id)}::integer[]) AS c (chain_id)
        CROSS JOIN LATERAL (SELECT flag, sum(count) AS items FROM (
          SELECT n.flag, n.count FROM nft.contract_flags n WHERE n.chain_id = c.chain_id LIMIT ${mostContracts}) counted
          GROUP BY flag) f) f) AS flags,
      (SELECT to_json(s) FROM (SELECT kind, trouble FROM service.signer_state
        WHERE seen_at > clock_timestamp() - interval '1 minute' ORDER BY trouble IS NULL, seen_at DESC LIMIT 1) s) AS signer,
      (SELECT coalesce(json_agg(m), '[]') FROM service.metadata_queue m) AS metadata,
      (SELECT coalesce(json_agg(p), '[]') FROM service.pin_queue p) AS pins`.execute(db);
  const [row] = rows;
  if (!row) throw new Error("a statement of one row gave none");
  return row;
}

function chainStatus(
  services: Services,
  chain: Services["chains"][number],
  row: Row | null,
  signer: ServiceStatus["signer"],
): ChainStatus {
  const mine = <T extends { chain_id: number }>(rows: readonly T[] | undefined) =>
    (rows ?? []).filter((item) => item.chain_id === chain.id);
  const [head] = mine(row?.heads);
  const [fresh] = mine(row?.freshness);
  const [sample] = mine(row?.samples);
  const blockText = (block: number | null | undefined) =>
    block === null || block === undefined ? null : String(block);
  const walletStates = mine(row?.wallet_states);
  const roles = mine(row?.roles);
  const shared = mine(row?.shared);
  const wallets = walletsOf(services, chain);
  const queue = mine(row?.queue);
  const flags = mine(row?.flags);
  const flagged = (name: string) => flags.find(({ flag }) => flag === name)?.items ?? 0;
  const waiting = queue.filter(({ state }) => state === "queued" || state === "held");
  const timestamp = head?.block_timestamp ?? null;
  const lagBlocks = fresh && fresh.seen <= unseenSeconds ? fresh.lag : null;
  const age = timestamp === null ? null : Math.max(0, Math.round((row?.now ?? 0) - timestamp));
  const status = {
    chain: chain.name,
    chainId: chain.id,
    indexedBlock: head ? String(head.block_number) : null,
    indexedAt: timestamp === null ? null : new Date(timestamp * 1000).toISOString(),
    lagSeconds: lagBlocks === 0 ? 0 : age,
    lagBlocks,
    checkedSecondsAgo: fresh ? Math.max(0, Math.round(fresh.checked)) : null,
    nodeSeenSecondsAgo: fresh ? Math.max(0, Math.round(fresh.seen)) : null,
    standsSeconds: fresh ? Math.max(0, Math.round(fresh.stands)) : null,
    waitsFor: fresh?.waits_for ?? null,
    unproven: fresh?.unproven ?? [],
    // Hosts are for the operator only: `mintyard doctor` shows them.
    endpoints: (fresh?.endpoints ?? []).map(({ state, blocksOfLogs, lastFault }) => ({
      state,
      blocksOfLogs,
      lastFault,
    })),
    sampled: {
      blocks: sample?.blocks ?? 0,
      missingLogs: sample?.missing ?? 0,
      firstBlock: blockText(sample?.first_missing),
      lastBlock: blockText(sample?.last_missing),
    },
    quorum: chain.relay.quorum,
    walletStates: walletStates.map(({ wallet, state, next_nonce, open }) => ({
      wallet,
      state,
      nextNonce: next_nonce,
      open,
    })),
    wallets: wallets.map((address) => ({
      wallet: address,
      hasRole: roles.find(({ wallet }) => wallet === address)?.has_role ?? null,
      externalTransactions: shared.find(({ wallet }) => wallet === address)?.transactions ?? 0,
    })),
    queue: Object.fromEntries(queue.map(({ state, items }) => [state, items])),
    held: Object.fromEntries(mine(row?.held).map(({ reason, items }) => [reason, items])),
    oldestWaitingSeconds: waiting.length ? Math.round(Math.max(...waiting.map((item) => item.oldest_seconds))) : null,
    leftOut: {
      withheldTokens: flagged("withheld"),
      suspendedBlocks: flagged("suspended"),
      undecodableLogs: flagged("undecodable"),
    },
  };
  const troubles = row
    ? troublesOf(status, services.relay.nodes(chain), services.config.maxIndexLagBlocks, fresh ?? null)
    : [];
  if (shared.some(({ wallet, recent }) => recent && wallets.includes(wallet))) troubles.push("wallet_shared");
  // A local chain's clock is moved on purpose.
  if (row && !chain.local && timestamp !== null && timestamp - row.now > clockToleranceSeconds)
    troubles.push("block_from_future");
  if (isDeployable(chain)) troubles.push(...signerTroubles(row, signer));
  return { ...status, troubles };
}

function signerTroubles(row: Row | null, { kind, trouble }: ServiceStatus["signer"]): ChainTrouble[] {
  if (trouble !== null) return [`signer_${trouble}`];
  return row && kind === null ? ["worker_missing"] : [];
}

/** A privilege, schema, database or password is missing (classes 28, 3D, 3F and 42 of PostgreSQL's error codes). */
function isRefusal(error: unknown): boolean {
  return /^(28|3D|3F|42)/.test(String((error as { code?: unknown }).code ?? ""));
}

/** Empty if the wallets' keys cannot be read: requests and the worker report why, and the rest is reported. */
function walletsOf(services: Services, chain: Services["chains"][number]): string[] {
  try {
    return isDeployable(chain) ? services.relay.signers(chain).map(({ address }) => address.toLowerCase()) : [];
  } catch {
    return [];
  }
}

function troublesOf(
  status: Omit<ChainStatus, "troubles">,
  nodes: Nodes,
  maxLag: number,
  fresh: Row["freshness"][number] | null,
): ChainTrouble[] {
  const troubles = new Set<ChainTrouble>();
  if (nodes.areUseless) troubles.add("nodes_useless");
  if (status.indexedBlock === null) troubles.add("index_missing");
  if (Math.max(status.checkedSecondsAgo ?? 0, status.standsSeconds ?? 0) > stalledSeconds)
    troubles.add("index_stalled");
  if (fresh?.fault && fresh.seen > unseenSeconds) troubles.add("nodes_unreachable");
  if (status.lagBlocks !== null && status.lagBlocks > maxLag) troubles.add("index_behind");
  if (status.sampled.missingLogs > 0) troubles.add("index_incomplete");
  if (fresh?.agree === false) troubles.add("nodes_disagree");
  for (const { state } of status.walletStates) if (state !== "open") troubles.add(`wallet_${state}` as ChainTrouble);
  if (status.wallets.some(({ hasRole }) => hasRole === false)) troubles.add("wallet_without_role");
  if ((status.oldestWaitingSeconds ?? 0) > stuckSeconds) troubles.add("queue_stuck");
  return [...troubles];
}
