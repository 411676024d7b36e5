import { randomBytes, randomUUID } from "node:crypto";
import type { ApiServer } from "../setup/api-server.ts";
import { addressOf, type Movement, nobody } from "../setup/nft-fixture.ts";

const [keys, potions, alice, bob] = [0xa1, 0xb2, 0x11, 0x22].map(addressOf) as [string, string, string, string];

/** Puts rows into every list there is, in front of, between and behind those that are there. */
export class GrowingLists {
  readonly #api: ApiServer;
  readonly #account: string;
  #step = 0;
  #car: Promise<string> | null = null;

  constructor(api: ApiServer, account: string) {
    this.#api = api;
    this.#account = account;
  }

  /** One block of movements, a document, an upload and a deployment. Positions jump about. */
  async grow(): Promise<void> {
    const step = this.#step;
    this.#step += 1;
    // Every number below 1,010 once, in no order.
    const place = 1 + ((step * 397) % 1_009);
    const odd = step % 2 === 1;
    const other = `0x${place.toString(16).padStart(8, "0").repeat(5)}`;
    const mint = (more: Partial<Movement>): Movement => ({
      ...{ contract: keys, tokenId: BigInt(place), from: nobody, to: alice, sender: alice },
      ...more,
    });
    await this.#api.nfts.add([
      mint({}),
      mint({ contract: other, tokenId: 7n }),
      mint({ tokenId: BigInt(100_000 + place), to: other }),
      mint({ contract: potions, tokenId: 1n, to: other, amount: 3n, standard: "ERC1155" }),
      mint({ contract: potions, tokenId: BigInt(place), to: alice, amount: 2n, standard: "ERC1155" }),
      // The one token whose history is read: to and fro.
      mint({ tokenId: 5_000n, from: step === 0 ? nobody : odd ? bob : alice, to: odd ? alice : bob }),
    ]);
    const { pool } = this.#api.database;
    await pool.query(
      `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, name, metadata)
       VALUES (31337, $1, $2, 'fresh', 'Golden key', $3)`,
      [bytes(keys), place, JSON.stringify({ attributes: [{ trait_type: "Fur", value: "gold" }] })],
    );
    this.#car ??= pool
      .query(`INSERT INTO service.car (root, file, size) VALUES ('bafytest', $1, 1) RETURNING id`, [randomUUID()])
      .then(({ rows }) => String(rows[0].id));
    await pool.query(
      `INSERT INTO service.upload (account_id, kind, cid, car_id, size, profile, pin_state, created_at)
       VALUES ($1, 'file', 'bafytest', $2, 1, 'test', 'local', to_timestamp($3))`,
      [this.#account, await this.#car, 1_700_000_000 + place],
    );
    await this.#addDeployment(place);
    await this.#addIntent("token_update", place, { tokens: [{ tokenId: String(place), uri: "ipfs://bafytest" }] });
    await this.#addIntent("update", place, { changes: { royaltiesBps: "100" } }, bytes(alice));
  }

  async #addDeployment(place: number): Promise<void> {
    const payload = {
      ...{ name: "Keys", symbol: "K", ownerAddress: alice, treasuryAddress: alice, royaltiesAddress: alice },
      ...{ royaltiesBps: "0", maxSupply: "10", reservedSupply: "0", tokensPerMint: "1", publicMintPriceWei: "0" },
      ...{ presaleMintPriceWei: "0", publicMintStart: "1", presaleMintStart: "0", metadataUpdatable: true },
      ...{ baseUri: "", prerevealTokenUri: "", presaleMerkleRoot: `0x${"00".repeat(32)}`, grantServiceAdmin: true },
    };
    await this.#addIntent("deploy", place, payload);
  }

  async #addIntent(kind: string, place: number, payload: object, of: Buffer = randomBytes(20)): Promise<void> {
    await this.#api.database.pool.query(
      `INSERT INTO service.intent (id, root_id, tenant_id, idem_key, req_hash, chain_id, kind, payload, factory,
         template, owner, init_data, salt, predicted_addr, created_at)
       VALUES ($1::uuid, $1::uuid, $2, $1::uuid::text, $3, 31337, $8, $4, $5, $5, $5, '\\x', $3, $6,
         to_timestamp($7))`,
      [...[randomUUID(), this.#account, randomBytes(32), payload, bytes(alice), of], ...[1_700_000_000 + place, kind]],
    );
  }
}

export interface ListCase {
  /** The GraphQL field that it is a list of: `Type.field`. */
  field: string;
  name: string;
  /** The field with its arguments; `page` is put among them. */
  graphql: (page: string) => string;
  /** From the data to the connection. */
  path: readonly string[];
  /** Selection of a node, and what names it. */
  node: string;
  // Shapes differ from list to list.
  key: (node: ReturnType<typeof JSON.parse>) => string;
  /** Path of the same list over `/v0`, its template in the OpenAPI document, and what names an item there. */
  rest?: { template: string; path: string; items: string; key: (item: ReturnType<typeof JSON.parse>) => string };
  /** The names of what the list has, by SQL over the tables below it. */
  set: string;
  /** What comes and goes meanwhile: nothing is said about it. */
  moving?: string;
  forwardsOnly?: boolean;
}

const wanderer = `${keys}/5000`;

const nftNode = "contractAddress tokenId";
const nftKey = (node: { contractAddress: string; tokenId: string }) => `${node.contractAddress}/${node.tokenId}`;
const restKey = (item: { contract_address: string; token_id: string }) => `${item.contract_address}/${item.token_id}`;
const hex = (address: string) => `'\\x${address.slice(2)}'::bytea`;
const place = (alias: string) => `'0x' || encode(${alias}.contract, 'hex') || '/' || ${alias}.token_id`;
const tokens = (where: string) =>
  `SELECT ${place("t")} AS key FROM c31337_test.token t WHERE t.supply > 0 AND ${where}`;
const held = (where: string) =>
  `SELECT ${place("h")} AS key FROM nft.holding_rows h WHERE h.amount > 0 AND h.owner = ${hex(alice)} AND ${where}`;
const moved = (where: string) =>
  `SELECT block_number || '/' || log_index AS key FROM c31337_test.transfer x WHERE ${where}`;
const transfers = (
  name: string,
  of: "Chain" | "Account" | "Contract" | "Nft",
  key: string,
  where: string,
  rest?: { template: string; path: string },
): ListCase => ({
  ...{ field: `${of}.transfers`, name, path: [of.toLowerCase(), "transfers"], node: "blockNumber logIndex" },
  set: moved(where),
  graphql: (page) => `${of.toLowerCase()}(${key}) { transfers(${of === "Account" ? `chain: "goerli", ${page}` : page})`,
  key: (node) => `${node.blockNumber}/${node.logIndex}`,
  ...(rest
    ? {
        rest: {
          ...rest,
          items: "transactions",
          // What `/v0` shows of a movement has no place in its block; the fixture's names are unique with these.
          key: (item) =>
            [item.block_number, item.contract_address, item.token_id, item.transfer_to ?? item.owner_address].join("/"),
        },
      }
    : {}),
});

/** Each list of the schema at least once. */
export const listCases: readonly ListCase[] = [
  {
    ...{ field: "Account.nfts", name: "what an account holds", path: ["account", "nfts"], node: nftNode, key: nftKey },
    graphql: (page) => `account(address: "${alice}") { nfts(chain: "goerli", ${page})`,
    ...{ set: held("true"), moving: wanderer },
    rest: {
      ...{ template: "/v0/accounts/{account_address}", items: "nfts", key: restKey },
      path: `/v0/accounts/${alice}?chain=goerli`,
    },
  },
  {
    ...{ field: "Account.nfts", name: "what an account holds of one contract", path: ["account", "nfts"] },
    ...{ node: nftNode, key: nftKey, set: held(`h.contract = ${hex(keys)}`), moving: wanderer },
    graphql: (page) => `account(address: "${alice}") { nfts(chain: "goerli", contract: "${keys}", ${page})`,
    rest: {
      ...{ template: "/v0/accounts/{account_address}", items: "nfts", key: restKey },
      path: `/v0/accounts/${alice}?chain=goerli&contract_address=${keys}`,
    },
  },
  {
    ...{ field: "Account.acquiredNfts", name: "what an account acquired", path: ["account", "acquiredNfts"] },
    ...{ node: nftNode, key: nftKey, set: held("true"), moving: wanderer },
    graphql: (page) => `account(address: "${alice}") { acquiredNfts(${page})`,
  },
  {
    ...{ field: "Account.contracts", name: "contracts of an account", path: ["account", "contracts"] },
    ...{ node: "contract { address }", key: (node) => node.contract.address },
    graphql: (page) => `account(address: "${alice}") { contracts(chain: "goerli", ${page})`,
    set: `SELECT DISTINCT '0x' || encode(h.contract, 'hex') AS key FROM nft.holding_rows h
      WHERE h.amount > 0 AND h.owner = ${hex(alice)}`,
    rest: {
      ...{ template: "/v0/accounts/contracts/{account_address}", items: "contracts", key: (item) => item.address },
      path: `/v0/accounts/contracts/${alice}?chain=goerli`,
    },
  },
  {
    ...{ field: "Account.createdNfts", name: "what an account minted", path: ["account", "createdNfts"] },
    ...{ node: nftNode, key: nftKey, set: tokens(`t.creator = ${hex(alice)}`) },
    graphql: (page) => `account(address: "${alice}") { createdNfts(chain: "goerli", ${page})`,
    rest: {
      ...{ template: "/v0/accounts/creators/{account_address}", items: "nfts", key: restKey },
      path: `/v0/accounts/creators/${alice}?chain=goerli`,
    },
  },
  {
    ...{ field: "Contract.nfts", name: "tokens of a contract", path: ["contract", "nfts"], node: nftNode, key: nftKey },
    graphql: (page) => `contract(chain: "goerli", address: "${keys}") { nfts(${page})`,
    set: tokens(`t.contract = ${hex(keys)}`),
    rest: {
      ...{ template: "/v0/nfts/{contract_address}", items: "nfts", key: restKey },
      path: `/v0/nfts/${keys}?chain=goerli`,
    },
  },
  {
    ...{ field: "Contract.nfts", name: "tokens with a trait", path: ["contract", "nfts"], node: nftNode, key: nftKey },
    graphql: (page) =>
      `contract(chain: "goerli", address: "${keys}") { nfts(traits: { name: "Fur", values: ["gold"] }, ${page})`,
    set: tokens(`t.contract = ${hex(keys)} AND EXISTS (SELECT FROM service.token_trait r
      WHERE r.contract = t.contract AND r.token_id = t.token_id)`),
  },
  {
    ...{
      field: "Chain.latestNfts",
      name: "tokens of a chain",
      path: ["chain", "latestNfts"],
      node: nftNode,
      key: nftKey,
    },
    graphql: (page) => `chain(name: "goerli") { latestNfts(${page})`,
    set: tokens("true"),
    rest: { template: "/v0/nfts", path: "/v0/nfts?chain=goerli", items: "nfts", key: restKey },
  },
  {
    ...{ field: "Contract.owners", name: "owners of a contract", path: ["contract", "owners"], node: "address" },
    graphql: (page) => `contract(chain: "goerli", address: "${keys}") { owners(${page})`,
    key: (node) => node.address,
    set: `SELECT DISTINCT '0x' || encode(h.owner, 'hex') AS key FROM nft.holding_rows h
      WHERE h.amount > 0 AND h.contract = ${hex(keys)}`,
    moving: bob,
  },
  {
    ...{
      field: "Contract.holders",
      name: "holders of a contract",
      path: ["contract", "holders"],
      node: "tokenId address",
    },
    graphql: (page) => `contract(chain: "goerli", address: "${potions}") { holders(${page})`,
    key: (node) => `${node.tokenId}/${node.address}`,
    set: `SELECT h.token_id || '/0x' || encode(h.owner, 'hex') AS key FROM nft.holding_rows h
      WHERE h.amount > 0 AND h.owner IS NOT NULL AND h.contract = ${hex(potions)}`,
  },
  {
    ...{ field: "Nft.holders", name: "holders of a token", path: ["nft", "holders"], node: "address" },
    graphql: (page) => `nft(chain: "goerli", contract: "${potions}", tokenId: "1") { holders(${page})`,
    key: (node) => node.address,
    set: `SELECT '0x' || encode(h.owner, 'hex') AS key FROM nft.holding_rows h
      WHERE h.amount > 0 AND h.owner IS NOT NULL AND h.contract = ${hex(potions)} AND h.token_id = 1`,
  },
  transfers("movements of a chain", "Chain", 'name: "goerli"', "true", {
    template: "/v0/transactions",
    path: "/v0/transactions?chain=goerli",
  }),
  transfers(
    "movements of an account",
    "Account",
    `address: "${bob}"`,
    `${hex(bob)} IN (x.from_address, x.to_address)`,
    {
      template: "/v0/transactions/accounts/{account_address}",
      path: `/v0/transactions/accounts/${bob}?chain=goerli`,
    },
  ),
  transfers("movements of a contract", "Contract", `chain: "goerli", address: "${keys}"`, `x.contract = ${hex(keys)}`, {
    template: "/v0/transactions/nfts/{contract_address}",
    path: `/v0/transactions/nfts/${keys}?chain=goerli`,
  }),
  transfers(
    "movements of a token",
    "Nft",
    `chain: "goerli", contract: "${keys}", tokenId: "5000"`,
    `x.contract = ${hex(keys)} AND x.token_id = 5000`,
    {
      template: "/v0/transactions/nfts/{contract_address}/{token_id}",
      path: `/v0/transactions/nfts/${keys}/5000?chain=goerli`,
    },
  ),
  {
    ...{
      field: "Viewer.uploads",
      name: "uploads of the account",
      path: ["viewer", "uploads"],
      node: "id",
      key: (node) => node.id,
    },
    graphql: (page) => `viewer { uploads(${page})`,
    set: "SELECT id::text AS key FROM service.upload",
  },
  {
    ...{ field: "Viewer.deployments", name: "deployments of the account", path: ["viewer", "deployments"], node: "id" },
    graphql: (page) => `viewer { deployments(${page})`,
    key: (node) => node.id,
    set: "SELECT id::text AS key FROM service.intent WHERE kind = 'deploy'",
    forwardsOnly: true,
  },
  {
    ...{ field: "Viewer.mints", name: "requests of the account", path: ["viewer", "mints"], node: "id" },
    graphql: (page) => `viewer { mints(all: true, ${page})`,
    key: (node) => node.id,
    set: "SELECT id::text AS key FROM service.intent WHERE kind = 'token_update'",
    forwardsOnly: true,
  },
  {
    ...{ field: "Viewer.collectionUpdates", name: "updates of a collection", path: ["viewer", "collectionUpdates"] },
    graphql: (page) => `viewer { collectionUpdates(chain: "goerli", collection: "${alice}", ${page})`,
    ...{ node: "id", key: (node) => node.id },
    set: "SELECT id::text AS key FROM service.intent WHERE kind = 'update'",
    forwardsOnly: true,
  },
];

function bytes(address: string): Buffer {
  return Buffer.from(address.slice(2), "hex");
}
