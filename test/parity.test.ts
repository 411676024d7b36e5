import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { type Address, getContract, type Hex, type PublicClient } from "viem";
import { beforeAll, describe, expect, test } from "vitest";
import { connect, type Wallet } from "../bin/demo-wallets.ts";
import { collectionAbi } from "../contracts/abi/collection.ts";
import { Client } from "./setup/client.ts";
import type { Answer } from "./setup/send.ts";
import { leaseStack } from "./setup/shared-stack.ts";
import { temporaryFolder } from "./setup/temporary-folder.ts";
import { type FormFile, multipartGraphql } from "./uploads/multipart-graphql.ts";

// Each operation once through either API of a running stack: the same result, and for wrong input the same code.
const stack = leaseStack();
let client: Client;
let owner: Wallet;
let address: Address;
let hash: string;

const chain = "goerli";
const unknown = "0x38eb6d83ed5b7b771a50cd26eaf55accbd5ab000";
const account = () => owner.account.address.toLowerCase();

beforeAll(async () => {
  client = new Client(stack.ready);
  const { node, createWallet } = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
  owner = await createWallet();
  const metadata = await client.form("/metadata/directory", [
    ["metadata_files", json({ name: "Key", image: "ipfs://x" }), "0.json"],
  ]);
  const deployed = await client.json("/contracts/collections", {
    ...launch(),
    base_uri: metadata.body["metadata_directory_ipfs_uri"],
  });
  hash = String(deployed.body["transaction_hash"]);
  const found = await client.until(`/contracts/${hash}?chain=${chain}`, ({ status }) => status === 200);
  address = found.body["contract_address"] as Address;
  const contract = getContract({
    address,
    abi: collectionAbi,
    client: { public: node as PublicClient, wallet: owner },
  });
  await node.waitForTransactionReceipt({ hash: await contract.write.mint([1n]) });
  await client.until(
    `/nfts/${address}/0?chain=${chain}`,
    ({ body }) => (body["nft"] as { metadata?: unknown } | undefined)?.metadata != null,
  );
});

function launch() {
  const { address: wallet } = owner.account;
  return {
    chain,
    name: "Keys",
    symbol: "TSK",
    max_supply: 3,
    mint_price: 0,
    tokens_per_mint: 1,
    owner_address: wallet,
    treasury_address: wallet,
    public_mint_start: "2026-01-01T00:00:00Z",
  };
}

function launchInput() {
  const { address: wallet } = owner.account;
  return {
    chain,
    name: "Keys",
    symbol: "TSK",
    maxSupply: "3",
    mintPriceWei: "0",
    tokensPerMint: "1",
    owner: wallet,
    treasury: wallet,
    publicMintStart: "2026-01-01T00:00:00Z",
  };
}

function json(value: unknown): Blob {
  return new Blob([JSON.stringify(value)], { type: "application/json" });
}

/** The first field of a GraphQL answer's data. */
function field(answer: Answer): Record<string, unknown> {
  expect(answer.body["errors"]).toBeUndefined();
  return Object.values(answer.body["data"] as Record<string, Record<string, unknown>>)[0] ?? {};
}

/** The code of a failure, wherever the API puts it: errors[] or a mutation's userErrors. */
function code(answer: Answer): unknown {
  const { error, errors, data } = answer.body as {
    error?: { code: string } | null;
    errors?: { extensions: { code: string } }[];
    data?: Record<string, { userErrors?: { code: string }[] }>;
  };
  return error?.code ?? errors?.[0]?.extensions.code ?? Object.values(data ?? {})[0]?.userErrors?.[0]?.code;
}

const multipart = (document: string, files: readonly FormFile[], variables: unknown) =>
  multipartGraphql(new URL(stack.ready.graphql).origin, stack.ready.apiKey, document, variables, files);

const tokenFields = "tokenId name metadataUrl metadata fileUrl owner creator chain contractAddress";

describe("the same result", () => {
  test("files", async () => {
    const blob = new Blob(["hello"], { type: "text/plain" });
    const rest = await client.form("/files", [["file", blob, "hello.txt"]]);
    const document =
      "mutation ($file: Upload!) { uploadFile(file: $file) { upload { url fileName contentType sizeBytes } userErrors { code } } }";
    const graph = await multipart(document, [{ path: "variables.file", blob, name: "hello.txt" }], { file: null });
    expect(field(graph)).toEqual({
      upload: {
        url: rest.body["ipfs_url"],
        fileName: rest.body["file_name"],
        contentType: rest.body["content_type"],
        sizeBytes: rest.body["file_size"],
      },
      userErrors: [],
    });
  });

  test("metadata directories", async () => {
    const files = [0, 1].map((index) => ({
      path: `variables.files.${index}`,
      blob: json({ name: `#${index}` }),
      name: `${index}.json`,
    }));
    const rest = await client.form(
      "/metadata/directory",
      files.map(({ blob, name }) => ["metadata_files", blob, name]),
    );
    const document =
      "mutation ($files: [Upload!]!) { uploadMetadataDirectory(files: $files) { upload { uri url } userErrors { code } } }";
    const graph = await multipart(document, files, { files: [null, null] });
    expect(field(graph)).toEqual({
      upload: { uri: rest.body["metadata_directory_ipfs_uri"], url: rest.body["metadata_directory_ipfs_url"] },
      userErrors: [],
    });
  });

  test("deployments and their contracts", async () => {
    const body = { ...launch(), symbol: "PAR" };
    const rest = await client.json("/contracts/collections", body);
    const document = `mutation ($input: DeployCollectionInput!) {
      deployCollection(input: $input) { deployment { transactionHash name symbol owner } userErrors { code message } }
    }`;
    const graph = await client.graphql(document, { input: { ...launchInput(), symbol: "PAR" } });
    expect(field(graph)).toEqual({
      deployment: { transactionHash: rest.body["transaction_hash"], name: "Keys", symbol: "PAR", owner: account() },
      userErrors: [],
    });
    const query =
      "query ($chain: ChainName!, $hash: Hex!) { viewer { deployedContract(chain: $chain, transactionHash: $hash) } }";
    const found = await client.graphql(query, { chain, hash });
    expect((found.body["data"] as { viewer: { deployedContract: string } }).viewer.deployedContract).toBe(
      address.toLowerCase(),
    );
  });

  test("the account's collections and their presale settings", async () => {
    const rest = (await client.get(`/me/contracts/collections?chain=${chain}`)).body["contracts"];
    const query = `{ viewer { collections(chain: "${chain}") { name symbol transactionHash address maxSupply tokensPerMint baseUri royaltiesBps } } }`;
    const { data } = (await client.graphql(query)).body as { data: { viewer: { collections: unknown[] } } };
    const mine = (rest as Record<string, unknown>[]).map((item) => ({
      name: item["name"],
      symbol: item["symbol"],
      transactionHash: item["transaction_hash"],
      address: item["address"],
      maxSupply: String(item["max_supply"]),
      tokensPerMint: String(item["tokens_per_mint"]),
      baseUri: item["base_uri"],
      royaltiesBps: item["royalties_share"],
    }));
    expect(mine).not.toEqual([]);
    expect(data.viewer.collections).toEqual(mine);
  });

  test("updates: a request through both APIs is one transaction", async () => {
    const rest = await client.put("/contracts/collections", { chain, contract_address: address, royalties_share: 42 });
    const document = `mutation ($input: UpdateCollectionInput!) {
      updateCollection(input: $input) { update { transactionHash collection { address } } userErrors { code message } }
    }`;
    const graph = await client.graphql(document, { input: { chain, collection: address, royaltiesBps: 42 } });
    expect(field(graph)).toEqual({
      update: { transactionHash: rest.body["transaction_hash"], collection: { address: address.toLowerCase() } },
      userErrors: [],
    });
  });

  test("one NFT", async () => {
    const rest = (await client.get(`/nfts/${address}/0?chain=${chain}`)).body["nft"] as Record<string, unknown>;
    const query = `query ($c: Address!) { nft(chain: "${chain}", contract: $c, tokenId: "0") { ${tokenFields} contract { name symbol standard } } }`;
    expect(field(await client.graphql(query, { c: address }))).toEqual({
      tokenId: rest["token_id"],
      name: "Key",
      metadataUrl: rest["metadata_url"],
      metadata: rest["metadata"],
      fileUrl: rest["file_url"],
      owner: rest["owner"],
      creator: rest["creator_address"],
      chain,
      contractAddress: rest["contract_address"],
      contract: { name: "Keys", symbol: "TSK", standard: "ERC721" },
    });
  });

  test.each([
    [
      "an account",
      () => `/accounts/${account()}?chain=${chain}`,
      () => `{ account(address: "${account()}") { nfts(chain: "${chain}") { nodes { tokenId contractAddress } } } }`,
    ],
    [
      "a contract",
      () => `/nfts/${address}?chain=${chain}`,
      () => `{ contract(chain: "${chain}", address: "${address}") { nfts { nodes { tokenId contractAddress } } } }`,
    ],
    [
      "a chain",
      () => `/nfts?chain=${chain}`,
      () => `{ chain(name: "${chain}") { latestNfts { nodes { tokenId contractAddress } } } }`,
    ],
  ])("the NFTs of %s", async (_whose, path, query) => {
    const rest = (await client.get(path())).body["nfts"] as Record<string, unknown>[];
    const graph = field(await client.graphql(query()));
    const { nodes } = (graph["nfts"] ?? graph["latestNfts"]) as { nodes: Record<string, unknown>[] };
    expect(nodes).toEqual(rest.map((nft) => ({ tokenId: nft["token_id"], contractAddress: nft["contract_address"] })));
    expect(nodes).not.toEqual([]);
  });
});

test("every command of docs/launch.md works in its order", { timeout: 300_000 }, async () => {
  const page = readFileSync(new URL("../docs/launch.md", import.meta.url), "utf8");
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
  expect(blocks.length).toBeGreaterThan(6);
  const folder = temporaryFolder();
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
    REST: stack.ready.rest,
    GRAPHQL: stack.ready.graphql,
    API_KEY: stack.ready.apiKey,
    OWNER: owner.account.address,
  };
  const script = ["set -eu -o pipefail", ...blocks].join("\n");
  const { stdout, stderr } = await promisify(execFile)("bash", ["--norc", "-c", script], {
    cwd: folder,
    env,
    timeout: 280_000,
  });
  rmSync(folder, { recursive: true });
  const lines = stdout.trim().split("\n");
  expect(lines[0], stderr).toBe("1");
  expect(lines).toContainEqual(expect.stringMatching(/^ipfs:\/\/bafybei\w+\/$/));
  expect(lines.at(-1)).toMatch(/^0x[0-9a-f]{40}$/);
});

describe("the same code for wrong input", () => {
  const zeroHash = `0x${"00".repeat(32)}` satisfies Hex;
  const deployMutation =
    "mutation ($input: DeployCollectionInput!) { deployCollection(input: $input) { userErrors { code } } }";
  const bad = (
    what: Record<string, unknown>,
    input: Record<string, unknown>,
  ): [() => Promise<Answer>, () => Promise<Answer>] => [
    () => client.json("/contracts/collections", { ...launch(), ...what }),
    () => client.graphql(deployMutation, { input: { ...launchInput(), ...input } }),
  ];
  const zero = `0x${"00".repeat(20)}`;
  const cases: [what: string, expected: string, rest: () => Promise<Answer>, graph: () => Promise<Answer>][] = [
    [
      "a directory file that is no JSON",
      "value_error",
      () =>
        client.form("/metadata/directory", [
          ["metadata_files", new Blob(["{"], { type: "application/json" }), "0.json"],
        ]),
      () =>
        multipart(
          "mutation ($files: [Upload!]!) { uploadMetadataDirectory(files: $files) { userErrors { code } } }",
          [{ path: "variables.files.0", blob: new Blob(["{"], { type: "application/json" }), name: "0.json" }],
          { files: [null] },
        ),
    ],
    [
      "a file over the limit",
      "file_too_large",
      () => client.form("/files", [["file", new Blob([new Uint8Array(20_971_521)]), "big"]]),
      () =>
        multipart(
          "mutation ($file: Upload!) { uploadFile(file: $file) { userErrors { code } } }",
          [{ path: "variables.file", blob: new Blob([new Uint8Array(20_971_521)]), name: "big" }],
          { file: null },
        ),
    ],
    ["a supply of zero", "value_error", ...bad({ max_supply: 0 }, { maxSupply: "0" })],
    ["the zero address as treasury", "invalid_address", ...bad({ treasury_address: zero }, { treasury: zero })],
    ["a chain of no name", "invalid_enumeration", ...bad({ chain: "mars" }, { chain: "mars" })],
    ["a chain that is not served", "chain_not_supported", ...bad({ chain: "polygon" }, { chain: "polygon" })],
    ...([
      ["an update of nothing", "parameter_missing", {}, {}],
      ["royalties over the whole", "value_error", { royalties_share: 10_001 }, { royaltiesBps: 10_001 }],
      ["an update of a third party", "not_found", { contract_address: unknown }, { collection: unknown }],
      ["an update elsewhere", "invalid_enumeration", { chain: "mars" }, { chain: "mars" }],
    ].map(([what, expected, legacy, input]) => [
      what,
      expected,
      () => client.put("/contracts/collections", { chain, contract_address: address, ...(legacy as object) }),
      () =>
        client.graphql(
          "mutation ($input: UpdateCollectionInput!) { updateCollection(input: $input) { userErrors { code } } }",
          { input: { chain, collection: address, ...(input as object) } },
        ),
    ]) as typeof cases),
    [
      "a dry run of a supply of zero",
      "value_error",
      () => client.json("/contracts/collections?dry_run=true", { ...launch(), max_supply: 0 }),
      () =>
        client.graphql(
          "mutation ($input: DeployCollectionInput!) { deployCollection(input: $input, dryRun: true) { userErrors { code } } }",
          { input: { ...launchInput(), maxSupply: "0" } },
        ),
    ],
    [
      "a hash of nobody",
      "not_found",
      () => client.get(`/contracts/${zeroHash}?chain=${chain}`),
      () => client.graphql(`{ viewer { deployedContract(chain: "${chain}", transactionHash: "${zeroHash}") } }`),
    ],
    [
      "an unknown token",
      "not_found",
      () => client.get(`/nfts/${unknown}/1?chain=${chain}`),
      () => client.graphql(`{ nft(chain: "${chain}", contract: "${unknown}", tokenId: "1") { tokenId } }`),
    ],
    [
      "a continuation of somewhere else",
      "invalid_continuation_string",
      () => client.get(`/accounts/${unknown}?chain=${chain}&continuation=abc`),
      () =>
        client.graphql(
          `{ account(address: "${unknown}") { nfts(chain: "${chain}", after: "abc") { nodes { tokenId } } } }`,
        ),
    ],
  ];

  test.each(cases)("%s: %s", async (_what, expected, rest, graph) => {
    expect(code(await rest())).toBe(expected);
    expect(code(await graph())).toBe(expected);
  });
});
