import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";

// A contract with one event of ERC-1155 is of that standard, also where a list shows its tokens of ERC-721. Judged by the
// base table.
const [single, multi, mixed] = [0xa1, 0xa2, 0xa3].map(addressOf) as [string, string, string];
const alice = addressOf(0x11);
const mint = { from: nobody, to: alice };
let api: ApiServer;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start();
  await api.nfts.add([
    { ...mint, contract: single, tokenId: 1n },
    { ...mint, contract: multi, tokenId: 1n, amount: 3n, standard: "ERC1155" },
    { ...mint, contract: mixed, tokenId: 1n },
    { ...mint, contract: mixed, tokenId: 2n, amount: 2n, standard: "ERC1155" },
    { ...mint, contract: mixed, tokenId: 3n },
  ]);
  key = (await api.account("enterprise")).key;
});
afterAll(() => api?.close());

const nodes = "contractAddress tokenId standard contract { address standard }";
const lists = [
  `account(address: "${alice}") { nfts(chain: "goerli", first: 9) { nodes { ${nodes} } } }`,
  `account(address: "${alice}") { nfts(chain: "goerli", last: 9) { edges { node { ${nodes} } } } }`,
  `account(address: "${alice}") { nfts(chain: "goerli", first: 9) { edges { cursor node { ${nodes} } } } }`,
  `chain(name: "goerli") { latestNfts(first: 9) { nodes { ${nodes} } } }`,
];

interface Shown {
  contractAddress: string;
  contract: { standard: string };
}

/** The standard of each contract as every list shows it; all of them say the same. */
async function shown(): Promise<Record<string, string>> {
  const all = new Map<string, Set<string>>();
  const see = (address: string, standard: string) =>
    all.set(address.toLowerCase(), (all.get(address.toLowerCase()) ?? new Set()).add(standard));
  // The first time it is executed, then its plan answers.
  for (const list of lists)
    for (let turn = 0; turn < 3; turn += 1) {
      const { body } = await api.graphql(key, `{ root: ${list} }`);
      const { nfts, latestNfts } = body.data.root;
      const found = (nfts ?? latestNfts) as { nodes?: Shown[]; edges?: { node: Shown }[] };
      for (const node of found.nodes ?? (found.edges ?? []).map((edge) => edge.node))
        see(node.contractAddress, node.contract.standard);
    }
  for (const path of [
    `/v0/accounts/${alice}?chain=goerli&include=contract_information`,
    `/v0/accounts/${alice}?chain=goerli&include=contract_information&page_size=1&page_number=3`,
    "/v0/nfts?chain=goerli&include=contract_information",
  ]) {
    const { status, body } = await api.send("GET", path, key);
    expect(status).toBe(200);
    for (const { contract_address, contract } of body.nfts) see(contract_address, contract.type);
  }
  return Object.fromEntries([...all].map(([address, standards]) => [address, [...standards].join()]));
}

async function judged(): Promise<Record<string, string>> {
  const { rows } = await api.database.pool.query(
    "SELECT '0x' || encode(address, 'hex') AS address, standard FROM nft.contracts WHERE token_count > 0",
  );
  return Object.fromEntries(rows.map(({ address, standard }) => [address, standard]));
}

test("every list shows a contract's own standard, also after a reorganisation took its events of ERC-1155 back", async () => {
  expect(await judged()).toEqual({ [single]: "ERC721", [multi]: "ERC1155", [mixed]: "ERC1155" });
  expect(await shown()).toEqual(await judged());
  const { rows } = await api.database.pool.query(
    "SELECT schemaname AS schema FROM pg_tables WHERE tablename = 'holding' AND schemaname LIKE 'c31337%'",
  );
  await api.database.pool.query(
    `DELETE FROM "${rows[0].schema}".transfer WHERE contract = $1 AND standard = 'ERC1155'`,
    [Buffer.from(mixed.slice(2), "hex")],
  );
  expect(await judged()).toEqual({ [single]: "ERC721", [multi]: "ERC1155", [mixed]: "ERC721" });
  expect(await shown()).toEqual(await judged());
});
