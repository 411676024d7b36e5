import { randomUUID } from "node:crypto";
import pg from "pg";
import { createPublicClient, http } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client } from "../setup/client.ts";
import type { Answer } from "../setup/send.ts";
import { leaseStack } from "../setup/shared-stack.ts";

const someone = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";
const contract = "0x38eb6d83ed5b7b771a50cd26eaf55accbd5ab000";
const hash = `0x${"ab".repeat(32)}`;

const stack = leaseStack();
let client: Client;
let database: pg.Client;

beforeAll(async () => {
  client = new Client(stack.ready);
  database = new pg.Client({ connectionString: stack.ready.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database.end();
});

/** What must not move when input is wrong: rows of uploads and intents, and the relayer's nonce on the chain. */
async function footprint(): Promise<unknown> {
  const { rows } = await database.query(
    `SELECT (SELECT count(*) FROM service.upload) AS uploads,
            (SELECT count(*) FROM service.intent) AS intents,
            (SELECT count(*) FROM service.attempt) AS attempts`,
  );
  const chain = createPublicClient({ transport: http(stack.ready.rpcUrl ?? "") });
  const nonce = await chain.getTransactionCount({ address: stack.ready.relayer as `0x${string}`, blockTag: "pending" });
  return { ...rows[0], nonce };
}

const launch = {
  chain: "goerli",
  name: "Keys",
  symbol: "TSK",
  max_supply: 100,
  mint_price: 0.01,
  tokens_per_mint: 5,
  owner_address: someone,
  treasury_address: someone,
  public_mint_start_date: "2026-01-01T00:00:00+00:00",
};
const zero = "0x0000000000000000000000000000000000000000";
const json = new Blob(['{"name":"a"}'], { type: "application/json" });
type Part = [name: string, value: Blob | string, fileName?: string];

const deploy = (change: Record<string, unknown>) => () =>
  client.json("/contracts/collections", { ...launch, ...change });
const update = (change: Record<string, unknown>) => () =>
  client.put("/contracts/collections", { chain: "goerli", contract_address: contract, ...change });
const directory =
  (...parts: Part[]) =>
  () =>
    client.form("/metadata/directory", parts);

const cases: [what: string, send: () => Promise<Answer>, status: number, code: string][] = [
  ["POST /files without a file", () => client.form("/files", [["other", "text"]]), 422, "parameter_missing"],
  ["POST /files with JSON", () => client.json("/files", {}), 415, "unsupported_media_type"],
  [
    "POST /files over 20 MB",
    () => client.form("/files", [["file", new Blob([new Uint8Array(20_971_521)]), "big.bin"]], true),
    413,
    "file_too_large",
  ],
  ["a directory without files", directory(["other", "text"]), 422, "parameter_missing"],
  [
    "a directory with a part that is no JSON",
    directory(["metadata_files", new Blob(["{oops"], { type: "application/json" }), "0.json"]),
    422,
    "value_error",
  ],
  [
    "a directory with a JSON array",
    directory(["metadata_files", new Blob(["[]"], { type: "application/json" }), "0.json"]),
    422,
    "value_error",
  ],
  [
    "a directory with two files of one name",
    directory(
      ["metadata_files", json, "0.json"],
      ["metadata_files", new Blob(["{}"], { type: "application/json" }), "a/0.json"],
    ),
    422,
    "value_error",
  ],
  ["a directory with a file named ..", directory(["metadata_files", json, ".."]), 422, "value_error"],
  ["deploy with a body that is no JSON", () => client.json("/contracts/collections", "{"), 422, "value_error"],
  ["deploy with an array", () => client.json("/contracts/collections", []), 422, "invalid_type"],
  ...[
    "chain",
    "name",
    "symbol",
    "max_supply",
    "mint_price",
    "tokens_per_mint",
    "owner_address",
    "treasury_address",
    "public_mint_start_date",
  ].map((member): [string, () => Promise<Answer>, number, string] => [
    `deploy without ${member}`,
    deploy({ [member]: undefined }),
    422,
    "parameter_missing",
  ]),
  ["deploy on a chain of no name", deploy({ chain: "dogecoin" }), 422, "invalid_enumeration"],
  ["deploy on a chain that is not served", deploy({ chain: "ethereum" }), 422, "chain_not_supported"],
  ["deploy with a max_supply of 0", deploy({ max_supply: 0 }), 422, "value_error"],
  ["deploy with a max_supply that is text", deploy({ max_supply: "many" }), 422, "invalid_type"],
  ["deploy with a negative price", deploy({ mint_price: -1 }), 422, "value_error"],
  ["deploy with 19 decimals", deploy({ mint_price: "0.0000000000000000001" }), 422, "value_error"],
  ["deploy with more per mint than the supply", deploy({ tokens_per_mint: 101 }), 422, "value_error"],
  ["deploy with a reserve over the supply", deploy({ team_reserve: 101 }), 422, "value_error"],
  ["deploy with royalties over 100 %", deploy({ royalties_share: 10_001 }), 422, "value_error"],
  ["deploy with a bad owner", deploy({ owner_address: "0x12" }), 422, "invalid_address"],
  ["deploy with the zero address as treasury", deploy({ treasury_address: zero }), 422, "invalid_address"],
  ["deploy with a bad date", deploy({ public_mint_start_date: "tomorrow" }), 422, "invalid_date"],
  ["deploy with a 31st of February", deploy({ public_mint_start_date: "2026-02-31" }), 422, "invalid_date"],
  [
    "deploy with a bad whitelist entry",
    deploy({ presale_whitelisted_addresses: [someone, "bob"] }),
    422,
    "invalid_address",
  ],
  ["a dry run of nothing", () => client.json("/contracts/collections?dry_run=true", {}), 422, "parameter_missing"],
  [
    "a dry run that is neither true nor false",
    () => client.json("/contracts/collections?dry_run=maybe", launch),
    422,
    "invalid_type",
  ],
  [
    "a dry run with a supply of 0",
    () => client.json("/contracts/collections?dry_run=1", { ...launch, max_supply: 0 }),
    422,
    "value_error",
  ],
  ["update with an empty body", () => client.put("/contracts/collections", {}), 422, "parameter_missing"],
  ["update without a contract", update({ contract_address: undefined }), 422, "parameter_missing"],
  ["update of no address", update({ contract_address: "0x12" }), 422, "invalid_address"],
  ["update on a chain of no name", update({ chain: "mars" }), 422, "invalid_enumeration"],
  ["update of somebody else's contract", update({ base_uri: "ipfs://x/" }), 404, "not_found"],
  ["update with a bad date", update({ presale_mint_start_date: "later" }), 422, "invalid_date"],
  ["update with a list that is none", update({ presale_whitelisted_addresses: someone }), 422, "invalid_type"],
  ["update with a freeze that is no boolean", update({ freeze_metadata: "cold" }), 422, "invalid_type"],
  ["own collections without a chain", () => client.get("/me/contracts/collections"), 422, "parameter_missing"],
  [
    "own collections with an unknown include",
    () => client.get("/me/contracts/collections?chain=goerli&include=secrets"),
    422,
    "invalid_enumeration",
  ],
  ["the ABI of no address", () => client.get("/me/contracts/abis/0x1?chain=goerli"), 422, "invalid_address"],
  ["the ABI of an unknown contract", () => client.get(`/me/contracts/abis/${contract}?chain=goerli`), 404, "not_found"],
  ["lookup of no hash", () => client.get("/contracts/0x12?chain=goerli"), 422, "value_error"],
  ["lookup of an unknown hash", () => client.get(`/contracts/${hash}?chain=goerli`), 404, "not_found"],
  ["lookup without a chain", () => client.get(`/contracts/${hash}`), 422, "parameter_missing"],
  ["account of no address", () => client.get("/accounts/bob?chain=goerli"), 422, "invalid_address"],
  ["account without a chain", () => client.get(`/accounts/${someone}`), 422, "parameter_missing"],
  ["account on a chain of no name", () => client.get(`/accounts/${someone}?chain=mars`), 422, "invalid_enumeration"],
  [
    "account with an unknown include",
    () => client.get(`/accounts/${someone}?chain=goerli&include=everything`),
    422,
    "invalid_enumeration",
  ],
  ["account with a page of 51", () => client.get(`/accounts/${someone}?chain=goerli&page_size=51`), 422, "value_error"],
  [
    "account with a bad continuation",
    () => client.get(`/accounts/${someone}?chain=goerli&continuation=xyz`),
    422,
    "invalid_continuation_string",
  ],
  ["an unknown contract", () => client.get(`/nfts/${contract}?chain=goerli`), 404, "not_found"],
  ["a contract of no address", () => client.get("/nfts/0x1?chain=goerli"), 422, "invalid_address"],
  ["a contract with page 0", () => client.get(`/nfts/${contract}?chain=goerli&page_number=0`), 422, "value_error"],
  ["an unknown token", () => client.get(`/nfts/${contract}/1?chain=goerli`), 404, "not_found"],
  ["a token id that is no number", () => client.get(`/nfts/${contract}/one?chain=goerli`), 422, "value_error"],
  ["a token id of 2^256", () => client.get(`/nfts/${contract}/${2n ** 256n}?chain=goerli`), 422, "value_error"],
  ["all NFTs without a chain", () => client.get("/nfts"), 422, "parameter_missing"],
  [
    "all NFTs with a bad continuation",
    () => client.get("/nfts?chain=goerli&continuation=%00"),
    422,
    "invalid_continuation_string",
  ],
  ["a path that is not served", () => client.get("/nothing"), 404, "not_found"],
  ["a method that is not served", () => client.json("/nfts?chain=goerli", {}), 405, "method_not_allowed"],
  ["an operation that is not built", () => client.json("/duplicates/urls", {}), 501, "not_implemented"],
];

test.each(cases)("%s", async (_what, send, status, code) => {
  const before = await footprint();
  const answer = await send();
  expect(answer.body).toMatchObject({
    response: "NOK",
    error: { status_code: status, code, message: expect.stringMatching(/\w/) },
  });
  expect(answer.status).toBe(status);
  expect(await footprint()).toEqual(before);
});

test("a method that is not served is refused with those that are (RFC 9110, 15.5.6)", async () => {
  const answer = await client.put("/me/keys", {});
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, POST"]);
  expect(answer.body.error.fix).toContain("GET, POST");
});

describe("the key comes before anything else", () => {
  const paths: [method: "GET" | "POST", path: string][] = [
    ["POST", "/files"],
    ["POST", "/metadata/directory"],
    ["POST", "/contracts/collections"],
    ["GET", `/contracts/${hash}`],
    ["GET", "/accounts/bob"],
    ["GET", "/nfts/bob"],
    ["GET", "/nfts/bob/x"],
    ["GET", "/nfts"],
  ];
  const keys: [key: string, status: number, code: string][] = [
    ["", 401, "authorization_missing"],
    ["secret", 401, "invalid_api_key"],
    [randomUUID(), 403, "invalid_credentials"],
  ];
  test.each(paths.flatMap(([method, path]) => keys.map((key) => [method, path, ...key] as const)))(
    "%s %s with key '%s' is %i",
    async (method, path, key, status, code) => {
      const thirdParty = new Client(stack.ready, key);
      const answer = method === "GET" ? await thirdParty.get(path) : await thirdParty.json(path, {});
      expect(answer.status).toBe(status);
      expect(answer.body).toMatchObject({ response: "NOK", error: { code } });
    },
  );

  test("a GraphQL field that needs a key says so by the same codes", async () => {
    const document = "query ($a: Address!) { account(address: $a) { address } }";
    for (const [key, , code] of keys) {
      const answer = await new Client(stack.ready, key).graphql(document, { a: someone });
      expect(answer.body["errors"]).toMatchObject([{ extensions: { code } }]);
    }
  });
});
