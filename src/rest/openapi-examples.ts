/* Examples of the OpenAPI document. A test sends each body and checks each example against its schema. */

const wallet = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";
const friend = "0x66DC3EEF56C3631B0707C7a37c6EbeB3ce291766";
const contract = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
const hash = "0x8f2b1c6d0e4a7935b81f60c2d7e94a5b3c1d8e7f6a5b4c3d2e1f0a9b8c7d6e5f";
const block = "0x1c6d0e4a7935b81f60c2d7e94a5b3c1d8e7f6a5b4c3d2e1f0a9b8c7d6e5f8f2b";
const document = "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii";
const image = "ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
const folder = "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/";
const gateway = "http://127.0.0.1:3000/ipfs";

const place = { chain: "polygon", contract_address: contract };
const transaction = { transaction_hash: hash, transaction_external_url: `https://polygonscan.com/tx/${hash}` };
const sent = { ...place, ...transaction };
const ok = <T extends object>(members: T) => ({ response: "OK", ...members, error: null });
const key = {
  id: "key_5f0c4e2a9b7d4c1f8e3a6b5d2c9f1e7a",
  name: "Build server",
  scopes: ["read", "upload"],
  created_at: "2026-01-31T12:00:00.000Z",
  expires_at: "2027-01-31T12:00:00.000Z",
  revoked_at: null,
  last_used_at: null,
  wallet: null,
};
const spellings = {
  api_key: "mty_live_…",
  legacy_api_key: "3f0c4e2a-9b7d-4c1f-8e3a-6b5d2c9f1e7a",
};
const deployment = {
  chain: "polygon",
  name: "Keys",
  symbol: "KEY",
  max_supply: 1000,
  team_reserve: 10,
  mint_price: 0.01,
  presale_mint_price: 0.005,
  tokens_per_mint: 5,
  owner_address: wallet,
  treasury_address: wallet,
  presale_mint_start: "2036-01-01T12:00:00+00:00",
  public_mint_start: "2036-01-02T12:00:00+00:00",
  presale_whitelisted_addresses: [wallet, friend],
  prereveal_token_uri: document,
  royalties_share: 500,
};
const metadata = {
  name: "Key #1",
  description: "Opens the first door.",
  file_url: image,
  attributes: [{ trait_type: "Colour", value: "red" }],
};
const tokenDocument = { name: "Key #1", description: "Opens the first door.", image };
const token = { chain: "polygon", contract_address: contract.toLowerCase(), token_id: "1" };
const reading = { metadata_status: "FRESH", metadata_error: null, metadata_warnings: [] };
const files = {
  file_url: image,
  animation_url: null,
  cached_file_url: `${gateway}/${image.slice(7)}`,
  cached_animation_url: null,
};
const contractRecord = {
  name: "Keys",
  symbol: "KEY",
  type: "ERC721",
  metadata: {
    description: null,
    thumbnail_url: null,
    cached_thumbnail_url: null,
    banner_url: null,
    cached_banner_url: null,
    royalty_bps: 500,
  },
};
const movement = {
  type: "mint",
  owner_address: wallet.toLowerCase(),
  contract_address: contract.toLowerCase(),
  token_id: "1",
  quantity: 1,
  transaction_hash: hash,
  block_hash: block,
  block_number: 50_000_000,
  transaction_date: "2026-01-31T12:00:00",
};
const movements = { answer: ok({ transactions: [movement], continuation: null }) };
const filter = {
  types: ["nft.transfer"],
  chains: ["polygon"],
  contracts: [contract.toLowerCase()],
  accounts: [],
  tokenIds: [],
  finality: "finalized",
};
const endpoint = {
  id: "wh_5f0c4e2a9b7d4c1f8e3a6b5d2c9f1e7a",
  url: "https://example.com/hook",
  description: "Shop",
  ...filter,
  state: "enabled",
  disabledReason: null,
  disabledAt: null,
  waiting: null,
  verifiedAt: "2026-01-31T12:00:05.000Z",
  verificationTry: null,
  verificationAt: null,
  failingSince: null,
  publicKey: "whpk_…",
  createdAt: "2026-01-31T12:00:00.000Z",
};
const oneEndpoint = { answer: ok({ webhook: endpoint }) };
const change = { answer: ok(sent) };

/** By method and path: a request body, and an answer with status 200. */
export const examples: Readonly<Record<string, { body?: unknown; answer?: unknown }>> = {
  "get /v0/": {
    answer: { title: "Mintyard", description: "NFT launch and data service", version: "1.0.0" },
  },
  "post /v0/signup": {
    body: { name: "Key shop", email: "shop@example.com" },
    answer: ok({ account_id: "8e3a6b5d-2c9f-4e7a-9b7d-4c1f5f0c4e2a", tier: "free", ...spellings }),
  },
  "get /v0/me/keys": { answer: ok({ keys: [key] }) },
  "post /v0/me/keys": {
    body: { name: "Build server", scopes: ["read", "upload"], expires_at: "2036-01-31T12:00:00Z" },
    answer: ok({ ...spellings, key }),
  },
  "post /v0/me/keys/{id}/rotate": { body: { overlap_seconds: 3600 }, answer: ok({ ...spellings, key }) },
  "delete /v0/me/keys/{id}": { answer: ok({ key: { ...key, revoked_at: "2026-02-01T12:00:00.000Z" } }) },

  "post /v0/files": {
    answer: ok({
      ipfs_url: `${gateway}/${image.slice(7)}`,
      file_name: "key.png",
      content_type: "image/png",
      file_size: 524_288,
      file_size_mb: 0.5,
    }),
  },
  "post /v0/metadata": {
    body: metadata,
    answer: ok({
      metadata_uri: document,
      ...metadata,
      external_url: null,
      animation_url: null,
      custom_fields: null,
      attributes: [{ trait_type: "Colour", value: "red", max_value: null, display_type: null }],
    }),
  },
  "post /v0/metadata/directory": {
    answer: ok({
      metadata_directory_ipfs_uri: folder,
      metadata_directory_ipfs_url: `${gateway}/${folder.slice(7, -1)}`,
    }),
  },
  "get /v0/me/storage": {
    answer: ok({
      storage: [
        {
          storage_type: "metadata",
          type: "metadata",
          ipfs_uri: document,
          ipfs_url: `${gateway}/${document.slice(7)}`,
          uploaded_date: "2026-01-31T12:00:00.388951",
          metadata: tokenDocument,
        },
      ],
    }),
  },

  "post /v0/contracts/collections": {
    body: deployment,
    answer: ok({
      chain: "polygon",
      ...transaction,
      owner_address: wallet,
      name: "Keys",
      symbol: "KEY",
      predicted_address: contract,
    }),
  },
  "put /v0/contracts/collections": {
    body: { ...place, base_uri: folder, public_mint_start: "2036-01-01T00:00:00+00:00" },
    answer: ok({ chain: "polygon", ...transaction }),
  },
  "get /v0/contracts/{transaction_hash}": { answer: ok({ ...place, transaction_hash: hash }) },

  "post /v0/contracts": {
    body: { chain: "polygon", name: "Tickets", symbol: "TIX", owner_address: wallet, metadata_updatable: true },
    answer: ok({
      chain: "polygon",
      ...transaction,
      owner_address: wallet,
      type: "erc721",
      name: "Tickets",
      symbol: "TIX",
    }),
  },
  "put /v0/contracts": {
    body: { ...place, royalties_share: 500, royalties_address: wallet },
    answer: ok({ chain: "polygon", ...transaction, freeze_metadata: null }),
  },

  "post /v0/mints/customizable": {
    body: { ...place, metadata_uri: document, mint_to_address: friend },
    answer: ok({ ...sent, metadata_uri: document, mint_to_address: friend }),
  },
  "put /v0/mints/customizable": {
    body: { ...place, token_id: "1", metadata_uri: document, freeze_metadata: true },
    ...change,
  },
  "delete /v0/mints/customizable": { body: { ...place, token_id: "1" }, ...change },
  "post /v0/mints/customizable/batch": {
    body: {
      ...place,
      tokens: [
        { mint_to_address: wallet, token_id: "1", metadata_uri: document, quantity: 5 },
        { mint_to_address: friend, token_id: "2", metadata_uri: document, quantity: 3 },
      ],
    },
    answer: ok({
      ...sent,
      tokens: [
        { mint_to_address: wallet, token_id: "1", metadata_uri: document, quantity: 5 },
        { mint_to_address: friend, token_id: "2", metadata_uri: document, quantity: 3 },
      ],
    }),
  },
  "delete /v0/mints/customizable/batch": {
    body: { ...place, tokens: [{ token_id: "1", quantity: 2 }] },
    ...change,
  },
  "post /v0/mints/transfers": { body: { ...place, token_id: "1", transfer_to_address: friend }, ...change },
  "post /v0/mints/transfers/batch": {
    body: { ...place, tokens: [{ transfer_to_address: friend, token_id: "1", quantity: 2 }] },
    ...change,
  },
  "post /v0/mints/easy/urls": {
    body: {
      chain: "polygon",
      name: "Key #1",
      description: "Opens the first door.",
      file_url: image,
      mint_to_address: friend,
    },
    answer: ok({ ...sent, mint_to_address: friend, name: "Key #1", description: "Opens the first door." }),
  },
  "get /v0/mints/{transaction_hash}": { answer: ok({ ...place, token_id: "1" }) },
  "get /v0/mints/batch/{transaction_hash}": { answer: ok({ ...place, token_ids: ["1", "2"] }) },

  "get /v0/nfts": { answer: ok({ nfts: [token], continuation: null }) },
  "get /v0/nfts/{contract_address}": {
    answer: ok({ nfts: [token], contract: contractRecord, total: 1, continuation: null }),
  },
  "get /v0/nfts/{contract_address}/{token_id}": {
    answer: ok({
      nft: {
        ...token,
        metadata_url: document,
        metadata: tokenDocument,
        file_information: { height: 512, width: 512, file_size: 524_288 },
        ...files,
        creator_address: wallet.toLowerCase(),
        mint_date: "2026-01-31T12:00:00",
        updated_date: "2026-01-31T12:00:03.388951",
        rarity: null,
        owner: friend.toLowerCase(),
        ...reading,
      },
      owner: friend.toLowerCase(),
      contract: contractRecord,
    }),
  },
  "get /v0/accounts/{account_address}": {
    answer: ok({
      nfts: [
        {
          contract_address: token.contract_address,
          token_id: "1",
          name: "Key #1",
          description: "Opens the first door.",
          ...files,
          creator_address: wallet.toLowerCase(),
          chain: "polygon",
        },
      ],
      total: 1,
      continuation: null,
    }),
  },
  "get /v0/accounts/contracts/{account_address}": {
    answer: ok({
      contracts: [{ ...contractRecord, address: contract.toLowerCase(), num_nfts_owned: 1 }],
      total: 1,
      continuation: null,
    }),
  },
  "get /v0/search": {
    answer: ok({
      search_results: [
        {
          ...token,
          cached_file_url: files.cached_file_url,
          name: "Key #1",
          description: "Opens the first door.",
          mint_date: "2026-01-31T12:00:00",
        },
      ],
    }),
  },
  "get /v0/transactions": movements,
  "get /v0/transactions/accounts/{account_address}": movements,
  "get /v0/transactions/nfts/{contract_address}": movements,
  "get /v0/transactions/nfts/{contract_address}/{token_id}": movements,

  "get /v1/webhooks": { answer: ok({ webhooks: [endpoint] }) },
  "post /v1/webhooks": {
    body: { url: "https://example.com/hook", description: "Shop", ...filter },
    answer: ok({ webhook: { ...endpoint, state: "unverified", verifiedAt: null }, secret: "whsec_…" }),
  },
  "get /v1/webhooks/{id}": oneEndpoint,
  "patch /v1/webhooks/{id}": { body: { contracts: [contract], finality: "safe" }, ...oneEndpoint },
  "delete /v1/webhooks/{id}": oneEndpoint,
  "post /v1/webhooks/{id}/pause": { answer: ok({ webhook: { ...endpoint, state: "paused" } }) },
  "post /v1/webhooks/{id}/resume": oneEndpoint,
  "post /v1/webhooks/{id}/verify": oneEndpoint,
  "post /v1/webhooks/{id}/rotate": {
    body: { overlapSeconds: 3600 },
    answer: ok({ webhook: endpoint, secret: "whsec_…" }),
  },
  "post /v1/webhooks/{id}/test": {
    body: { type: "mint.confirmed" },
    answer: ok({ eventId: "evt_5f0c4e2a9b7d4c1f8e3a6b5d2c9f1e7a" }),
  },
  "post /v1/webhooks/{id}/replay": {
    body: { since: "2026-01-31T12:00:00Z", until: "2026-01-31T13:00:00Z" },
    answer: ok({ replayed: 42 }),
  },
};
