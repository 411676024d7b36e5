import pg from "pg";
import { expect } from "vitest";
import type { ServiceProcess } from "../setup/service-process.ts";
import { wait } from "../setup/wait.ts";
import type { RelayHarness } from "../transactions/harness.ts";
import type { Cluster } from "./cluster.ts";
import type { Load, Outcome } from "./load.ts";

/** Nothing is lost, doubled or wrong: by the files, the chain and the rows themselves. */
export async function judgeLoad(
  load: Load,
  { again, h, cluster, indexer }: { again: Load; h: RelayHarness; cluster: Cluster; indexer: ServiceProcess },
): Promise<void> {
  // What broke without an answer was repeated, too.
  const fine = ({ status, retryAfter }: Outcome) => status === 200 || status === 0 || (status === 503 && retryAfter);
  const odd = load.outcomes.filter((outcome) => !fine(outcome));
  expect(odd.slice(0, 5)).toEqual([]);
  // At most 32 at a time, which is what its agent has connections for.
  await Promise.all(
    load.uploads.map(async (cid) => {
      const { status } = await again.send({ method: "GET", path: `/ipfs/${cid}` });
      expect(status, cid).toBe(200);
    }),
  );
  await Promise.all([...load.deployments].map(([name, hash]) => confirm(again, name, hash)));
  const head = Number(await h.chain.getBlockNumber());
  const indexed = async () => {
    const { text } = await again.send({ method: "GET", path: "/status" });
    const { chains } = JSON.parse(text) as { chains: { indexedBlock: string | null }[] };
    return Number(chains[0]?.indexedBlock ?? 0);
  };
  await wait("the index", indexed, { until: (block) => block >= head, lines: () => indexer.output.split("\n") });
  await again.stop();
  const announced = await h.announced();
  expect(announced.length).toBe(load.deployments.size);
  expect(new Set(announced.map(({ intentId }) => intentId)).size).toBe(load.deployments.size);

  const client = new pg.Client({ connectionString: cluster.urlOf(await cluster.leader()) });
  await client.connect();
  const { rows: hashes } = await client.query<{ hash: string }>(
    "SELECT '0x' || encode(hash, 'hex') AS hash FROM service.attempt",
  );
  const stored = new Set(hashes.map(({ hash }) => hash));
  expect([...load.deployments.values()].filter((hash) => hash && !stored.has(hash))).toEqual([]);
  const { rows } = await client.query(
    `SELECT count(DISTINCT intent_id)::int AS intents, (max(nonce) - min(nonce) + 1 - count(*))::int AS gaps,
       (SELECT count(*)::int FROM service.intent) AS requests FROM service.nonce_reservation WHERE state <> 'external'`,
  );
  expect(rows).toEqual([{ intents: load.deployments.size, gaps: 0, requests: load.deployments.size }]);
  const { rows: stray } = await client.query("SELECT FROM public.stray");
  expect(stray).toEqual([]);
  await client.end();
}

/** A deployment has its hash, the one that was answered if there was one, and ends as a collection. */
async function confirm(load: Load, name: string, hash: string | null): Promise<void> {
  await wait(`a hash for ${name}`, async () => {
    await load.deploy(name);
    return load.deployments.get(name);
  });
  const found = load.deployments.get(name);
  if (hash) expect(found, name).toBe(hash);
  const look = () => load.send({ method: "GET", path: `/v0/contracts/${found}?chain=goerli` });
  await wait(`deployment ${name}`, look, { until: ({ status }) => status === 200 });
}
