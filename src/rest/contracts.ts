import { Readable } from "node:stream";
import { type Address, getAddress } from "viem";
import { readAllowlist } from "../collections/allowlists.ts";
import { type Collection, listCollections } from "../collections/collections.ts";
import { getContractAbi } from "../collections/contract-abi.ts";
import { findDeployedContract } from "../collections/find-deployed-contract.ts";
import { LongWork } from "../long-work.ts";
import { contractChangeFields, contractFields, createContract } from "../products/create-contract.ts";
import { type ListedProduct, listProducts } from "../products/lists.ts";
import { updateContract } from "../products/update-contract.ts";
import { renamerOf } from "../requests/fields.ts";
import type { Services } from "../services.ts";
import { ok, RawJson, toJson } from "./answer.ts";
import { bodyOf, type V0App } from "./app.ts";
import { readBody } from "./bodies.ts";
import { Input } from "./input.ts";
import { carriedOut } from "./mints.ts";
import { addressParameter, chainParameter, includeParameter, queryInput } from "./query.ts";
import { decimalOf, naiveMicros, naiveSeconds, transactionMembers } from "./values.ts";

const required = { required: true };

/** Product contracts, in which the service mints for its clients: POST and PUT /contracts, GET /me/contracts */
export function addProductContracts(app: V0App, services: Services): void {
  app.post("/contracts", async (c) => {
    const input = Input.fromBody(await bodyOf(c, services));
    const asked = readBody(input, contractFields);
    input.check();
    const request = await carriedOut(
      c,
      services,
      (caller, idempotencyKey) => createContract(services, caller, { ...asked, idempotencyKey }),
      renamerOf("v0", contractFields),
    );
    const { chain, ownerAddress, type = "erc721", name, symbol } = asked;
    return ok(c, { chain, ...transactionMembers(request, chain), owner_address: ownerAddress, type, name, symbol });
  });

  app.put("/contracts", async (c) => {
    const input = Input.fromBody(await bodyOf(c, services));
    const asked = readBody(input, contractChangeFields);
    input.check();
    const request = await carriedOut(
      c,
      services,
      (caller, idempotencyKey) => updateContract(services, caller, { ...asked, idempotencyKey }),
      renamerOf("v0", contractChangeFields),
    );
    const { chain, freezeMetadata = null } = asked;
    return ok(c, { chain, ...transactionMembers(request, chain), freeze_metadata: freezeMetadata });
  });

  app.get("/contracts/:hash", async (c) => {
    const input = queryInput(c);
    const chain = input.text("chain", required);
    input.check();
    const transactionHash = c.req.param("hash");
    const address = await findDeployedContract(services, c.get("caller"), { chain: chain ?? "", transactionHash });
    return ok(c, { chain, contract_address: address, transaction_hash: transactionHash });
  });

  app.get("/me/contracts", async (c) => {
    const products = await listProducts(services, c.get("caller"));
    return ok(c, { contracts: products.map(contractBody) });
  });
}

/** The members shown for every contract of the account; the chain as spelled in the request. */
function ownContractMembers(contract: ListedProduct | Collection, chain: string) {
  const { address, createdMicros, settings } = contract;
  return {
    name: settings.name,
    symbol: settings.symbol,
    ...transactionMembers(contract, chain),
    chain,
    address,
    owner_address: settings.ownerAddress,
    creation_date: naiveMicros(createdMicros),
    metadata_frozen: !settings.metadataUpdatable,
  };
}

function contractBody(product: ListedProduct) {
  const { settings, exited } = product;
  return {
    ...ownContractMembers(product, product.chain.name),
    tokens_burnable: settings.tokensBurnable,
    tokens_transferable: settings.tokensTransferable,
    type: settings.type,
    royalties_share: Number(settings.royaltiesBps),
    royalties_address: settings.royaltiesAddress,
    roles: settings.roles.length === 0 ? null : settings.roles,
    exited_nftport: exited,
  };
}

/** Wallets per chunk of the body that has their proofs. */
const wallets = 500;

/** Reads of the contracts that the caller's account has deployed. */
export function addMeContracts(app: V0App, services: Services): void {
  app.get("/me/contracts/collections", async (c) => {
    const input = queryInput(c);
    const chain = chainParameter(input, services.chains);
    const include = includeParameter(input, ["merkle_proofs"]);
    input.check();
    const collections = await listCollections(services, c.get("caller"), chain, { allowlists: true });
    const work = new LongWork(c.get("caller").accountId);
    const pieces = writeCollections(services, collections, chain, include.has("merkle_proofs"), work);
    const bytes = Readable.toWeb(Readable.from(encode(pieces))) as ReadableStream<Uint8Array<ArrayBuffer>>;
    return c.body(bytes, 200, { "Content-Type": "application/json" });
  });

  app.get("/me/contracts/abis/:contract", async (c) => {
    const input = queryInput(c);
    const chain = chainParameter(input, services.chains);
    const address = addressParameter(input, "contract_address", c.req.param("contract"));
    input.check();
    const key = { chain, address: address.toLowerCase() as Address };
    return ok(c, { abi: await getContractAbi(services, c.get("caller"), key) });
  });
}

/** The body in chunks: the proofs of a large list are many times its size and never in memory all at once. */
async function* writeCollections(
  services: Services,
  collections: readonly Collection[],
  chain: string,
  withProofs: boolean,
  work: LongWork,
): AsyncGenerator<string> {
  yield '{"response":"OK","contracts":[';
  for (const [index, collection] of collections.entries()) {
    if (work.isOver) await work.rest();
    const item = toJson(collectionBody(collection, chain));
    yield index === 0 ? item.slice(0, -1) : `,${item.slice(0, -1)}`;
    if (withProofs) yield* writeProofs(services, collection, work);
    yield "}";
  }
  yield '],"error":null}';
}

async function* writeProofs(services: Services, { allowlistId }: Collection, work: LongWork): AsyncGenerator<string> {
  yield ',"merkle_proofs":{';
  if (allowlistId !== null) {
    const list = await readAllowlist(services, allowlistId);
    let text = "";
    for (const [index, wallet] of list.entries.entries()) {
      if (work.isOver) await work.rest();
      const proof = JSON.stringify(list.proofAt(index));
      // Clients look up a wallet by any of these spellings.
      const lower = wallet.toLowerCase();
      const spellings = new Set([lower, getAddress(lower), wallet]);
      text += [...spellings].map((spelling) => `,"${spelling}":${proof}`).join("");
      if (index % wallets !== wallets - 1 && index !== list.entries.length - 1) continue;
      yield index < wallets ? text.slice(1) : text;
      text = "";
    }
  }
  yield "}";
}

async function* encode(pieces: AsyncGenerator<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const piece of pieces) yield encoder.encode(piece);
}

function collectionBody(collection: Collection, chain: string): Record<string, unknown> {
  const { settings } = collection;
  const empty = /^0x0{64}$/.test(settings.presaleMerkleRoot);
  return {
    ...ownContractMembers(collection, chain),
    max_supply: Number(settings.maxSupply),
    team_reserve: Number(settings.reservedSupply),
    mint_price: new RawJson(decimalOf(BigInt(settings.publicMintPriceWei))),
    tokens_per_mint: Number(settings.tokensPerMint),
    treasury_address: settings.treasuryAddress,
    public_mint_start: naiveSeconds(BigInt(settings.publicMintStart)),
    base_uri: settings.baseUri,
    prereveal_token_uri: settings.prerevealTokenUri,
    presale_mint_start: settings.presaleMintStart === "0" ? null : naiveSeconds(BigInt(settings.presaleMintStart)),
    presale_whitelisted_addresses: collection.allowlist,
    presale_merkle_root: empty ? null : settings.presaleMerkleRoot.slice(2),
    royalties_share: Number(settings.royaltiesBps),
    royalties_address: settings.royaltiesAddress,
  };
}
