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
  /** A mint that may share a transaction with others: its client knows it by its id, not by a hash. */
  together?: boolean;
  /** Of an easy mint, whose tokens go to the service's own contract. */
  easy?: { name: string; description: string; fileUrl: string };
}

/** @throws nothing: only requests of these kinds are asked. */
export function tokensOf(intent: Pick<Intent, "payload">): TokensPayload {
  return intent.payload as TokensPayload;
}

/** Roles of a product contract by the words of requests. */
export const roleWords = {
  mint: "MINT_ROLE",
  update_contract: "UPDATE_CONTRACT_ROLE",
  update_token: "UPDATE_TOKEN_ROLE",
  burn: "BURN_ROLE",
  transfer: "TRANSFER_ROLE",
} as const;

export type RoleWord = keyof typeof roleWords;

/** Who has a role by list; a frozen list never changes again. */
export interface RoleList {
  role: RoleWord;
  /** As sent. */
  addresses: readonly string[];
  freeze: boolean;
}

/** What an update of a product contract changes; absent members stay. */
export interface ContractChanges {
  /** Only `true` means something. */
  freezeMetadata?: boolean;
  baseUri?: string;
  royaltiesBps?: string;
  royaltiesAddress?: string;
  /** Only the given roles change. */
  roles?: RoleList[];
  /** The service gives its rights on the contract up, for good. */
  exit?: boolean;
}

export interface ContractUpdatePayload {
  /** Lower case. */
  contract: string;
  contractAsSent: string;
  changes: ContractChanges;
}

/** @throws nothing: only updates of product contracts are asked. */
export function changesOf(intent: Pick<Intent, "payload">): ContractChanges {
  return (intent.payload as ContractUpdatePayload).changes;
}

/** Whether a request sets lists of roles of a contract that stands, or ends the service's rights on it. */
export function handsOutRights({ kind, payload }: Pick<Intent, "kind" | "payload">): boolean {
  if (kind !== "contract_update") return false;
  const { roles = [], exit = false } = changesOf({ payload });
  return roles.length > 0 || exit;
}
