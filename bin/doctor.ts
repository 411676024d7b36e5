import pg from "pg";
import type { Chain } from "../src/chains.ts";
import { type Config, loadConfig } from "../src/config/config.ts";
import { DiskRoom } from "../src/db/pool/disk-room.ts";
import { createDatabase, createPool } from "../src/db/pool/pool.ts";
import { readReplication } from "../src/db/replicas/replication.ts";
import { checkInvariants, type Finding } from "../src/indexing/invariants.ts";
import { sampleOwners } from "../src/indexing/sample-owners.ts";
import { openCars } from "../src/ipfs/content-store.ts";
import { readContentHealth } from "../src/ipfs/run-checks.ts";
import { openSigning } from "../src/processes/create-services.ts";
import { SignerError, signerActions } from "../src/signing/trouble.ts";
import { createLogger } from "../src/telemetry/log.ts";
import { isDeployable } from "../src/transactions/chain/context.ts";
import { blocksAreOfThePast, clocksAgree, endpointsAnswer, factoriesStand } from "./check-surroundings.ts";
import { checkWallets } from "./doctor-wallets.ts";

/**
 * Checks the index of every live chain against its invariants, reports the results of the checks of stored content, and
 * prints each fault with examples and its remedy.
 *
 * @returns 0 when all invariants hold, else 1, so that it can be a cron job.
 */
export async function doctor(samples = 300): Promise<number> {
  const config = loadConfig();
  const client = new pg.Client({ connectionString: config.databaseUrl, application_name: "mintyard-doctor" });
  await client.connect();
  try {
    const { rows } = await client.query<{ chain: string; schema: string }>(
      "SELECT chain_id::text AS chain, schema_name AS schema FROM nft.index_version WHERE live ORDER BY chain_id",
    );
    if (rows.length === 0) say("no chain is indexed yet: start one with npm run indexer -- --chain NAME");
    let faults = rows.length === 0 ? 1 : 0;
    for (const { chain: id, schema } of rows) {
      const chain = config.chains.find((candidate) => candidate.id === Number(id));
      await sayFreshness(client, id, chain?.name ?? `chain ${id}`);
      // One snapshot for all invariants: between two statements the indexer may change rows.
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      const findings = await checkInvariants(client, Number(id), schema);
      if (chain) findings.push(await ownersOnChain(client, chain, samples));
      await client.query("COMMIT");
      for (const finding of findings) sayFinding(finding);
      faults += findings.filter((finding) => finding.faults).length;
    }
    await sayReplication(client);
    const others = [
      ...[await storedContent(config.databaseUrl), await storeAnswers(config), await roomLeft(config)],
      await signerHolds(config),
      ...[
        await clocksAgree(client),
        await blocksAreOfThePast(config, client),
        await endpointsAnswer(config),
        await factoriesStand(config),
      ],
    ];
    others.push(...(await checkWallets(config)));
    for (const finding of others) sayFinding(finding);
    faults += others.filter((finding) => finding.faults).length;
    say(faults === 0 ? "all is well" : `${faults} checks failed`);
    return faults === 0 ? 0 : 1;
  } finally {
    await client.end();
  }
}

/** A standby that lags is no fault if it only answers reads, but is one if it may take over by itself. */
async function sayReplication(client: pg.Client): Promise<void> {
  const { standbys, synchronous } = await readReplication(client);
  if (standbys === 0) return;
  say(`  ${synchronous ? "ok  " : "note"} R1 ${standbys} standbys follow ${synchronous ? "" : "a"}synchronously`);
  if (!synchronous)
    say("       where one takes over by itself set synchronous_standby_names: what was answered may be lost otherwise");
}

async function ownersOnChain(client: pg.Client, chain: Chain, count: number): Promise<Finding> {
  const { asked, wrong } = await sampleOwners(client, chain, count);
  return {
    id: "I5",
    title: `${asked} sampled owners and balances are the contracts' own answers`,
    fix: "flagged contracts may lie; for others index the chain anew: npm run -s mintyard -- reindex --chain NAME",
    faults: asked === 0 ? null : wrong.length,
    samples: wrong.slice(0, 3),
  };
}

/** Whether the signer answers and has the configured wallets; not checked when the keys are in this process. */
async function signerHolds(config: Config): Promise<Finding> {
  const signing = openSigning(config, createLogger("doctor", "silent"), false);
  const chains = signing.kind === "in_process" ? [] : config.chains.filter(isDeployable);
  let fix = signerActions.wrong_answer;
  const wrong: unknown[] = [];
  for (const chain of chains) {
    try {
      const held = (await signing.held(chain)) ?? [];
      const missing = chain.relay.wallets.filter((wallet) => !held.includes(wallet));
      if (missing.length > 0) wrong.push({ chain: chain.name, missing });
    } catch (error) {
      if (!(error instanceof SignerError)) throw error;
      fix = signerActions[error.trouble];
      wrong.push({ chain: chain.name, trouble: error.message });
    }
  }
  signing.close();
  const title =
    wrong.length === 0 ? "the signer answers and has the wallets" : "signer not reachable, or without a wallet";
  return { id: "S1", title, fix, faults: chains.length === 0 ? null : wrong.length, samples: wrong };
}

async function storedContent(databaseUrl: string): Promise<Finding> {
  const pool = createPool(databaseUrl, "doctor", 1);
  try {
    const { stored, checked, damaged, samples } = await readContentHealth(createDatabase(pool));
    return {
      id: "C1",
      title: `stored content is whole, ${checked} of ${stored} files were read`,
      fix: "upload the same content again, or bring the file back from a backup; see docs/storage.md",
      faults: checked === 0 ? null : damaged,
      samples,
    };
  } finally {
    await pool.end();
  }
}

/** Writes an object, reads a range of it and removes it; not checked when blocks are in the data folder. */
async function storeAnswers(config: Config): Promise<Finding> {
  const { store } = config.ipfs;
  const cars = openCars(config);
  const trouble = await cars.check().then(
    () => null,
    (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message),
  );
  cars.close();
  return {
    id: "C2",
    title: store ? "the store of IPFS_STORE takes, gives and removes a probe" : "blocks lie in the data folder",
    fix: "mend what the sentence names; see docs/storage.md",
    faults: store ? Number(trouble !== null) : null,
    samples: [{ trouble }],
  };
}

async function roomLeft(config: Config): Promise<Finding> {
  const pool = createPool(config.databaseUrl, "doctor", 1);
  try {
    const { full, ...sizes } = await new DiskRoom(config, pool, createLogger("doctor", "silent")).status();
    return {
      id: "D1",
      title: full.length === 0 ? `storage has room: ${JSON.stringify(sizes)}` : "storage is nearly full",
      fix: "enlarge the disk, remove what is not needed, or change MIN_FREE_DISK_BYTES, DATABASE_MAX_BYTES, FREE_ACCOUNTS_MAX_BYTES",
      faults: full.length,
      samples: full.map((place) => ({ place, ...sizes, ...config.disk })),
    };
  } finally {
    await pool.end();
  }
}

async function sayFreshness(client: pg.Client, chainId: string, name: string): Promise<void> {
  const { rows } = await client.query<Record<string, unknown>>(
    `SELECT indexed_block, indexed_hash, node_head - indexed_block AS lag, final_block, refused_answers, unproven, endpoints,
       round(extract(epoch FROM clock_timestamp() - to_timestamp(indexed_timestamp)))::bigint AS age
     FROM service.chain_freshness WHERE chain_id = $1`,
    [chainId],
  );
  const [at] = rows;
  if (!at) return say(`${name}: not caught up yet`);
  say(
    `${name}: block ${at["indexed_block"]} ${at["indexed_hash"] ?? ""}, ${at["age"]} s old, ${at["lag"]} behind the node, final to ${at["final_block"] ?? "-"}; ${at["refused_answers"]} answers of nodes refused`,
  );
  const unproven = at["unproven"] as string[];
  if (unproven.length > 0)
    say(
      `  note E2 ${unproven.join(", ")} of this chain prove nothing: logs are believed as endpoints agree (docs/indexing.md)`,
    );
  for (const [place, endpoint] of (at["endpoints"] as Endpoint[]).entries()) sayEndpoint(place, endpoint);
}

interface Endpoint {
  host: string;
  state: string;
  blocksOfLogs: number | null;
  lastFault: { class: string; at: string; words: string } | null;
}

/** As the indexer has seen the endpoint since it started. */
function sayEndpoint(place: number, { host, state, blocksOfLogs, lastFault }: Endpoint): void {
  const width = blocksOfLogs === null ? "" : `, gives logs of ${blocksOfLogs} blocks at a time`;
  const fault = lastFault ? `, last fault ${lastFault.at}: ${lastFault.class}: ${lastFault.words}` : "";
  say(`  ${state === "used" ? "-   " : "note"} E2 endpoint ${place} (${host}): ${state}${width}${fault}`);
}

function sayFinding({ id, title, faults, samples, fix }: Finding): void {
  const verdict = faults === null ? "-   " : faults === 0 ? "ok  " : "FAIL";
  say(`  ${verdict} ${id} ${title}${faults ? `: ${faults} faults` : ""}`);
  if (!faults) return;
  for (const sample of samples) say(`         ${JSON.stringify(sample, readable)}`);
  say(`       fix: ${fix}`);
}

function readable(_: string, value: unknown): unknown {
  const isBuffer = typeof value === "object" && value !== null && "type" in value && value.type === "Buffer";
  if (isBuffer && "data" in value) return `0x${Buffer.from(value.data as number[]).toString("hex")}`;
  return typeof value === "bigint" ? String(value) : value;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
