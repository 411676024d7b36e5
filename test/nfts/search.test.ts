import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrate } from "../../src/db/admin/migrate.ts";
import { passOver, wordsPass } from "../../src/nfts/render-again.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { isFound, namesOf, queriesOf, wordsOf } from "./search-names.ts";

// What search finds, against a plain scan of all names that shares nothing with the tokenizer (search-names.ts).

const count = 300;
const seed = Number(process.env["SEARCH_SEED"] ?? 20_261_126);
const [alice, generated, given] = [0x11, 0xa1, 0xb2].map(addressOf) as [string, string, string];

/** What is stored, and texts that have to find it. */
const found: [string, string[]][] = [
  ["vitalik.eth", ["vitalik.eth", "vitalik", "eth", "VITALIK.ETH", "vit"]],
  ["Ape-123", ["Ape-123", "ape 123", "123", "-123", "Ape"]],
  ["Étoile", ["Étoile", "étoile", "ÉTOILE", "E\u0301toile", "etoile", "étoi"]],
  ["cover_final-2.png", ["cover_final-2.png", "cover", "final", "png"]],
  ["61e5eb", ["61e5eb", "61E5EB", "61e"]],
  ["Temperature -0.5", ["Temperature -0.5", "-0.5", "0.5", "temperature"]],
  ["https://art.example/gallery?piece=Nine#top", ["https://art.example/gallery?piece=Nine#top", "gallery", "nine"]],
  ["mail@studio.example", ["mail@studio.example", "studio.example", "mail"]],
  ["L\u2019Aiguille d'Été", ["L'Aiguille d\u2019été", "aiguille", "ete"]],
  ["Straße", ["Straße", "STRASSE", "strass"]],
  ["ΟΔΥΣΣΕΥΣ", ["Οδυσσευς", "οδυσσεύς", "Οδυσσ"]],
  ["Iğdır İzmir", ["IĞDIR izmir", "ığdır İZMİR", "igdir"]],
  ["Ёлка", ["ёлка", "ЁЛКА", "елка"]],
  ["東京タワー", ["東京タワー", "東京", "タワー", "京タ", "京", "ﾀﾜｰ"]],
  ["吾輩は猫である", ["猫", "猫である", "吾輩"]],
  ["大猫王 猫犬", ["大猫王 猫犬", "猫犬", "猫王"]],
  ["ภาษาไทยง่าย", ["ภาษาไทยง่าย", "ไทย", "ง่าย"]],
  ["고양이 왕국", ["고양이 왕국", "고양", "왕", "고양이".normalize("NFD")]],
  ["हिन्दी कविता", ["हिन्दी कविता", "हिन्दी", "कविता"]],
  ["مُحَمَّد", ["مُحَمَّد", "محمد"]],
  ["שָׁלוֹם", ["שָׁלוֹם", "שלום"]],
  ["Ｆｕｌｌ　Ｗｉｄｔｈ　９", ["Full Width 9", "Ｆｕｌｌ　Ｗｉｄｔｈ　９", "width"]],
  ["🔥🚀", ["🔥🚀", "🔥", "🚀"]],
  ["Wave 👋🏽 ❤️", ["Wave 👋🏽 ❤️", "👋", "❤"]],
  // What is no character ends a word.
  ["Ox\ufffe Yo\ufdd0\uffff", ["ox", "yo", "Ox\ufffe"]],
  ["👨‍👩‍👧 Family", ["👨‍👩‍👧 Family", "👩", "family"]],
];
/** What is stored, and texts that do not find it. */
const kept: [string, string[]][] = [
  ["Ape-123", ["pe", "ap", "12", "ape-124"]],
  ["東京タワー", ["京東", "東タ", "大阪"]],
  ["大猫王 猫犬", ["大猫犬"]],
  ["고양이 왕국", ["양이"]],
  ["🔥🚀", ["🚀🔥"]],
];

const stored = [...new Set(found.map(([name]) => name))];
const names = namesOf(new SeededGenerator(seed), count);
let database: TestDatabase;
let apis: ReadApis;
beforeAll(async () => {
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  for (const [contract, texts] of [
    [generated, names],
    [given, stored],
  ] as const) {
    await indexed.nfts[0]?.add(
      texts.map((_, index) => ({ contract, tokenId: BigInt(index), from: nobody, to: alice })),
    );
    await database.pool.query(
      `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, name)
       SELECT 31337, $1, n - 1, 'fresh', name FROM unnest($2::text[]) WITH ORDINALITY AS t (name, n)`,
      [Buffer.from(contract.slice(2), "hex"), texts],
    );
  }
  apis = openReadApis(database);
});
afterAll(() => database?.drop());

const byNumber = (ids: string[]) => ids.map(Number).sort((a, b) => a - b);

/** The tokens of a contract that both APIs find, which is asked for at most fifty. */
async function search(contract: string, text: string): Promise<number[]> {
  const query = new URLSearchParams({ chain: "goerli", text, filter_by_contract_address: contract, page_size: "50" });
  const { body, status } = await apis.v0(`/search?${query}`);
  expect([text, status]).toEqual([text, 200]);
  const { data } = await apis.graphql(
    `query ($text: String!) { search(chain: "goerli", contract: "${contract}", text: $text, first: 50) { tokenId } }`,
    { text },
  );
  const legacy = byNumber(body.search_results.map((one: { token_id: string }) => one.token_id));
  expect([text, byNumber(data.search.map((one: { tokenId: string }) => one.tokenId))]).toEqual([text, legacy]);
  return legacy;
}

describe("over both APIs", () => {
  test.each(found)(
    "%s is found by its name as it is typed, in any case and form, and by its words",
    async (name, texts) => {
      for (const text of texts)
        expect([text, await search(given, text)]).toEqual([text, expect.arrayContaining([stored.indexOf(name)])]);
    },
  );

  test.each(kept)("%s is not found by what only looks like it", async (name, texts) => {
    for (const text of texts)
      expect([text, await search(given, text)]).toEqual([text, expect.not.arrayContaining([stored.indexOf(name)])]);
  });

  test.each(["", " ", "++", "…", "©", "\0"])("%j has nothing to search for", async (text) => {
    const { code } = await apis.graphql(`query ($text: String!) { search(text: $text) { tokenId } }`, { text });
    expect(code).toBe("parameter_missing");
  });

  test("characters that PostgreSQL does not store end a word", async () => {
    expect(await search(given, "vitalik\0eth\ud800")).toEqual([stored.indexOf("vitalik.eth")]);
  });
});

test(`${count} names of all scripts are found as a plain scan finds them (SEARCH_SEED=${seed})`, async () => {
  const random = new SeededGenerator(seed + 1);
  const queries = names.flatMap((name, id) => queriesOf(random, name).map((text) => ({ id, text })));
  const { rows } = await database.pool.query<{ ids: string[] }>(
    `WITH asked AS MATERIALIZED (
       SELECT n, service.search_query(text) AS wanted FROM unnest($2::text[]) WITH ORDINALITY AS t (text, n))
     SELECT ARRAY(SELECT w.token_id FROM service.token_words w WHERE w.contract = $1 AND w.words @@ a.wanted) AS ids
     FROM asked a ORDER BY a.n`,
    [Buffer.from(generated.slice(2), "hex"), queries.map(({ text }) => text)],
  );
  const own = names.map(wordsOf);
  const expected = queries.map(({ text }) => {
    const words = wordsOf(text);
    return own.flatMap((name, id) => (isFound(words, name) ? [id] : []));
  });
  const differences = queries.flatMap(({ id, text }, index) => {
    const ids = byNumber(rows[index]?.ids ?? []);
    const same = JSON.stringify(ids) === JSON.stringify(expected[index]) && ids.includes(id);
    return same ? [] : [{ name: names[id], text, ids, expected: expected[index] }];
  });
  expect(differences).toEqual([]);
  expect(queries.length).toBeGreaterThan(6 * count);
  // The statement of the APIs, for some of them.
  for (let asked = 0; asked < 15; asked += 1) {
    const at = random.below(queries.length);
    const { text } = queries[at] ?? { text: "" };
    if ((expected[at]?.length ?? 0) < 50) expect([text, await search(generated, text)]).toEqual([text, expected[at]]);
  }
});

test("each letter of the scripts that have cases is found in either, composed or not", async () => {
  const blocks = [
    [0xc0, 0x24f],
    [0x370, 0x52f],
    [0x531, 0x587],
    [0x10a0, 0x10ff],
    [0x13a0, 0x13fd],
    [0x1c80, 0x1cbf],
    [0x1e00, 0x1fff],
    [0x2c00, 0x2d2d],
    [0xff21, 0xff5a],
    [0x10400, 0x1044f],
  ] as const;
  const letters = blocks
    .flatMap(([low, high]) => Array.from({ length: high - low + 1 }, (_, index) => String.fromCodePoint(low + index)))
    .filter((letter) => /\p{L}/u.test(letter));
  const forms = letters.map((letter) => [
    letter.toUpperCase(),
    letter.toLowerCase(),
    letter.normalize("NFD"),
    letter.normalize("NFKC"),
  ]);
  const { rows } = await database.pool.query(
    `SELECT l.letter, f.form FROM unnest($1::text[]) WITH ORDINALITY AS l (letter, n)
     JOIN unnest($2::text[]) WITH ORDINALITY AS f (form, n) ON (f.n - 1) / 4 = l.n - 1
     WHERE service.search_fold(l.letter) <> service.search_fold(f.form)`,
    [letters, forms.flat()],
  );
  expect(letters.length).toBeGreaterThan(1_500);
  expect(rows).toEqual([]);
});

test("a server of another locale cuts names alike", async () => {
  const name = `test_locale_${randomBytes(6).toString("hex")}`;
  // Turkish has other cases of i, and as a collation an order of its own.
  await database.pool.query(
    `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C'`,
  );
  const url = database.url.replace(/[^/]*$/, name);
  const client = new pg.Client({ connectionString: url });
  try {
    await migrate(url);
    await client.connect();
    const text = `SELECT name, service.search_words(name, NULL)::text AS words, service.search_query(name)::text AS query
      FROM unnest($1::text[]) AS t (name)`;
    const all = [...names, ...stored, ...names.map((one) => one.toUpperCase())];
    expect((await client.query(text, [all])).rows).toEqual((await database.pool.query(text, [all])).rows);
  } finally {
    await client.end();
    await database.pool.query(`DROP DATABASE ${name} WITH (FORCE)`);
  }
});

test("what is found follows every write of the metadata", async () => {
  const { pool } = database;
  const ofToken = "WHERE contract = $1 AND token_id = 0";
  const key = [Buffer.from(given.slice(2), "hex")];
  const asked = async (text: string) => (await search(given, text)).includes(0);
  await pool.query(
    `UPDATE service.token_metadata SET name = 'Renamed.eth', description = 'By a gardener' ${ofToken}`,
    key,
  );
  expect([await asked("renamed.eth"), await asked("gardener"), await asked("vitalik")]).toEqual([true, true, false]);
  await pool.query(`UPDATE service.token_metadata SET name = NULL, description = NULL ${ofToken}`, key);
  expect(await asked("renamed.eth")).toBe(false);
  await pool.query(`DELETE FROM service.token_metadata ${ofToken}`, key);
  expect((await pool.query(`SELECT FROM service.token_words ${ofToken}`, key)).rowCount).toBe(0);
});

test("names from before the words are found by the index of that time, until the worker has come by", async () => {
  const { pool } = database;
  const all = "SELECT count(*)::int AS count FROM service.token_words";
  const before = (await pool.query(all)).rows[0].count;
  await pool.query("TRUNCATE service.token_words");
  const at = stored.indexOf("mail@studio.example");
  expect(await search(given, "temperature")).toEqual([stored.indexOf("Temperature -0.5")]);
  expect(await search(given, "studio")).toEqual([]);
  expect(await passOver(pool, wordsPass, 100)).toBe(false);
  expect((await pool.query(all)).rows[0].count).toBe(100);
  // Written meanwhile, behind the place that the worker has reached.
  await pool.query("UPDATE service.token_metadata SET name = name || '.lamp' WHERE name = 'mail@studio.example'");
  expect(await search(given, "lamp")).toEqual([at]);
  while (!(await passOver(pool, wordsPass, 100)));
  expect((await pool.query(all)).rows[0].count).toBe(before);
  expect(await search(given, "studio")).toEqual([at]);
  // Done: the old index is not asked any more.
  await pool.query("DELETE FROM service.token_words WHERE contract = $1", [Buffer.from(given.slice(2), "hex")]);
  expect(await search(given, "temperature")).toEqual([]);
});
