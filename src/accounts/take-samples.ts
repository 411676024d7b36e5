import { sql } from "kysely";
import type { Chain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import type { Rounds } from "../rounds.ts";
import { loggable } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { isDeployable } from "../transactions/chain/context.ts";
import { undecidedStates } from "../transactions/lifecycle.ts";
import { pollBalances } from "../transactions/track/watch.ts";
import { type ChainStatus, readStatus } from "./read-status.ts";

/** Seconds between samples. Local chains are sampled more often, because developers watch them for minutes only. */
export const samplePeriodSeconds = ({ local }: Pick<Chain, "local">) => (local ? 30 : 300);

/** How long samples are kept: twice the range of a plot. */
const keptHours = 48;

/**
 * Samples each chain and each paying wallet, at once and then once per period, until the signal. Several workers share
 * one sample per period.
 */
export async function runSampling(services: Services, rounds: Rounds): Promise<void> {
  const { log } = services;
  const chains = services.chains.filter(({ rpcUrls }) => rpcUrls.length > 0);
  const byPeriod = Map.groupBy(chains, samplePeriodSeconds);
  await Promise.all(
    [...byPeriod].map(async ([seconds, some]) => {
      const round = async () => {
        await takeSamples(services, some, seconds);
        return "soon" as const;
      };
      const pace = { periodMs: seconds * 1_000 };
      await rounds.repeat(round, pace, { log, failing: "no sample could be taken", fields: loggable });
    }),
  );
}

/**
 * Samples the chains, and the wallets of those chains that no other worker has sampled in this period. Nodes are asked
 * only for the wallets' balances.
 *
 * @param seconds of the period.
 * @throws Error while the database does not answer.
 */
export async function takeSamples(services: Services, chains: readonly Chain[], seconds: number): Promise<void> {
  const { database, chains: known } = await readStatus(services);
  if (database !== "ok") throw new Error(`the database is ${database}`);
  const figures = known.filter(({ chain }) => chains.some(({ name }) => name === chain));
  const taken = await writeChains(services, figures, seconds);
  const mine = chains.filter(({ id }) => taken.some(({ chain_id }) => chain_id === id));
  await Promise.all(
    mine.filter(isDeployable).map(async (chain) => {
      const balances = await pollBalances(services, chain);
      const at = taken.find(({ chain_id }) => chain_id === chain.id)?.at;
      if (!at || balances.size === 0) return;
      await sql`
        INSERT INTO service.wallet_sample (chain_id, addr, at, wei)
        SELECT ${chain.id}::integer, addr, ${at}::timestamptz, wei
        FROM unnest(${[...balances.keys()].map(toBytes)}::bytea[], ${[...balances.values()].map(String)}::numeric[]) AS w (addr, wei)
        ON CONFLICT DO NOTHING`.execute(services.db);
    }),
  );
}

/** @returns the chains that this call sampled, with the start of their period. Also deletes old samples. */
async function writeChains({ db }: Services, figures: readonly ChainStatus[], seconds: number) {
  const column = <T>(of: (figure: ChainStatus) => T) => figures.map(of);
  const { rows } = await sql<{ chain_id: number; at: string }>`
    WITH old AS (SELECT statement_timestamp() - ${`${keptHours} hours`}::interval AS at),
      gone AS (DELETE FROM service.chain_sample s USING old WHERE s.at < old.at),
      gone_wallets AS (DELETE FROM service.wallet_sample s USING old WHERE s.at < old.at)
    INSERT INTO service.chain_sample (chain_id, at, lag_seconds, lag_blocks, waiting, oldest_seconds)
    SELECT chain_id, date_bin(${`${seconds} seconds`}::interval, statement_timestamp(), 'epoch'), lag_seconds, lag_blocks, waiting, oldest
    FROM unnest(${column(({ chainId }) => chainId)}::integer[], ${column(({ lagSeconds }) => lagSeconds)}::bigint[],
      ${column(({ lagBlocks }) => lagBlocks)}::bigint[], ${column(waitingOf)}::bigint[],
      ${column(({ oldestWaitingSeconds }) => oldestWaitingSeconds)}::bigint[]) AS f (chain_id, lag_seconds, lag_blocks, waiting, oldest)
    ON CONFLICT DO NOTHING RETURNING chain_id, at::text`.execute(db);
  return rows;
}

/** Requests without an outcome yet: neither confirmed nor ended. */
function waitingOf({ queue }: ChainStatus): number {
  return undecidedStates.reduce((sum, state) => sum + (queue[state] ?? 0), 0);
}
