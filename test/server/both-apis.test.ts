import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HttpApi } from "../collections/http-api.ts";
import { input, request, wallet } from "../collections/launch-fixture.ts";
import { uri } from "../products/scenario.ts";
import { createIndexedDatabase } from "../setup/database.ts";
import { addressOf, type NftFixture, nobody } from "../setup/nft-fixture.ts";
import { type Answer, send } from "../setup/send.ts";
import { RelayHarness, randomAddress } from "../transactions/harness.ts";
import { multipartGraphql } from "../uploads/multipart-graphql.ts";

// Each operation once through either API of one server: the same result, and for wrong input the same codes. What only one
// API has, such as the order of its members, is with the tests of its subject.
let h: RelayHarness;
let api: HttpApi;
/** What stands: a collection, a contract for minting with the tokens 7 and 8, and their owner. */
let collection: string;
let deployedBy: string;
let contract: string;
let owner: string;

const chain = "goerli";
const [keys, alice] = [0xa1, 0x11].map(addressOf) as [string, string];
const unknown = "0x38eb6d83ed5b7b771a50cd26eaf55accbd5ab000";
const zeroHash = `0x${"00".repeat(32)}`;

beforeAll(async () => {
  let nfts: NftFixture | undefined;
  h = await RelayHarness.start(
    async () => {
      const indexed = await createIndexedDatabase([31337]);
      [nfts] = indexed.nfts;
      return indexed.database;
    },
    { withOperator: true },
  );
  const limits = { MAX_FILE_BYTES: "100000", MAX_DIRECTORY_FILES: "20", MAX_DIRECTORY_FILE_BYTES: "5000" };
  api = await HttpApi.start(h.process(limits), "enterprise");
  await nfts?.add([1n, 2n, 3n].map((tokenId) => ({ contract: keys, tokenId, from: nobody, to: alice })));
  const token = { chain_id: 31337, contract: Buffer.alloc(20, 0xa1), token_id: "1", status: "fresh" } as const;
  const document = { metadata: JSON.stringify({ name: "Key" }), name: "Key", image: "ipfs://x", token_uri: "ipfs://y" };
  await h.database.db
    .insertInto("service.token_metadata")
    .values({ ...token, ...document })
    .execute();
  await h.database.db
    .insertInto("service.contract_metadata")
    .values({ chain_id: 31337, address: Buffer.alloc(20, 0xa1), name: "Keys", symbol: "TSK", status: "fresh" })
    .execute();

  const [, unlocked = ""] = (await h.chain.request({ method: "eth_accounts" } as never)) as string[];
  owner = unlocked.toLowerCase();
  deployedBy = await settled("/contracts/collections", request({ owner_address: owner, metadata_updatable: true }));
  collection = await contractOf(deployedBy);
  const made = { chain, name: "P", symbol: "P", owner_address: owner, metadata_updatable: true };
  contract = await contractOf(await settled("/contracts", made));
  const token_ids = [7, 8];
  const mint = { chain, contract_address: contract, metadata_uri: uri, mint_to_address: owner };
  for (const token_id of token_ids) await settled("/mints/customizable", { ...mint, token_id });
});
afterAll(async () => {
  await api?.stop();
  await h?.stop();
});

/** Asks for a transaction and runs the worker until it is final. @returns its hash. */
async function settled(path: string, body: unknown): Promise<string> {
  const answer = await api.post(`/v0${path}`, body);
  expect([path, answer.text, answer.status]).toEqual([path, expect.any(String), 200]);
  const hash = String(answer.body["transaction_hash"]);
  const { rows } = await api.services.pool.query(
    `SELECT r.intent_id AS id FROM service.attempt a JOIN service.nonce_reservation r USING (chain_id, addr, nonce)
     WHERE a.hash = decode($1, 'hex')`,
    [hash.slice(2)],
  );
  await h.until(api.services, rows[0].id, ["finalized"]);
  return hash;
}

async function contractOf(hash: string): Promise<string> {
  return String((await api.get(`/v0/contracts/${hash}?chain=${chain}`)).body["contract_address"]);
}

type Json = Answer["body"];
type Ask = () => Promise<Answer>;
/** An operation in the spelling of `/v0` and in that of GraphQL. */
type Spelt = [rest: Ask, graph: Ask];

const get = (path: string) => api.get(`/v0${path}`);
const graph = (query: string, variables: Record<string, unknown> = {}) => api.post("/graphql", { query, variables });

/** A mutation's document: its call, and what its payload shows beside the faults. */
const mutation = (call: string, shown: string, head = "") =>
  `mutation ${head} { ${call} { ${shown} userErrors { code field } } }`;

const deployment = "deployment { transactionHash name symbol owner predictedAddress }";
const deploy = (legacy: object, other: object, dryRun = false): Spelt => [
  () => api.post(`/v0/contracts/collections?dry_run=${dryRun}`, request({ ...legacy })),
  () =>
    graph(
      mutation(
        "deployCollection(input: $input, dryRun: $dryRun)",
        deployment,
        "($input: DeployCollectionInput!, $dryRun: Boolean)",
      ),
      { input: input({ ...other }), dryRun },
    ),
];
const changed = "update { transactionHash collection { address } }";
const update = (legacy: object, other: object): Spelt => [
  () => api.put("/v0/contracts/collections", { chain, contract_address: collection, ...legacy }),
  () =>
    graph(mutation("updateCollection(input: $input)", changed, "($input: UpdateCollectionInput!)"), {
      input: { chain, collection, ...other },
    }),
];
const transaction = "request { transactionHash }";
/** An operation on the contract for minting, or on another. */
const operate = (method: string, path: string, body: object, call: string, of = () => contract): Spelt => [
  () => api.send(method, `/v0${path}`, { chain, contract_address: of(), ...body }),
  () => graph(mutation(call.replace("(", `(chain: "${chain}", contract: "${of()}", `), transaction)),
];

interface Sent {
  name: string;
  text: string;
  type?: string;
}
const stored = "upload { kind pinState cid uri url fileName contentType sizeBytes } userErrors { code field message }";
/** Files through both APIs; `more` is what the GraphQL payload shows beside the upload. */
const upload = (path: string, part: string, files: readonly Sent[], call: string, more = "", key?: string): Spelt => {
  const blob = ({ text, type = "application/json" }: Sent) => new Blob([text], { type });
  const many = part !== "file";
  const names = files.map((_file, index) => (many ? `files.${index}` : "file"));
  const document = `mutation ${many ? "($files: [Upload!]!)" : "($file: Upload!)"} { ${call} { ${more} ${stored} } }`;
  return [
    () => {
      const body = new FormData();
      for (const file of files) body.append(part, blob(file), file.name);
      return send(`${api.base}/v0${path}`, { key: key ?? api.key, body });
    },
    () =>
      multipartGraphql(
        api.base,
        key ?? api.key,
        document,
        many ? { files: files.map(() => null) } : { file: null },
        files.map((file, index) => ({ path: `variables.${names[index]}`, blob: blob(file), name: file.name })),
      ),
  ];
};
const file = (sent: Sent, key?: string) => upload("/files", "file", [sent], "uploadFile(file: $file)", "", key);
const directory = (files: readonly Sent[], dry = false) =>
  upload(
    `/metadata/directory?warnings=true&dry_run=${dry}`,
    "metadata_files",
    files,
    `uploadMetadataDirectory(files: $files, dryRun: ${dry})`,
    "uri fileCount sizeBytes warnings { rule count examples message }",
  );

const sale = {
  name: `Keys ${randomUUID()}`,
  royalties_share: 0,
  metadata_updatable: true,
  prereveal_token_uri: uri,
  presale_mint_start: "2022-07-11T11:30:48+00:00",
  presale_whitelisted_addresses: ["0x66DC3EEF56C3631B0707C7a37c6EbeB3ce291766"],
};
const gap = [0, 1, 3].map((id) => ({ name: `${id}.json`, text: JSON.stringify({ name: `#${id}`, image: "x" }) }));
const asFile = ({ body }: { body: Json }) => ({
  upload: {
    kind: "FILE",
    pinState: "LOCAL",
    cid: body.ipfs_url.split("/").at(-1),
    url: body.ipfs_url,
    fileName: body.file_name,
    contentType: body.content_type,
    sizeBytes: body.file_size,
  },
  userErrors: [],
});
const asDirectory = ({ body }: { body: Json }) => {
  expect(body.warnings.map(({ rule }: Json) => rule)).toContain("token_ids_missing");
  return {
    uri: body.metadata_directory_ipfs_uri,
    fileCount: body.files,
    sizeBytes: body.size_bytes,
    warnings: body.warnings,
    userErrors: [],
  };
};
const asRequest = ({ body }: { body: Json }) => ({
  request: { transactionHash: body.transaction_hash },
  userErrors: [],
});
const items = ({ body }: { body: Json }) =>
  body.nfts.map((nft: Json) => ({ tokenId: nft.token_id, contractAddress: nft.contract_address }));
const nodes = "{ nodes { tokenId contractAddress } }";
const moved = { token_id: 7, transfer_to_address: randomAddress() };

/** What GraphQL's answer has to have, after that of `/v0`. */
const same: [what: string, ask: Spelt, expected: (rest: Answer) => unknown][] = [
  ["a file", file({ name: "hello.txt", text: "hello", type: "text/plain" }), asFile],
  [
    "a file whose bytes contradict its type",
    file({ name: "folder/a.txt", text: "GIF89a rest", type: "text/plain" }),
    asFile,
  ],
  ["a file named in UTF-8", file({ name: "ünï \u{1f600}.svg", text: "<svg/>", type: "image/svg+xml" }), asFile],
  ["a file of no bytes", file({ name: "empty", text: "", type: "application/pdf" }), asFile],
  [
    "a directory",
    directory(gap),
    (rest) => ({
      ...asDirectory(rest),
      upload: { kind: "METADATA_DIRECTORY", url: rest.body.metadata_directory_ipfs_url },
    }),
  ],
  ["a directory's dry run", directory(gap, true), (rest) => ({ ...asDirectory(rest), upload: null })],
  [
    "a metadata document",
    [
      () =>
        api.post("/v0/metadata", {
          ...{ name: "One", description: "d", file_url: "ipfs://x", custom_fields: { edition: 1 } },
          attributes: [{ trait_type: "Level", value: 2, max_value: 10, display_type: "number" }],
        }),
      () =>
        graph(mutation("uploadMetadata(input: $input)", "upload { uri kind pinState }", "($input: MetadataInput!)"), {
          input: {
            ...{ name: "One", description: "d", fileUrl: "ipfs://x", customFields: { edition: 1 } },
            attributes: [{ traitType: "Level", value: 2, maxValue: 10, displayType: "number" }],
          },
        }),
    ],
    ({ body }) => ({ upload: { uri: body.metadata_uri, kind: "METADATA", pinState: "LOCAL" }, userErrors: [] }),
  ],
  [
    "the account's uploads",
    [
      () => get("/me/storage?type=all&page_size=20"),
      () => graph("{ viewer { uploads(first: 20) { nodes { uri kind } } } }"),
    ],
    ({ body }) => ({
      uploads: { nodes: body.storage.map(({ ipfs_uri, type }: Json) => ({ uri: ipfs_uri, kind: type.toUpperCase() })) },
    }),
  ],
  [
    "one deployment",
    deploy(sale, {
      name: sale.name,
      metadataUpdatable: true,
      prerevealTokenUri: uri,
      presaleMintStart: sale.presale_mint_start,
      allowlist: sale.presale_whitelisted_addresses,
    }),
    ({ body }) => ({
      deployment: {
        transactionHash: body.transaction_hash,
        name: sale.name,
        symbol: "TSK",
        owner: wallet.toLowerCase(),
        predictedAddress: body.predicted_address.toLowerCase(),
      },
      userErrors: [],
    }),
  ],
  [
    "a deployment's contract",
    [
      () => get(`/contracts/${deployedBy}?chain=${chain}`),
      () => graph(`{ viewer { deployedContract(chain: "${chain}", transactionHash: "${deployedBy}") } }`),
    ],
    ({ body }) => ({ deployedContract: body.contract_address.toLowerCase() }),
  ],
  [
    "the account's collections",
    [
      () => get(`/me/contracts/collections?chain=${chain}`),
      () =>
        graph(`{ viewer { collections(chain: "${chain}") {
          name symbol transactionHash address maxSupply tokensPerMint baseUri royaltiesBps } } }`),
    ],
    ({ body }) => ({
      collections: body.contracts.map((item: Json) => ({
        name: item.name,
        symbol: item.symbol,
        transactionHash: item.transaction_hash,
        address: item.address,
        maxSupply: String(item.max_supply),
        tokensPerMint: String(item.tokens_per_mint),
        baseUri: item.base_uri,
        royaltiesBps: item.royalties_share,
      })),
    }),
  ],
  [
    "one update of a collection",
    update({ royalties_share: 42 }, { royaltiesBps: 42 }),
    ({ body }) => ({
      update: { transactionHash: body.transaction_hash, collection: { address: collection.toLowerCase() } },
      userErrors: [],
    }),
  ],
  [
    "one contract for minting",
    [
      () => api.post("/v0/contracts", { chain, name: sale.name, symbol: "P", owner_address: wallet }),
      () =>
        graph(mutation("createContract(input: $input)", transaction, "($input: CreateContractInput!)"), {
          input: { chain, name: sale.name, symbol: "P", owner: wallet },
        }),
    ],
    asRequest,
  ],
  [
    "one mint",
    operate(
      "POST",
      "/mints/customizable",
      { metadata_uri: uri, mint_to_address: wallet, token_id: 9 },
      `mint(token: { to: "${wallet}", uri: "${uri}", tokenId: "9" })`,
    ),
    asRequest,
  ],
  [
    "one update of a token",
    operate(
      "PUT",
      "/mints/customizable",
      { token_id: "7", metadata_uri: "ipfs://y" },
      'updateToken(tokenId: "7", uri: "ipfs://y")',
    ),
    asRequest,
  ],
  [
    "one transfer",
    operate(
      "POST",
      "/mints/transfers",
      moved,
      `transfer(tokens: [{ tokenId: "7", to: "${moved.transfer_to_address}" }])`,
    ),
    asRequest,
  ],
  [
    "one burn",
    operate("DELETE", "/mints/customizable", { token_id: 8 }, 'burn(tokens: [{ tokenId: "8" }])'),
    asRequest,
  ],
  [
    "a token",
    [
      () => get(`/nfts/${keys}/1?chain=${chain}`),
      () =>
        graph(`{ nft(chain: "${chain}", contract: "${keys}", tokenId: "1") {
          tokenId name metadataUrl metadata fileUrl owner creator chain contractAddress contract { name symbol standard } } }`),
    ],
    ({ body: { nft, contract } }) => ({
      tokenId: nft.token_id,
      name: nft.metadata.name,
      metadataUrl: nft.metadata_url,
      metadata: nft.metadata,
      fileUrl: nft.file_url,
      owner: nft.owner,
      creator: nft.creator_address,
      chain,
      contractAddress: nft.contract_address,
      contract: { name: contract.name, symbol: contract.symbol, standard: contract.type },
    }),
  ],
  [
    "the tokens of an account",
    [
      () => get(`/accounts/${alice}?chain=${chain}`),
      () => graph(`{ account(address: "${alice}") { nfts(chain: "${chain}") ${nodes} } }`),
    ],
    (rest) => ({ nfts: { nodes: items(rest) } }),
  ],
  [
    "the tokens of a contract",
    [
      () => get(`/nfts/${keys}?chain=${chain}`),
      () => graph(`{ contract(chain: "${chain}", address: "${keys}") { nfts ${nodes} } }`),
    ],
    (rest) => ({ nfts: { nodes: items(rest) } }),
  ],
  [
    "the tokens of a chain",
    [() => get(`/nfts?chain=${chain}`), () => graph(`{ chain(name: "${chain}") { latestNfts ${nodes} } }`)],
    (rest) => ({ latestNfts: { nodes: items(rest) } }),
  ],
];

test.each(same)("the same through both APIs: %s", async (_what, [rest, other], expected) => {
  const legacy = await rest();
  expect([legacy.text, legacy.status]).toEqual([expect.any(String), 200]);
  const { data, errors } = (await other()).body;
  expect(errors).toBeUndefined();
  const wanted = expected(legacy);
  expect(Object.values(data)[0]).toMatchObject(wanted as object);
  // A list that is empty would be like any other.
  expect(JSON.stringify(wanted)).not.toMatch(/(nodes|collections)":\[\]/);
});

/** The faults that an answer names, wherever its API puts them: the code and the member of each. */
function faultsOf({ body }: { body: Json }): [code: string, field: string | null][] {
  if (body.detail) return body.detail.map(({ type, loc }: Json) => [type, loc[0] ?? null]);
  if (body.error) return [[body.error.code, null]];
  if (body.errors) return body.errors.map(({ extensions }: Json) => [extensions.code, extensions.field ?? null]);
  const [payload] = Object.values(body.data) as Json[];
  return payload.userErrors.map(({ code, field }: Json) => [code, field]);
}

const zero = nobody;
const faulty: Sent[] = [
  { name: "0.json", text: "{" },
  { name: "..json", text: "{}" },
  { name: "2.json", text: "[]" },
  { name: "3.png", text: "{}", type: "image/png" },
  // GraphQL's library cuts a file at the largest size of any upload; this one is below that.
  { name: "4.json", text: `{"a":"${"x".repeat(5_000)}"}` },
  { name: "5.json", text: "{}" },
  { name: "folder/5.json", text: '{"other":1}' },
];
const many = Array.from({ length: 21 }, (_, id) => ({ name: `${id}.json`, text: "{}" }));
const large = { name: "large", text: "x".repeat(100_001), type: "text/plain" };

/** The code, and the member at fault in the spelling of each API that names it. */
const refused: [what: string, code: string, members: [rest?: string, graph?: string], ask: Spelt][] = [
  ["a supply of zero", "value_error", ["max_supply", "maxSupply"], deploy({ max_supply: 0 }, { maxSupply: "0" })],
  [
    "the zero address as treasury",
    "invalid_address",
    ["treasury_address", "treasury"],
    deploy({ treasury_address: zero }, { treasury: zero }),
  ],
  ["a chain of no name", "invalid_enumeration", ["chain"], deploy({ chain: "mars" }, { chain: "mars" })],
  [
    "a chain that is not served",
    "chain_not_supported",
    ["chain", "chain"],
    deploy({ chain: "polygon" }, { chain: "polygon" }),
  ],
  ["an address too short", "invalid_address", ["owner_address"], deploy({ owner_address: "0x12" }, { owner: "0x12" })],
  [
    "a date that is none",
    "invalid_date",
    ["public_mint_start"],
    deploy({ public_mint_start: "soon" }, { publicMintStart: "soon" }),
  ],
  [
    "more at once than there are",
    "value_error",
    ["tokens_per_mint", "tokensPerMint"],
    deploy({ tokens_per_mint: 101 }, { tokensPerMint: "101" }),
  ],
  [
    "more reserved than there are",
    "value_error",
    ["team_reserve", "reservedSupply"],
    deploy({ team_reserve: 101 }, { reservedSupply: "101" }),
  ],
  [
    "royalties over the whole",
    "value_error",
    ["royalties_share", "royaltiesBps"],
    deploy({ royalties_share: 10_001 }, { royaltiesBps: 10_001 }),
  ],
  ["a price below nothing", "value_error", ["mint_price"], deploy({ mint_price: -1 }, { mintPriceWei: "-1" })],
  [
    "a dry run of a supply of zero",
    "value_error",
    ["max_supply", "maxSupply"],
    deploy({ max_supply: 0 }, { maxSupply: "0" }, true),
  ],
  ["an update of nothing", "parameter_missing", [], update({}, {})],
  [
    "an update of royalties over the whole",
    "value_error",
    ["royalties_share", "royaltiesBps"],
    update({ royalties_share: 10_001 }, { royaltiesBps: 10_001 }),
  ],
  [
    "an update of a third party",
    "not_found",
    [],
    update({ contract_address: unknown, royalties_share: 1 }, { collection: unknown, royaltiesBps: 1 }),
  ],
  [
    "an update elsewhere",
    "invalid_enumeration",
    ["chain"],
    update({ chain: "mars", royalties_share: 1 }, { chain: "mars", royaltiesBps: 1 }),
  ],
  [
    "a mint in a contract of nobody",
    "not_found",
    [],
    operate(
      "POST",
      "/mints/customizable",
      { metadata_uri: uri, mint_to_address: wallet },
      `mint(token: { to: "${wallet}", uri: "${uri}" })`,
      () => unknown,
    ),
  ],
  [
    "a transfer to nobody",
    "parameter_missing",
    ["transfer_to_address", "to"],
    operate("POST", "/mints/transfers", { token_id: 7 }, 'transfer(tokens: [{ tokenId: "7" }])'),
  ],
  [
    "a burn of a token that is not there",
    "value_error",
    [],
    operate("DELETE", "/mints/customizable", { token_id: 999 }, 'burn(tokens: [{ tokenId: "999" }])'),
  ],
  ["a directory file that is no JSON", "value_error", [], directory([{ name: "0.json", text: "{" }])],
  ["a directory of too many files", "value_error", [], directory(many)],
  ["a file over the limit", "file_too_large", [], file(large)],
  ["a key that is none", "invalid_credentials", [], file({ name: "small", text: "x" }, randomUUID())],
  [
    "a hash of nobody",
    "not_found",
    [],
    [
      () => get(`/contracts/${zeroHash}?chain=${chain}`),
      () => graph(`{ viewer { deployedContract(chain: "${chain}", transactionHash: "${zeroHash}") } }`),
    ],
  ],
  [
    "an unknown token",
    "not_found",
    [],
    [
      () => get(`/nfts/${unknown}/1?chain=${chain}`),
      () => graph(`{ nft(chain: "${chain}", contract: "${unknown}", tokenId: "1") { tokenId } }`),
    ],
  ],
  [
    "a continuation of somewhere else",
    "invalid_continuation_string",
    [],
    [
      () => get(`/accounts/${unknown}?chain=${chain}&continuation=abc`),
      () => graph(`{ account(address: "${unknown}") { nfts(chain: "${chain}", after: "abc") ${nodes} } }`),
    ],
  ],
];

test.each(refused)("refused by both APIs: %s, %s", async (_what, code, members, ask) => {
  for (const [index, each] of ask.entries()) {
    const [fault] = faultsOf(await each());
    expect(fault).toEqual([code, members[index] ?? fault?.[1]]);
  }
});

test("all faults of one deployment are named by both APIs, in the same order", async () => {
  const names = { max_supply: "maxSupply", treasury_address: "treasury", tokens_per_mint: "tokensPerMint" };
  const [rest, other] = deploy(
    { max_supply: 0, treasury_address: zero, tokens_per_mint: 0 },
    { maxSupply: "0", treasury: zero, tokensPerMint: "0" },
  );
  const found = faultsOf(await rest());
  expect(found).toContainEqual(["invalid_address", "treasury_address"]);
  expect(found.length).toBeGreaterThan(2);
  expect(faultsOf(await other())).toEqual(found.map(([code, field]) => [code, names[field as keyof typeof names]]));
});

test("all faults of a directory are named by both APIs, in the same words and order", async () => {
  const [rest, other] = directory(faulty);
  const legacy = (await rest()).body;
  const { upload, userErrors } = (await other()).body.data.uploadMetadataDirectory;
  expect(upload).toBeNull();
  expect(userErrors.length).toBe(6);
  expect(legacy.detail).toEqual(
    userErrors.map(({ code, field, message }: Json) => ({ loc: [field], msg: message, type: code })),
  );
  expect(legacy.error.code).toBe(userErrors[0].code);
});

test("while no node answers both APIs say that the request was kept, and when to ask again", async () => {
  h.proxy.goDown();
  try {
    for (const answer of await Promise.all(deploy({}, {}).map((ask) => ask()))) {
      expect(faultsOf(answer)).toEqual([["service_unavailable", null]]);
      expect(answer.text).toContain("It stays queued until");
      expect(answer.headers.get("retry-after")).toBe("10");
    }
  } finally {
    h.proxy.heal();
  }
});
