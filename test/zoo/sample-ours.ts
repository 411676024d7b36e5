import { setTimeout as pause } from "node:timers/promises";
import { pino } from "pino";
import { loadChains } from "../../src/config/chain-settings.ts";
import { connect, ensureNftViews } from "../../src/indexing/nft-views.ts";
import { startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import { LogSampler } from "../../src/indexing/sample-logs.ts";
import { createLedger, insertLogs } from "../indexing/ledger-fixture.ts";
import { createTestDatabase } from "../setup/database.ts";
import type { Outcome } from "./outcome.ts";
import { type Log, type Tokens, transferTopic } from "./tokens.ts";

const schema = "c31337_sampled";
/** One percent of Ponder's requests; with each look it has asked for so many more. */
const requests = 200;
const mostLooks = 20_000;

/** An index that was given what these endpoints leave, and the sample of its final blocks until that names what is missing. */
export async function sampleOurs(urls: readonly string[], tokens: Tokens): Promise<Outcome> {
  let words = "";
  const write = (line: string) => {
    const { msg } = JSON.parse(line) as { msg: string };
    if (msg.includes("the index lacks logs")) words = msg;
  };
  const log = pino({ level: "info" }, { write });
  const [chain] = loadChains({ RPC_URL_BASE: urls.join(), CHAIN_ID_BASE: "31337", VERIFY_BASE: "logs" });
  if (!chain) throw new Error("no chain");
  const database = await createTestDatabase();
  const client = await connect(database.url, "sample").catch(async (error: unknown) => {
    await database.drop();
    throw error;
  });
  const gateway = await startRpcGateway({ ...chain, lagTimeoutMs: 60_000 }, urls, log);
  try {
    await ensureNftViews(database.url);
    const { address, fromBlock, toBlock } = tokens;
    const logs = await gateway.request("eth_getLogs", [{ address, topics: [transferTopic], fromBlock, toBlock }]);
    await createLedger(database.pool, schema);
    await insertLogs(database.pool, schema, logs as Log[]);
    await client.query(
      "INSERT INTO nft.index_version (schema_name, chain_id, genesis_hash, live, final_block) VALUES ($1, 31337, '0x', true, $2)",
      [schema, Number(toBlock)],
    );
    let answered = 0;
    const nodes = { logsOfBlock: gateway.logsOfBlock, activity: () => ({ answered, running: 0, oldestMs: 0 }) };
    const sampler = new LogSampler(client, nodes, { chain, schema }, 1, log);
    for (let looks = 0; looks < mostLooks; looks += 1) {
      answered += requests;
      await sampler.look();
      await pause(1);
      if (words) return { end: "error", words };
    }
    return { end: "never" };
  } finally {
    await gateway.close();
    await client.end();
    await database.drop();
  }
}
