import type pg from "pg";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type AnalyticsFixture, createAnalyticsFixture } from "../analytics/analytics-fixture.ts";
import { isFound, wordsOf } from "../nfts/search-names.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { type Difference, differences } from "./generated/differences.ts";
import { DocumentWorld, perContract, type Token } from "./generated/document-world.ts";
import { type Expected, expectedOf } from "./generated/expected-document.ts";
import { canonical, parseJson } from "./generated/lenient-json.ts";
import { readAll } from "./generated/read-all.ts";
import { filtersOf, idsOf } from "./generated/trait-filters.ts";

/*
 * Documents by a grammar of oddities (generated/), read by the worker as any others. What GraphQL, /v0 and SQL show of each, and
 * which tokens filters and search find, is compared with an independent reading of docs/metadata.md.
 *
 * A document has a number, and is the same whatever others there are: DOCUMENTS_SEED and DOCUMENTS_ONLY (17,93) repeat it.
 */

const seed = Number(process.env["DOCUMENTS_SEED"] ?? 20_261_127);
const count = Number(process.env["DOCUMENTS_COUNT"] ?? 800);
const some = process.env["DOCUMENTS_ONLY"]?.split(",").map(Number);
const numbers = some ?? [...Array(count).keys()];
/** What has to be there at least; nothing, where only some documents are repeated. */
const least = (part: number) => (some ? 0 : part * count);
const chainId = 31_337;
const publicUrl = "https://mintyard.test";
const world = new DocumentWorld();
const folder = temporaryFolder();
let fixture: AnalyticsFixture;
let analyst: pg.Client;
let apis: ReadApis;
const readings = new Map<Token, Expected>();

beforeAll(async () => {
  const { url } = await world.start();
  fixture = await createAnalyticsFixture([chainId]);
  analyst = await fixture.connectAnalyst();
  apis = openReadApis(fixture.database, {
    env: {
      ...{ RPC_URL_GOERLI: url, IPFS_FETCH_GATEWAYS: `${url}/ipfs`, MINTYARD_DATA_DIR: folder, PUBLIC_URL: publicUrl },
      ...{ METADATA_ALLOW_PRIVATE: "true", METADATA_FIRST_TOKENS: "1000", METADATA_PER_CONTRACT_MINUTE: "100000" },
      METADATA_PER_HOST: "64",
    },
  });
  await world.fill(seed, numbers, apis.services.content as never);
  const [ledger] = fixture.ledgers;
  await ledger?.add(
    world.tokens.map(({ contract, tokenId, standard }) => ({
      ...{ contract, tokenId, standard, from: nobody, to: addressOf(0x11) },
    })),
  );
  await readAll(apis.services, fixture.database.pool, world.tokens.length);
  for (const token of world.tokens)
    readings.set(token, expectedOf(world.world, token.uri, token.id, `${publicUrl}/ipfs`));
});
afterAll(async () => {
  await world.close();
  await apis?.services.content.close();
  await fixture?.remove();
});

const found: Difference[] = [];
/** Adds what is not as it was read. */
const compare = (token: Token, where: string, shown: object, read: object) =>
  void found.push(...differences(`${seed}/${token.number}`, where, shown, read));
afterEach(() => {
  expect(found.splice(0).slice(0, 20)).toEqual([]);
});

const fields = `metadataStatus metadataError metadataWarnings metadataUrl metadata name description fileUrl animationUrl
  cachedFileUrl cachedAnimationUrl fileInformation { width height sizeBytes }`;

/** Warnings in order; where any of several codes may be told of a picture, the first of them stands for it. */
function warningsOf(told: readonly string[], { pictureErrors }: Expected): string[] {
  const picture = pictureErrors.map((code) => `image:${code}`);
  return told.map((warning) => (picture.includes(warning) ? (picture[0] as string) : warning)).toSorted();
}

const errorOf = (told: string | null, { errors }: Expected) =>
  told !== null && errors.includes(told) ? (errors[0] as string) : told;

test("every document is shown as an independent reading says, in GraphQL, in /v0 and in SQL", async () => {
  for (const [token, read] of readings) {
    const { contract, tokenId } = token;
    const error = read.errors[0] ?? null;
    const warnings = [
      ...read.warnings,
      ...(read.pictureErrors[0] ? [`image:${read.pictureErrors[0]}`] : []),
    ].toSorted();
    const { url, name, description, fileUrl, animationUrl, cachedFileUrl, cachedAnimationUrl, fileInformation } = read;
    const document = canonical(read.document);

    const { data } = await apis.graphql(
      `{ nft(chain: "goerli", contract: "${contract}", tokenId: "${tokenId}") { ${fields} } }`,
    );
    const { metadata, ...nft } = data.nft;
    compare(
      ...([token, "graphql"] as const),
      {
        ...{ ...nft, metadataWarnings: warningsOf(nft.metadataWarnings, read) },
        ...{ metadataError: errorOf(nft.metadataError, read), loosely: JSON.stringify(metadata) },
      },
      {
        ...{ metadataStatus: read.status, metadataError: error, metadataWarnings: warnings, metadataUrl: url },
        ...{ name, description, fileUrl, animationUrl, cachedFileUrl, cachedAnimationUrl, fileInformation },
      },
    );

    const { body, text } = await apis.v0(`/nfts/${contract}/${tokenId}?chain=goerli`);
    const whole = parseJson(text, false).value as Map<string, Map<string, never>>;
    const size = body.nft.file_information;
    compare(
      ...([token, "v0"] as const),
      {
        ...{ ...body.nft, metadata_warnings: warningsOf(body.nft.metadata_warnings, read) },
        ...{ metadata_error: errorOf(body.nft.metadata_error, read) },
        ...{
          metadata: canonical(whole.get("nft")?.get("metadata") ?? null),
          loosely: JSON.stringify(body.nft.metadata),
        },
        file_information: size && { width: size.width, height: size.height, sizeBytes: size.file_size },
      },
      {
        ...{ metadata_status: read.status, metadata_error: error, metadata_warnings: warnings, metadata_url: url },
        ...{ metadata: document, file_url: fileUrl, animation_url: animationUrl, cached_file_url: cachedFileUrl },
        cached_animation_url: cachedAnimationUrl,
        ...{ file_information: fileInformation, loosely: JSON.stringify(metadata) },
      },
    );

    const { rows } = await analyst.query(
      `SELECT status, error_code, warnings, name, description, image, animation_url, token_uri, document
       FROM analytics.metadata WHERE contract = $1 AND token_id = $2`,
      [contract, String(tokenId)],
    );
    const [row = {}] = rows;
    compare(
      ...([token, "sql"] as const),
      {
        ...{
          ...row,
          warnings: warningsOf(row.warnings ?? [], read),
          error_code: errorOf(row.error_code ?? null, read),
        },
        document: canonical(row.document ? parseJson(row.document, false).value : null),
      },
      {
        ...{ status: read.status.toLowerCase(), error_code: error, warnings, token_uri: url, document },
        ...{ name, description, image: fileUrl, animation_url: animationUrl },
      },
    );
  }
  const all = [...readings.values()];
  expect(all.filter(({ status }) => status === "FRESH").length).toBeGreaterThanOrEqual(least(0.7));
  expect(all.flatMap(({ warnings }) => warnings).length).toBeGreaterThanOrEqual(least(0.1));
});

const keyOf = ({ name, value }: { name: string; value: string }) => JSON.stringify([name, value]);

test("every trait is there, and none that the reading does not know", async () => {
  for (const [token, { traits }] of readings) {
    const { rows } = await fixture.database.pool.query<{ name: string; value: string }>(
      "SELECT name, value FROM service.token_trait WHERE contract = $1 AND token_id = $2",
      [Buffer.from(token.contract.slice(2), "hex"), String(token.tokenId)],
    );
    const [shown, read] = [new Set(rows.map(keyOf)), new Set(traits.map(keyOf))];
    const more = [...shown].filter((key) => !read.has(key));
    const less = [...read].filter((key) => !shown.has(key));
    compare(token, "traits", { more, less }, { more: [], less: [] });
  }
});

const contracts = () => Map.groupBy(readings, ([{ contract }]) => contract);

test("filters find every trait again, by its value and by a range around a number", async () => {
  let asked = 0;
  for (const [contract, tokens] of contracts()) {
    const filters = filtersOf(tokens);
    asked += filters.length;
    for (let from = 0; from < filters.length; from += 8) {
      const eight = filters.slice(from, from + 8);
      const { data } = await apis.graphql(
        `query (${eight.map((_, at) => `$f${at}: TraitFilter`).join(", ")}) { contract(chain: "goerli", address: "${contract}") {
          ${eight.map((_, at) => `f${at}: nfts(first: ${perContract}, traits: $f${at}) { nodes { tokenId } }`).join("\n")} } }`,
        Object.fromEntries(eight.map(({ filter }, at) => [`f${at}`, filter])),
      );
      for (const [at, { token, filter, ids }] of eight.entries()) {
        const shown = data.contract[`f${at}`].nodes.map((node: { tokenId: string }) => node.tokenId).toSorted();
        compare(token, `filter ${JSON.stringify(filter)}`, { ids: shown }, { ids });
        expect(ids).toContain(String(token.tokenId));
      }
    }
  }
  expect(asked).toBeGreaterThanOrEqual(least(1));
});

test("a contract's summary counts every trait that it lists", async () => {
  for (const [contract, tokens] of contracts()) {
    const { data } = await apis.graphql(
      `{ contract(chain: "goerli", address: "${contract}") { traits { name values { value tokenCount } } } }`,
    );
    const counts = new Map<string, number>();
    for (const [, { traits }] of tokens)
      for (const key of new Set(traits.map(keyOf))) counts.set(key, (counts.get(key) ?? 0) + 1);
    const [[first]] = tokens as [[Token, Expected]];
    for (const { name, values } of data.contract.traits)
      for (const { value, tokenCount } of values)
        compare(
          first,
          `summary ${name}=${value}`,
          { count: tokenCount },
          { count: counts.get(keyOf({ name, value })) },
        );
  }
});

const start = (text: string, count: number) => [...text].slice(0, count).join("");
/** Of a word the first 60 letters count. Symbols of Latin-1 are punctuation, and characters of private use are letters. */
const shortWords = (text: string) =>
  wordsOf(text.replaceAll(/[©®]/g, " ").replaceAll(/\p{Co}/gu, "ꔀ")).map((word) => start(word, 60));

test("search finds every token by its name, and the others that have its words", async () => {
  let asked = 0;
  for (const [contract, tokens] of contracts()) {
    const words = tokens.map(
      ([token, { name, description }]) =>
        [token, shortWords(`${start(name ?? "", 500)} ${start(description ?? "", 4_000)}`)] as const,
    );
    for (const [token, { name }] of tokens) {
      const own = shortWords(start(name ?? "", 500));
      // A text of such characters alone is refused.
      if (own.length === 0 || /\p{Co}/u.test(name ?? "")) continue;
      const text = name !== null && name.length <= 300 ? name : own.slice(0, 10).join(" ");
      const ids = idsOf(words.flatMap(([other, its]) => (isFound(own, its) ? [other] : [])));
      const place = { chain: "goerli", filter_by_contract_address: contract, page_size: String(perContract) };
      const { body } = await apis.v0(`/search?${new URLSearchParams({ ...place, text })}`);
      const legacy = body.search_results?.map((one: { token_id: string }) => one.token_id).toSorted();
      const { data } = await apis.graphql(
        `query ($text: String!) { search(chain: "goerli", contract: "${contract}", text: $text, first: ${perContract}) { tokenId } }`,
        { text },
      );
      const shown = data.search?.map((one: { tokenId: string }) => one.tokenId).toSorted();
      compare(token, `search ${JSON.stringify(text)}`, { shown, legacy }, { shown: ids, legacy: ids });
      asked += 1;
    }
  }
  expect(asked).toBeGreaterThanOrEqual(least(0.5));
});

const listed = (text: string | null) => (text !== null && Buffer.byteLength(text) > 16_384 ? null : text);

test("lists show the same, but for long texts", async () => {
  for (const [contract, tokens] of contracts()) {
    const { data } = await apis.graphql(`{ contract(chain: "goerli", address: "${contract}") {
      nfts(first: ${perContract}) { nodes { tokenId name description fileUrl metadataWarnings } } } }`);
    const nodes = new Map<string, Record<string, unknown>>(
      data.contract.nfts.nodes.map((node: { tokenId: string }) => [node.tokenId, node]),
    );
    const { body } = await apis.v0(`/nfts/${contract}?chain=goerli&page_size=${perContract}&include=metadata`);
    const legacy = new Map<string, Record<string, unknown>>(
      body.nfts.map((nft: { token_id: string }) => [nft.token_id, nft]),
    );
    for (const [token, { name, description, fileUrl }] of tokens) {
      const id = String(token.tokenId);
      const texts = { name: listed(name), description: listed(description), fileUrl: listed(fileUrl) };
      compare(token, "list", nodes.get(id) ?? {}, texts);
      compare(token, "v0 list", legacy.get(id) ?? {}, {
        ...{ file_url: texts.fileUrl, metadata_warnings: nodes.get(id)?.["metadataWarnings"] },
      });
    }
  }
});
