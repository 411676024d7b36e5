import type { Intent } from "./intents.ts";

export type ProductType = "erc721" | "erc1155";

/** One token of a mint, an update of its URI, a burn or a transfer. Numbers are decimal texts. */
export interface OperationToken {
  tokenId: string;
  /** Of a mint and a transfer: who gets it, as sent. */
  to?: string;
  /** Of a mint and an update, as sent. */
  uri?: string;
  /** Of everything but updates; 1 for ERC-721. */
  quantity?: string;
  /** Of an update: the URI is frozen for good. */
  freeze?: boolean;
}

/** What a mint, token update, burn or transfer was accepted with. */
export interface TokensPayload {
  /** Lower case. */
  contract: string;
  /** As the request spelled it. */
  contractAsSent: string;
  type: ProductType;
  tokens: OperationToken[];
  /** Of an easy mint, whose tokens go to the service's own contract. */
  easy?: { name: string; description: string; fileUrl: string };
}

/** @throws nothing: only requests of these kinds are asked. */
export function tokensOf(intent: Pick<Intent, "payload">): TokensPayload {
  return intent.payload as TokensPayload;
}
