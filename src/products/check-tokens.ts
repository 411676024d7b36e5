import { createHash } from "node:crypto";
import { CID } from "multiformats/cid";
import { create as createDigest } from "multiformats/hashes/digest";
import { zeroAddress } from "viem";
import type { Caller } from "../auth/caller.ts";
import { Problems } from "../collections/problems.ts";
import { address, type Fields, flag, type InputOf, items, pick, quantity, text, tokenId } from "../requests/fields.ts";
import type { Services } from "../services.ts";
import type { OperationToken } from "../transactions/store/payloads.ts";
import { type MetadataInput, metadataDocument, uploadMetadata } from "../uploads/upload-metadata.ts";
import { type Product, productFields } from "./find-product.ts";

const links = /^(ipfs:\/\/.|https?:\/\/.|ar:\/\/.|data:[a-z]+\/)/i;

/** Problems that wallets and markets will have with a token's URI, worded as in the lint of uploads. */
export function lintUri(uri: string): string[] {
  if (!links.test(uri))
    return ["the URI is no link (ipfs://…, https://…): it is read only where a base URI goes before it"];
  if (/^http:/i.test(uri)) return ["the URI is an http: link, which browsers refuse"];
  if (/^https?:\/\/[^/]*\/ipfs\//i.test(uri)) return ["the URI names a gateway; ipfs:// outlives it"];
  return [];
}

const rawCodec = 0x55;
const sha256Code = 0x12;

/**
 * The future URI of a metadata document, and a function that stores the document. A request knows its URI before it is
 * checked, and only a request that the chain would accept stores anything.
 *
 * @throws ServiceError as `uploadMetadata`, when it is stored.
 */
export function pinnedMetadata(services: Services, caller: Caller, metadata: MetadataInput) {
  const digest = createHash("sha256").update(metadataDocument(metadata), "utf8").digest();
  const uri = `ipfs://${CID.createV1(rawCodec, createDigest(sha256Code, digest)).toString()}`;
  return {
    uri,
    store: async () => {
      const { cid } = await uploadMetadata(services, caller, metadata);
      if (`ipfs://${cid}` !== uri) throw new Error(`a metadata document was stored as ${cid} and not as ${uri}`);
    },
  };
}

const idDoc = "The id of the token in its contract, 0 to 2^256 - 1.";
const v0IdDoc = "The id of the token, 0 to 2^256 - 1, as a string or a number. Send large ids as strings.";
const receiver = "in any letter case, not the zero address";
/** The id of a token that exists. */
const existing = tokenId({ required: true, doc: idDoc, v0Doc: v0IdDoc });
const units = quantity({
  required: "v0",
  doc: "The number of units, for an ERC-1155 contract; 1 by default.",
  v0Doc: "The number of units of the token, at least 1, as a string or a number.",
});

/** The members of a token to mint. */
export const mintFields = {
  to: address({
    required: true,
    v0: ["mint_to_address"],
    doc: `The account that receives the token, ${receiver}.`,
  }),
  uri: text({
    required: "v0",
    v0: ["metadata_uri"],
    doc: "The URI of the metadata document, such as ipfs://…, up to 2,048 bytes. Send either this or `metadata`.",
    v0Doc: "The URI of the token's metadata, up to 2,048 bytes. `ipfs://` with a CID takes the least gas.",
  }),
  tokenId: tokenId({
    doc: "The id of the token. If omitted, one is generated and reserved for the request.",
    v0Doc:
      "The id of the token, 0 to 2^256 - 1, as a string or a number. If omitted, a random 128-bit id is generated.",
  }),
  quantity: units,
};

const burnFields = { tokenId: existing, quantity: units };
/** The members of a token to transfer. */
export const transferFields = {
  ...burnFields,
  to: address({
    required: "v0",
    v0: ["transfer_to_address"],
    doc: `The account that receives the token, ${receiver}. Required for a transfer, ignored for a burn.`,
    v0Doc: `The account that receives the token, ${receiver}.`,
  }),
};

/** The members of an update of a token. */
export const tokenUpdateFields = {
  tokenId: existing,
  uri: text({
    v0: ["metadata_uri"],
    doc: "The new metadata URI, such as ipfs://…, up to 2,048 bytes. If omitted, it does not change and `freeze` is required.",
  }),
  freeze: flag({ v0: ["freeze_metadata"], doc: "True permanently freezes the metadata URI." }),
};

export const mostTokens = 50;
const listOf = <F extends Fields>(item: F) =>
  items(item, mostTokens, { required: true, doc: `The tokens, 1 to ${mostTokens}.` });

/** The members of each request of /v0 that changes tokens of a product contract. */
export const tokenRequests = {
  mint: { ...productFields, ...pick(mintFields, "uri", "to", "tokenId") },
  mintBatch: { ...productFields, tokens: listOf(pick(mintFields, "to", "tokenId", "uri", "quantity")) },
  update: { ...productFields, ...tokenUpdateFields },
  burn: { ...productFields, ...pick(burnFields, "tokenId") },
  burnBatch: { ...productFields, tokens: listOf(burnFields) },
  transfer: { ...productFields, ...pick(transferFields, "tokenId", "to") },
  transferBatch: { ...productFields, tokens: listOf(transferFields) },
};

/** A token in a request. */
export type TokenInput = { [N in keyof InputOf<typeof mintFields>]?: InputOf<typeof mintFields>[N] | undefined };

/** The members that a request requires. */
interface Wanted {
  to?: boolean;
  uri?: boolean;
  quantity?: boolean;
  id: "needed" | "optional";
}

/** The URI is kept in the contract's storage, where each byte costs gas. */
const mostUriBytes = 2_048;
const mostValue = 2n ** 256n - 1n;

export type CheckedToken = Omit<OperationToken, "tokenId"> & { tokenId?: string };

/** As `checkTokens`, for a mint: a missing id is drawn later. */
export function checkMint(product: Product, tokens: readonly TokenInput[]): CheckedToken[] {
  return checkTokens(product, tokens, { to: true, uri: true, quantity: true, id: "optional" });
}

/**
 * Checks the tokens of a mint, burn or transfer; reads and writes nothing.
 *
 * @returns them with decimal ids and quantities.
 * @throws ServiceError the gravest fault, with all of them in `details.problems`.
 */
export function checkTokens(product: Product, tokens: readonly TokenInput[], wanted: Wanted): CheckedToken[] {
  const problems = new Problems();
  if (tokens.length === 0 || tokens.length > mostTokens)
    problems.add("value_error", "tokens", `tokens must be 1 to ${mostTokens}`);
  if (product.type === "erc721" && tokens.length > 1)
    problems.add("value_error", "contract", "an ERC-721 contract takes one token per request; batches are of ERC-1155");
  const at = (index: number, member: string) => (tokens.length === 1 ? member : `tokens[${index}].${member}`);
  const seen = new Set<bigint>();
  const checked = tokens.slice(0, mostTokens).map((token, index) => {
    const { tokenId, to, uri } = token;
    const quantity = token.quantity ?? 1n;
    if (tokenId === undefined) {
      if (wanted.id === "needed") problems.add("parameter_missing", at(index, "tokenId"), "the token id is missing");
    } else {
      if (tokenId < 0n || tokenId > mostValue)
        problems.add("value_error", at(index, "tokenId"), "a token id is 0 to 2^256 - 1");
      if (wanted.uri && seen.has(tokenId))
        problems.add("value_error", at(index, "tokenId"), "a token id may be minted once");
      seen.add(tokenId);
    }
    if (wanted.to && to === undefined) problems.add("parameter_missing", at(index, "to"), "the recipient is missing");
    if (wanted.to && to !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(to))
      problems.add("invalid_address", at(index, "to"), "the recipient must be 0x and 40 hex digits");
    if (wanted.to && to?.toLowerCase() === zeroAddress)
      problems.add("invalid_address", at(index, "to"), "the recipient is the zero address");
    if (wanted.uri && (uri === undefined || uri === ""))
      problems.add("parameter_missing", at(index, "uri"), "the metadata URI is missing");
    if (uri !== undefined) checkUri(problems, at(index, "uri"), uri);
    if (quantity < 1n || quantity > mostValue)
      problems.add("value_error", at(index, "quantity"), "a quantity is 1 to 2^256 - 1");
    if (product.type === "erc721" && quantity !== 1n)
      problems.add("value_error", at(index, "quantity"), "a token of an ERC-721 contract is one of its kind");
    return {
      ...(tokenId === undefined ? {} : { tokenId: String(tokenId) }),
      ...(wanted.to && to !== undefined ? { to } : {}),
      ...(wanted.uri && uri !== undefined ? { uri } : {}),
      ...(wanted.quantity ? { quantity: String(quantity) } : {}),
    };
  });
  problems.check();
  return checked;
}

export function checkUri(problems: Problems, field: string, uri: string): void {
  if (Buffer.byteLength(uri) > mostUriBytes)
    problems.add("value_error", field, `a metadata URI may hold ${mostUriBytes} bytes`);
  if (uri.includes("\u0000") || !uri.isWellFormed())
    problems.add("value_error", field, "a metadata URI holds no NUL and no half of a character");
}
