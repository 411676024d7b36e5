import { createHash } from "node:crypto";
import { CID } from "multiformats/cid";
import { create as createDigest } from "multiformats/hashes/digest";
import type { Address } from "viem";

/**
 * `drawn`: the service draws the id. `chosen`: the client does, and somebody else asks for the same id later. `batch`:
 * several ids of an ERC-1155 contract. `easy`: a token of the service's contract. `revoked`: in a contract whose owner
 * takes the service's rights midway. `receiver`: to a contract that takes no tokens. `list`: several tokens of an ERC-721
 * contract over GraphQL, each a request of its own, which may share transactions.
 */
type MintKind = "drawn" | "chosen" | "batch" | "easy" | "revoked" | "receiver" | "list";

export interface AskedToken {
  /** Nobody else gets a token in the run. Lower case. */
  to: Address;
  /** Null: the service draws it. */
  tokenId: string | null;
  /** Null: the service pins the document. */
  uri: string | null;
  quantity: number;
}

/** One mint that somebody wants. */
export interface MintAsk {
  index: number;
  kind: MintKind;
  /** Of the tokens. Lower case. */
  contract: Address;
  tokens: AskedToken[];
  path: string;
  body: Record<string, unknown>;
  /** Null: the client relies on the key that is derived from the request. */
  key: string | null;
  /** How many equal requests are posted at once. */
  copies: number;
  /** Every hash that an answer ever named. */
  hashes: Set<string>;
  /** Of a list: the id of each token's request, by its place. */
  requests: Map<number, string>;
  /** The answer that refused it for good. */
  refusal: string | null;
}

/** Where the run mints. */
export interface MintPlaces {
  erc721: readonly Address[];
  erc1155: readonly Address[];
  revoked: Address;
  easy: Address;
  /** A contract that takes no tokens. */
  receiver: Address;
}

const mintBatch = `mutation ($contract: Address!, $tokens: [MintTokenInput!]!, $key: String) {
  mintBatch(chain: "goerli", contract: $contract, tokens: $tokens, idempotencyKey: $key) {
    results { request { id } userErrors { code message } } userErrors { code message } } }`;

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
const kinds: readonly MintKind[] = [
  ...(["batch", "chosen", "drawn", "list", "easy", "drawn"] as const),
  ...(["batch", "revoked", "receiver", "list", "chosen", "drawn"] as const),
];

/** The mint of a place in the run: a third of them are of several tokens. */
export function makeMintAsk(seed: number, index: number, places: MintPlaces): MintAsk {
  const kind = kinds[index % kinds.length] ?? "drawn";
  const pick = (addresses: readonly Address[]) => addresses[index % addresses.length] as Address;
  const contract =
    kind === "batch"
      ? pick(places.erc1155)
      : kind === "revoked"
        ? places.revoked
        : kind === "easy"
          ? places.easy
          : pick(places.erc721);
  const count = kind === "batch" ? 2 + (index % 4) : kind === "list" ? 3 + (index % 6) : 1;
  const tokens = Array.from({ length: count }, (_, at): AskedToken => {
    const id = BigInt(index + 1) * 100n + BigInt(at);
    return {
      to: kind === "receiver" ? places.receiver : `0x${hex(index + 1, 8)}${hex(at + 1, 2)}${"ab".repeat(15)}`,
      tokenId: kind === "batch" || kind === "chosen" ? String(id) : null,
      uri: kind === "easy" ? null : uriOf(`${seed} ${index} ${at}`),
      quantity: kind === "batch" ? 1 + at : 1,
    };
  });
  return {
    ...{ index, kind, contract, tokens, refusal: null, requests: new Map<number, string>() },
    ...requestOf(kind, contract, tokens, `Easy ${seed} ${index}`),
    // Two of three bring their own key.
    key: index % 3 === 0 ? null : `mint-${seed}-${index}`,
    copies: index % 2 === 0 ? 1 : 3,
    hashes: new Set(),
  };
}

/** Somebody else's mint of the id that a mint took. */
export function bodyOfTaken(ask: MintAsk): Record<string, unknown> {
  return { ...ask.body, mint_to_address: `0x${hex(ask.index + 1, 8)}${"ff".repeat(16)}` };
}

function requestOf(kind: MintKind, contract: Address, tokens: readonly AskedToken[], name: string) {
  const place = { chain: "goerli", contract_address: contract };
  const [first] = tokens;
  if (kind === "easy") {
    const body = { chain: "goerli", name, description: "", file_url: "ipfs://x", mint_to_address: first?.to };
    return { path: "/mints/easy/urls", body };
  }
  if (kind === "list") {
    const wanted = tokens.map(({ to, uri }) => ({ to, uri }));
    return { path: "/graphql", body: { query: mintBatch, variables: { contract, tokens: wanted } } };
  }
  const bodies = tokens.map(({ to, tokenId, uri, quantity }) => ({
    ...{ mint_to_address: to, metadata_uri: uri },
    ...(tokenId === null ? {} : { token_id: tokenId }),
    ...(kind === "batch" ? { quantity } : {}),
  }));
  return kind === "batch"
    ? { path: "/mints/customizable/batch", body: { ...place, tokens: bodies } }
    : { path: "/mints/customizable", body: { ...place, ...bodies[0] } };
}

/** `ipfs://bafkrei…` of a text. */
export function uriOf(text: string): string {
  const digest = createDigest(0x12, createHash("sha256").update(text).digest());
  return `ipfs://${CID.createV1(0x55, digest).toString()}`;
}
