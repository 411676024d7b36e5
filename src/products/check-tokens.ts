import { createHash } from "node:crypto";
import { CID } from "multiformats/cid";
import { create as createDigest } from "multiformats/hashes/digest";
import { zeroAddress } from "viem";
import type { Caller } from "../auth/caller.ts";
import { Problems } from "../collections/problems.ts";
import type { Services } from "../services.ts";
import type { OperationToken } from "../transactions/store/payloads.ts";
import { type MetadataInput, metadataDocument, uploadMetadata } from "../uploads/upload-metadata.ts";
import type { Product } from "./find-product.ts";

const links = /^(ipfs:\/\/.|https?:\/\/.|ar:\/\/.|data:[a-z]+\/)/i;

/** What wallets and markets will stumble over in a token's URI, in the words of the lint of uploads. */
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
 * The URI that a metadata document will have, and what stores it. A request knows its URI before it is checked, and only
 * one that the chain would take stores anything.
 *
 * @throws ServiceError what `uploadMetadata` throws, when it is stored.
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

/** One token as a request names it. */
export interface TokenInput {
  tokenId?: bigint | undefined;
  /** As sent. */
  to?: string | undefined;
  uri?: string | undefined;
  /** Default 1. */
  quantity?: bigint | undefined;
}

/** Which members a request needs. */
interface Wanted {
  to?: boolean;
  uri?: boolean;
  quantity?: boolean;
  id: "needed" | "optional";
}

export const mostTokens = 50;
/** It is kept in the contract's storage, where each byte is paid for. */
const mostUriBytes = 2_048;
const mostValue = 2n ** 256n - 1n;

export type CheckedToken = Omit<OperationToken, "tokenId"> & { tokenId?: string };

/** As `checkTokens`, for a mint: an id that is not given is drawn later. */
export function checkMint(product: Product, tokens: readonly TokenInput[]): CheckedToken[] {
  return checkTokens(product, tokens, { to: true, uri: true, quantity: true, id: "optional" });
}

/**
 * Checks the tokens of a mint, burn or transfer; nothing is read or written.
 *
 * @returns them with decimal ids and quantities.
 * @throws ServiceError the gravest fault, all of them in `details.problems`.
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
