import { randomUUID } from "node:crypto";
import { randomAddress } from "../transactions/harness.ts";
import { type Attack, aliased, asked, type Entry, fewBytes, freshAddresses, type Target } from "./attack.ts";

const chain = "goerli";
const at = `chain: "${chain}"`;
const errors = "userErrors { code message }";
const uri = "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii";
const nft = "tokenId name metadata supply owner holders(first: 50) { nodes { address } }";
const listed = (names: readonly string[]) => JSON.stringify(names);
const wallets = freshAddresses;
const other = () => randomUUID();

const receivers = ["burner", "looping", "returning", "reverting"] as const;
const receiver = (target: Target, index: number) => target[receivers[index % receivers.length] ?? "burner"];

const mutation = (
  worst: string,
  field: (target: Target, index: number) => string,
  more: Pick<Attack, "after" | "transaction" | "times" | "places"> = {},
) => asked(worst, (target, index) => `mutation { ${field(target, index)} }`, more);

const ofRequest = `{ ${errors} request { id state } }`;
const ofWebhook = `{ ${errors} secret webhook { id } }`;
const settles = { after: "relay", transaction: true, times: 1 } as const;

function deployment(target: Target, more: string): string {
  return `deployCollection(${more} input: { ${at}, name: "G ${randomUUID()}", symbol: "G", maxSupply: "100",
    tokensPerMint: "5", mintPriceWei: "10000000000000000", owner: "${target.wallet}", treasury: "${target.wallet}",
    publicMintStart: "2022-07-12T11:30:48Z", prerevealTokenUri: "${uri}/${"a".repeat(500)}",
    allowlist: ${listed(wallets(60))}, presaleMintStart: "2022-07-11T11:30:48Z" })
    { ${errors} deployment { id transactionHash } }`;
}

function upload(
  query: string,
  part: string,
  files: (index: number) => readonly string[],
  worst: string,
  more: Pick<Attack, "times"> = {},
): Attack {
  return {
    ...{ worst, ...more },
    run: async (_, asker, index) => {
      const texts = files(index);
      const isList = part === "files";
      const form = new FormData();
      const variables = { [part]: isList ? texts.map(() => null) : null };
      form.append("operations", JSON.stringify({ query, variables }));
      const path = (place: number) => [isList ? `variables.files.${place}` : `variables.${part}`];
      form.append("map", JSON.stringify(Object.fromEntries(texts.map((__, place) => [place, path(place)]))));
      for (const [place, text] of texts.entries()) form.append(String(place), new Blob([text]), `${place}.json`);
      return await asker.send("POST", "/graphql", form, { "x-graphql-yoga-csrf": "1" });
    },
  };
}

const documents = (count: number) =>
  Array.from({ length: count }, () => JSON.stringify({ name: other(), image: uri, attributes: [] }));

/** Root queries, with the most aliases, the largest pages and the deepest documents. */
const queries: Record<string, Entry> = {
  "query account": asked(
    "everything of who holds thousands of tokens",
    (
      target,
    ) => `{ account(address: "${target.holder}") { nfts(${at}, first: 50) { nodes { ${nft} } } contracts(${at}, first: 50) { nodes { contract { address } } }
      createdNfts(${at}, first: 50) { nodes { tokenId } } transfers(${at}, first: 50) { nodes { tokenId } } acquiredNfts(first: 50) { nodes { tokenId } } } }`,
  ),
  "query chain": asked(
    "the newest tokens and movements",
    () =>
      `{ chain(name: "${chain}") { latestNfts(first: 50) { nodes { ${nft} } } transfers(first: 50) { nodes { tokenId nft { name } } } } }`,
  ),
  "query chains": asked("thirty aliases", () => `{ ${aliased(30, () => "chains { name head { block } }")} }`),
  "query collection": asked(
    "thirty aliases",
    (target) => `{ ${aliased(30, () => `collection(${at}, address: "${target.collection}") { abi name }`)} }`,
  ),
  "query contract": [
    asked(
      "owners, holders, traits and statistics of thousands of tokens",
      (target) =>
        `{ contract(${at}, address: "${target.large}") { statistics { transferCount } traits { name } owners(first: 50) { nodes { address } } nfts(first: 50) { nodes { ${nft} } } } }`,
    ),
    asked("a trait filter of eight conditions that finds nothing", (target, index) => [
      `query ($f: TraitFilter) { contract(${at}, address: "${target.large}") { nfts(first: 50, traits: $f) { nodes { tokenId } } } }`,
      { f: { or: Array.from({ length: 8 }, (_, place) => ({ name: `none ${index} ${place} ${Math.random()}` })) } },
    ]),
  ],
  "query deployment": asked(
    "thirty aliases",
    (target) => `{ ${aliased(30, () => `deployment(id: "${target.deployment}") { id progress }`)} }`,
  ),
  "query eligibility": [
    asked(
      "thirty wallets of the list",
      (target, index) =>
        `{ ${aliased(30, (place) => `eligibility(${at}, collection: "${target.collection}", wallet: "${target.listed[index * 30 + place]}") { eligible proof }`)} }`,
      { times: 2, places: 30 },
    ),
    asked(
      "one wallet of the list",
      (target, index) =>
        `{ eligibility(${at}, collection: "${target.collection}", wallet: "${target.listed[190 + index]}") { eligible } }`,
    ),
    asked(
      "thirty contracts that are none",
      () =>
        `{ ${aliased(30, () => `eligibility(${at}, collection: "${randomAddress()}", wallet: "${randomAddress()}") { eligible }`)} }`,
      { times: 2, places: 30 },
    ),
  ],
  "query mintRequest": asked(
    "thirty aliases",
    (target) => `{ ${aliased(30, () => `mintRequest(id: "${target.mintRequest}") { id tokens { to } }`)} }`,
  ),
  "query nft": asked(
    "twenty aliases",
    (target, index) =>
      `{ ${aliased(20, (place) => `nft(${at}, contract: "${target.large}", tokenId: "${index * 20 + place}") { ${nft} }`)} }`,
  ),
  "query nftBatch": asked("a hundred keys", (target) => [
    `query ($k: [NftKey!]!) { nftBatch(keys: $k) { tokenId metadata holders(first: 5) { nodes { address } } } }`,
    { k: Array.from({ length: 100 }, (_, tokenId) => ({ chain, contract: target.large, tokenId: String(tokenId) })) },
  ]),
  "query node": asked("an id that is none", () => `{ ${aliased(30, () => `node(id: "${randomUUID()}") { id }`)} }`),
  "query nodes": asked(
    "ids that are none",
    () => `{ nodes(ids: ${listed(Array.from({ length: 100 }, other))}) { id } }`,
  ),
  "query notIndexed": asked(
    "thirty aliases",
    () => `{ ${aliased(30, () => `notIndexed(${at}, address: "${randomAddress()}") { reason }`)} }`,
  ),
  "query search": asked(
    "ten aliases of one letter",
    (_, index) => `{ ${aliased(10, () => `search(text: "${"abcdefgh"[index % 8]}", first: 50) { tokenId }`)} }`,
  ),
  "query status": asked("thirty aliases", () => `{ ${aliased(30, () => "status { database chains { chain } }")} }`, {
    times: 2,
    places: 30,
  }),
  "query viewer": asked(
    "everything of an account",
    () =>
      `{ viewer { id usage { requestsThisPeriod } keys { id } webhooks { id } deployments(first: 50) { nodes { id } } mints(first: 50, all: true) { nodes { id } } uploads(first: 50) { nodes { cid } } collections(${at}) { address abi } } }`,
  ),
};

const subscriptions: Record<string, Entry> = Object.fromEntries(
  (
    [
      ["collection", (target) => `collection(${at}, collection: "${target.collection}") { minted }`],
      ["deployment", (target) => `deployment(id: "${target.deployment}") { state }`],
      ["events", () => `events(filter: { contracts: ${listed(wallets(50))} }) { id }`],
      ["mintRequest", (target) => `mintRequest(id: "${target.mintRequest}") { state }`],
      ["transfers", () => `transfers(filter: { contracts: ${listed(wallets(50))} }) { id }`],
    ] as [string, (target: Target) => string][]
  ).map(([name, field]) => [
    `subscription ${name}`,
    {
      worst: "a stream that is left at once",
      run: async (target, asker, index) =>
        await asker.watch("POST", "/graphql", {
          query: `subscription { ${field(target)} } # ${asker.key ?? "nobody"} ${index}`,
        }),
    } satisfies Attack,
  ]),
);

const mutations: Record<string, Entry> = {
  "mutation burn": mutation(
    "a token that is none",
    (target) => `burn(${at}, contract: "${target.erc721}", tokens: [{ tokenId: "900" }]) ${ofRequest}`,
    { after: "relay" },
  ),
  "mutation cancelCollectionUpdate": mutation(
    "one that has ended",
    (target) => `cancelCollectionUpdate(id: "${target.update}") { ${errors} update { id } }`,
  ),
  "mutation cancelDeployment": mutation(
    "one that has ended",
    (target) => `cancelDeployment(id: "${target.deployment}") { ${errors} deployment { id } }`,
  ),
  "mutation cancelMintRequest": mutation(
    "one that has ended",
    (target) => `cancelMintRequest(id: "${target.mintRequest}") ${ofRequest}`,
  ),
  "mutation changeWebhook": mutation(
    "the longest filter",
    (target) =>
      `changeWebhook(id: "${target.webhook}", url: "${target.hostileUrl}/redirect", filter: { contracts: ${listed(wallets(50))} }) ${ofWebhook}`,
  ),
  "mutation createContract": mutation(
    "the longest texts",
    (target) =>
      `createContract(input: { ${at}, name: "P ${randomUUID()}", symbol: "P", owner: "${target.wallet}", baseUri: "${uri}/${"a".repeat(400)}" }) ${ofRequest}`,
    settles,
  ),
  "mutation createKey": mutation(
    "another key",
    (_, index) => `createKey(name: "g${index}", scopes: [READ]) { key ${errors} }`,
  ),
  "mutation createWebhook": mutation(
    "the longest filter",
    (target) =>
      `createWebhook(url: "${target.hostileUrl}/slow", filter: { contracts: ${listed(wallets(50))} }) ${ofWebhook}`,
  ),
  "mutation deleteWebhook": mutation("one that is none", () => `deleteWebhook(id: "${other()}") ${ofWebhook}`),
  "mutation deployCollection": [
    mutation("a presale list and long texts", (target) => deployment(target, ""), settles),
    mutation("for a wallet to sign", (target) => deployment(target, `mode: SIGN, sender: "${target.wallet}",`)),
  ],
  "mutation mint": [
    mutation(
      "a long URI",
      (target) =>
        `mint(${at}, contract: "${target.erc721}", token: { to: "${target.wallet}", uri: "${uri}/${"a".repeat(400)}" }) ${ofRequest}`,
      settles,
    ),
    mutation(
      "hostile receivers, checked only",
      (target, index) =>
        `mint(${at}, dryRun: true, contract: "${target.erc721}", token: { to: "${receiver(target, index)}", uri: "${uri}" }) ${ofRequest}`,
      { times: receivers.length },
    ),
  ],
  "mutation mintBatch": mutation(
    "twenty tokens for hostile receivers, each of which is a place of the plan's requests",
    (target) =>
      `mintBatch(${at}, contract: "${target.erc721}", tokens: [${Array.from({ length: 20 }, (_, place) => `{ to: "${receiver(target, place)}", uri: "${uri}" }`).join()}]) { ${errors} requests { id } }`,
    { after: "relay", times: 2, places: 20 },
  ),
  "mutation pauseWebhook": mutation("as it is", (target) => `pauseWebhook(id: "${target.webhook}") ${ofWebhook}`),
  "mutation refreshMetadata": [
    mutation(
      "a document that loops, or a megabyte, or one of a server that sends without end",
      (target, index) =>
        `refreshMetadata(${at}, contract: "${target.talker}", tokenId: "${index + 1}") { status message }`,
      { after: "metadata", times: 6 },
    ),
    mutation(
      "thirty tokens at once",
      (target, index) =>
        aliased(
          30,
          (place) =>
            `refreshMetadata(${at}, contract: "${target.talker}", tokenId: "${100 + index * 30 + place}") { status message }`,
        ),
      { after: "metadata", times: 2, places: 30 },
    ),
    mutation(
      "a contract of thousands of tokens",
      (target) => `refreshMetadata(${at}, contract: "${target.large}") { status message }`,
      { times: 1 },
    ),
  ],
  "mutation replayEvents": mutation(
    "everything, to an endpoint that is slow",
    (target) =>
      `replayEvents(webhook: "${target.webhook}", events: { since: "${new Date(Date.now() - 86_400_000).toISOString()}" }) { replayed ${errors} }`,
    { after: "webhooks" },
  ),
  "mutation reportDeployment": mutation(
    "a transaction that is somebody else's",
    (target) => `reportDeployment(${at}, transactionHash: "${target.mintHash}") { collection ${errors} }`,
  ),
  "mutation resumeWebhook": mutation("as it is", (target) => `resumeWebhook(id: "${target.webhook}") ${ofWebhook}`),
  "mutation revokeKey": mutation("one that is none", () => `revokeKey(id: "${other()}") { ${errors} }`),
  "mutation rotateKey": mutation(
    "the longest overlap",
    (target) => `rotateKey(id: "${target.key}", overlapSeconds: 2592000) { key ${errors} }`,
  ),
  "mutation rotateWebhookSecret": mutation(
    "the longest overlap",
    (target) => `rotateWebhookSecret(id: "${target.webhook}", overlapSeconds: 604800) ${ofWebhook}`,
  ),
  "mutation sendTestEvent": mutation(
    "an endpoint that redirects",
    (target) => `sendTestEvent(webhook: "${target.webhook}") { eventId ${errors} }`,
    { after: "webhooks" },
  ),
  "mutation signUp": mutation(
    "the longest name",
    (_, index) => `signUp(name: "${index} ${"n".repeat(90)}") { accountId ${errors} }`,
  ),
  "mutation transfer": mutation(
    "hostile receivers",
    (target, index) =>
      `transfer(${at}, contract: "${target.erc721}", tokens: [{ tokenId: "1", to: "${receiver(target, index)}" }]) ${ofRequest}`,
    { after: "relay", times: receivers.length },
  ),
  "mutation updateCollection": mutation(
    "a long URI",
    (target) =>
      `updateCollection(input: { ${at}, collection: "${target.collection}", royaltiesBps: 321, prerevealTokenUri: "ipfs://${"b".repeat(400)}" }) { ${errors} update { id transactionHash } }`,
    settles,
  ),
  "mutation updateToken": mutation(
    "a long URI",
    (target) =>
      `updateToken(${at}, contract: "${target.erc721}", tokenId: "1", uri: "${uri}/${"c".repeat(400)}") ${ofRequest}`,
    settles,
  ),
  "mutation verifyWebhook": mutation(
    "an endpoint that redirects",
    (target) => `verifyWebhook(id: "${target.webhook}") ${ofWebhook}`,
    { after: "webhooks" },
  ),
  "mutation uploadFile": upload(
    "mutation ($file: Upload!) { uploadFile(file: $file) { upload { cid } userErrors { code } } }",
    "file",
    () => [other()],
    "a file of a few bytes",
    fewBytes,
  ),
  "mutation uploadMetadata": mutation(
    "a document of a few bytes",
    () =>
      `uploadMetadata(input: { name: "${other()}", description: "d", fileUrl: "${uri}" }) { upload { cid } ${errors} }`,
    fewBytes,
  ),
  "mutation uploadMetadataDirectory": upload(
    "mutation ($files: [Upload!]!) { uploadMetadataDirectory(files: $files) { cid userErrors { code } } }",
    "files",
    () => documents(249),
    "249 files, which count as one upload",
  ),
};

/** Every root field of the GraphQL API. */
export const graphqlAttacks: Record<string, Entry> = { ...queries, ...subscriptions, ...mutations };
