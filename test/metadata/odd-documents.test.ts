import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createPublicClient, custom, decodeFunctionData, encodeAbiParameters, type Hex, parseAbi } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recordReadBlock } from "../../src/metadata/discover/forks.ts";
import { ContractCalls } from "../../src/metadata/read/call-contract.ts";
import { GatewayBlocks } from "../../src/metadata/read/gateway-blocks.ts";
import { MediaProbe } from "../../src/metadata/read/probe-media.ts";
import { readToken } from "../../src/metadata/read/read-token.ts";
import { claimTokens, finishFile, finishToken } from "../../src/metadata/store/queue.ts";
import { passOver, traitsPass } from "../../src/nfts/render-again.ts";
import { createFetcher } from "../../src/outbound/fetcher.ts";
import { type AnalyticsFixture, createAnalyticsFixture } from "../analytics/analytics-fixture.ts";
import { addressOf } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { fur, odd } from "./odd-table.ts";
import { listen, mintOf, type Serving } from "./strange-server.ts";

/*
 * Documents as people and contracts write them: each is read, shown and found in GraphQL, /v0 and SQL, and what is not shown has
 * a reason in all three.
 */

const chainId = 31_337;
const contract = addressOf(0xa1);
const abi = parseAbi(["function tokenURI(uint256 tokenId) view returns (string)"]);
const block = { number: 900n, hash: `0x${"12".repeat(32)}` } as const;
const signal = new AbortController().signal;
const fetcher = createFetcher({ allowPrivate: true });
const folder = temporaryFolder();
let fixture: AnalyticsFixture;
let apis: ReadApis;
const servers: Serving[] = [];

beforeAll(async () => {
  fixture = await createAnalyticsFixture([chainId]);
  const { database, ledgers } = fixture;
  apis = openReadApis(database, { env: { MINTYARD_DATA_DIR: folder } });
  await ledgers[0]?.add(odd.map((_, at) => mintOf(contract, BigInt(at))));
  await database.pool.query(
    "INSERT INTO service.token_metadata (chain_id, contract, token_id) SELECT $1, $2, unnest($3::numeric[])",
    [chainId, Buffer.from(contract.slice(2), "hex"), odd.map((_, at) => at)],
  );
  await recordReadBlock(database.db, chainId, block);
  await readAll();
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await fetcher.close();
  await apis?.services.content.close();
  await fixture?.remove();
});

/** Each server once: one that is overloaded is asked nothing more for a while. */
async function addressFor(uri: string): Promise<string> {
  const status = /^WEB\/(\d+)$/.exec(uri)?.[1];
  if (status === undefined) return uri;
  const server = await listen(
    createServer((_request, response) =>
      response.writeHead(Number(status), status === "429" ? { "retry-after": "7200" } : {}).end(),
    ),
  );
  servers.push(server);
  return server.url;
}

/** As the worker does it, but for the queue. */
async function readAll(): Promise<void> {
  const uris = await Promise.all(odd.map(({ uri }) => addressFor(uri)));
  const request = async ({ params }: { params?: unknown }) => {
    const [{ data }] = params as [{ data: Hex }];
    const { args } = decodeFunctionData({ abi, data });
    return encodeAbiParameters([{ type: "string" }], [uris[Number(args[0])] ?? ""]);
  };
  const client = createPublicClient({ transport: custom({ request }) });
  const { database } = fixture;
  const sources = { content: apis.services.content, gateways: [], blocks: new GatewayBlocks(fetcher), fetcher };
  const calls = new ContractCalls({ gas: 5_000_000, returnedBytes: 1_048_576 });
  const media = new MediaProbe();
  const due = { contract: Buffer.from(contract.slice(2), "hex"), priority: 3, count: odd.length };
  const jobs = await claimTokens(database.db, chainId, [due]);
  expect(jobs).toHaveLength(odd.length);
  for (const job of jobs) {
    const token = { contract: contract as Hex, tokenId: BigInt(job.tokenId), standard: "ERC721" } as const;
    const reading = await readToken(client, calls, sources, media, block, token, signal);
    await finishToken(database.db, job, block, reading);
    const image = reading.outcome === "read" && reading.file === null ? reading.document.image : null;
    if (image !== null) await finishFile(database.db, job, image, await media.probe(sources, image, signal));
  }
}

async function traitsOf(at: number): Promise<string[]> {
  const { rows } = await fixture.database.pool.query<{ trait: string }>(
    "SELECT name || '=' || value AS trait FROM service.token_trait WHERE token_id = $1 ORDER BY 1",
    [at],
  );
  return rows.map(({ trait }) => trait);
}

test("traits that can be read are there, and pictures that are drawn in the document", async () => {
  for (const [at, { what, traits: wanted, picture, size }] of odd.entries()) {
    if (wanted) expect([what, await traitsOf(at)]).toEqual([what, wanted.toSorted()]);
    if (picture === undefined) continue;
    const { data } = await apis.graphql(
      `{ nft(chain: "goerli", contract: "${contract}", tokenId: "${at}") { fileUrl fileInformation { width height } } }`,
    );
    const [width, height] = size ?? [];
    expect([what, data.nft]).toEqual([what, { fileUrl: picture, fileInformation: size ? { width, height } : null }]);
    const { body } = await apis.v0(`/nfts/${contract}/${at}?chain=goerli`);
    expect([what, body.nft.file_url]).toEqual([what, picture]);
  }
});

test("numbers of any length are found by a range", async () => {
  const ids = async (traits: string) => {
    const { data } = await apis.graphql(
      `{ contract(chain: "goerli", address: "${contract}") { nfts(first: 5, traits: ${traits}) { nodes { tokenId } } } }`,
    );
    return data.contract.nfts.nodes.map(({ tokenId }: { tokenId: string }) => Number(tokenId));
  };
  const at = odd.findIndex(({ what }) => what.startsWith("traits: numbers beyond all bounds"));
  for (const [traits, found] of [
    ['{ name: "big", min: 1e308 }', [at]],
    ['{ name: "small", max: -1e308 }', [at]],
    ['{ name: "wei", min: 9e77, max: 1e78 }', [at]],
    ['{ name: "wei", max: 9e77 }', []],
    ['{ name: "hex", min: 0 }', []],
  ] as const)
    expect([traits, await ids(traits)]).toEqual([traits, found]);
});

test("what could not be read has its reason in GraphQL, in /v0 and in SQL", async () => {
  const analyst = await fixture.connectAnalyst();
  for (const [at, { what, warnings = [], error = null }] of odd.entries()) {
    const status = error === null ? "FRESH" : "FAILED";
    const { data } = await apis.graphql(
      `{ nft(chain: "goerli", contract: "${contract}", tokenId: "${at}") { metadataStatus metadataError metadataWarnings } }`,
    );
    const wanted = { metadataStatus: status, metadataError: error, metadataWarnings: warnings };
    expect([what, data.nft]).toEqual([what, wanted]);
    const { body } = await apis.v0(`/nfts/${contract}/${at}?chain=goerli`);
    expect([what, body.nft]).toMatchObject([
      what,
      { metadata_status: status, metadata_error: error, metadata_warnings: warnings },
    ]);
    const { rows } = await analyst.query(
      "SELECT status, error_code, warnings FROM analytics.metadata WHERE contract = $1 AND token_id = $2",
      [contract, at],
    );
    const inSql = { status: status.toLowerCase(), error_code: error, warnings: warnings.length > 0 ? warnings : null };
    expect([what, rows]).toEqual([what, [inSql]]);
  }
});

test("lists show the same, where they show metadata", async () => {
  const path = `/nfts/${contract}?chain=goerli&page_size=50`;
  const [plain, shown] = [await apis.v0(path), await apis.v0(`${path}&include=metadata`)];
  expect(plain.body.nfts[0]).not.toHaveProperty("metadata_status");
  expect(shown.body.nfts.map((nft: Record<string, unknown>) => nft["metadata_warnings"])).toEqual(
    odd.slice(0, 50).map(({ warnings = [] }) => warnings),
  );
  const { data } = await apis.graphql(
    `{ contract(chain: "goerli", address: "${contract}") { nfts(first: 50) { nodes { metadataWarnings } } } }`,
  );
  expect(data.contract.nfts.nodes).toEqual(
    odd.slice(0, 50).map(({ warnings = [] }) => ({ metadataWarnings: warnings })),
  );
});

test("a server that refuses, one that is overloaded and one that lacks the file are asked again at other times", async () => {
  const { rows } = await fixture.database.pool.query<{ error_code: string; minutes: number }>(
    `SELECT error_code, round(extract(epoch FROM next_attempt_at - attempted_at) / 60)::int AS minutes
     FROM service.token_metadata WHERE error_code LIKE 'http%' ORDER BY token_id`,
  );
  const wanted: Record<string, number> = {
    http_401: 10,
    http_403: 10,
    http_404: 1,
    http_410: 60,
    http_429: 120,
    http_451: 10,
  };
  expect(rows).toHaveLength(8);
  // Tokens of one contract do not all come back together.
  for (const { error_code, minutes } of rows) {
    const minute = wanted[error_code] ?? 1;
    expect([error_code, Math.abs(minutes - minute) <= minute / 8]).toEqual([error_code, true]);
  }
});

test("warnings go with their document", async () => {
  const { pool } = fixture.database;
  const at = odd.findIndex(({ what }) => what === "traits: a word");
  const set = "UPDATE service.token_metadata SET metadata = $1 WHERE token_id = $2";
  await pool.query(set, [`{${fur}}`, at]);
  expect(await traitsOf(at)).toEqual(["Fur=red"]);
  const warnings = async () =>
    (await pool.query("SELECT trait_warnings FROM service.token_metadata WHERE token_id = $1", [at])).rows;
  expect(await warnings()).toEqual([{ trait_warnings: null }]);
  await pool.query(set, ['{"attributes":1}', at]);
  expect([await traitsOf(at), await warnings()]).toEqual([[], [{ trait_warnings: ["attributes:not_a_list"] }]]);
});

test("an upgrade reads the traits that stored documents lost", async () => {
  const { pool } = fixture.database;
  const traits = async () =>
    (await pool.query("SELECT * FROM service.token_trait ORDER BY token_id, name, value")).rows;
  const warnings = async () =>
    (await pool.query("SELECT token_id, trait_warnings FROM service.token_metadata ORDER BY token_id")).rows;
  const [before, told] = [await traits(), await warnings()];
  await pool.query("DELETE FROM service.token_trait");
  await pool.query("UPDATE service.token_metadata SET trait_warnings = NULL");
  await pool.query(await readFile(new URL("../../schema/migrations/0392_lost_traits.sql", import.meta.url), "utf8"));
  expect([await traits(), await warnings()]).toEqual([before, told]);

  // As other versions read them: some are missing, some are others, and numbers are none.
  await pool.query("DELETE FROM service.token_trait WHERE token_id % 3 = 0");
  await pool.query("UPDATE service.token_trait SET number = NULL");
  await pool.query(
    "UPDATE service.token_trait SET value = value || '?' WHERE token_id % 3 = 1 AND length(value) < 300",
  );
  await pool.query("UPDATE service.token_metadata SET trait_warnings = ARRAY['attributes:cut'] WHERE token_id % 2 = 0");
  await pool.query("UPDATE service.token_metadata SET trait_warnings = NULL WHERE token_id % 2 = 1");
  for (let done = false; !done; ) done = await passOver(pool, traitsPass, 20);
  expect([await traits(), await warnings()]).toEqual([before, told]);
});

test("what is no JSON is none for a plan that was made for it too, as PostgreSQL makes one when a catalog changes", async () => {
  const client = await fixture.database.pool.connect();
  try {
    const { rows } = await client.query(
      "SELECT prosrc FROM pg_proc WHERE oid = 'service.readable_json(text)'::regprocedure",
    );
    // Of the function itself PostgreSQL plans so only when two things happen at once: its statements one by one.
    const body = String(rows[0].prosrc).replace(/RETURN (.*?);/g, "SELECT $1 INTO read;");
    await client.query("SET plan_cache_mode = force_custom_plan");
    for (const document of ["none", "{", '"\\ud800', "[1]"])
      await client.query(
        `DO $do$ DECLARE document text := '${document}'; read json; ${body.replace("DECLARE", "")} $do$`,
      );
  } finally {
    client.release(true);
  }
});

test("a token that lost its traits to such a plan has them again after the upgrade", async () => {
  const { pool } = fixture.database;
  const at = odd.findIndex(({ what }) => what === "traits: a word beside traits");
  await pool.query("DELETE FROM service.token_trait WHERE token_id = $1", [at]);
  await pool.query("UPDATE service.token_metadata SET trait_warnings = '{attributes:unreadable}' WHERE token_id = $1", [
    at,
  ]);
  const file = new URL("../../schema/migrations/0447_readable_json.sql", import.meta.url);
  await pool.query(await readFile(file, "utf8"));
  const told = await pool.query("SELECT trait_warnings FROM service.token_metadata WHERE token_id = $1", [at]);
  expect([await traitsOf(at), told.rows]).toEqual([["Fur=red"], [{ trait_warnings: ["attributes:not_a_list"] }]]);
});
