import type { Address, Hex } from "viem";
import { z } from "zod";
import type { RuntimeConfig } from "../../../contracts/abi/config.ts";
import type { Intent } from "./intents.ts";

/** What an update changes; absent members stay as they are on the chain. Prices and supply never change. */
export interface ConfigChanges {
  baseUri?: string | undefined;
  prerevealTokenUri?: string | undefined;
  /** Only `false` has a meaning: it freezes the metadata for good. */
  metadataUpdatable?: boolean | undefined;
  /** Unix seconds; 2^256-1 is never. */
  publicMintStart?: bigint | undefined;
  /** Unix seconds; 0 is no presale. */
  presaleMintStart?: bigint | undefined;
  presaleMerkleRoot?: Hex | undefined;
  royaltiesBps?: bigint | undefined;
  royaltiesAddress?: Address | undefined;
}

const decimal = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform((text) => BigInt(text));
const hex = z.string().regex(/^0x[0-9a-f]*$/);

/** `ConfigChanges` as stored in an intent's payload. */
const storedChanges = z.object({
  baseUri: z.string().optional(),
  prerevealTokenUri: z.string().optional(),
  metadataUpdatable: z.boolean().optional(),
  publicMintStart: decimal.optional(),
  presaleMintStart: decimal.optional(),
  presaleMerkleRoot: hex.transform((text) => text as Hex).optional(),
  royaltiesBps: decimal.optional(),
  royaltiesAddress: hex.transform((text) => text as Address).optional(),
});

/** Numbers become decimal strings, addresses lower case, absent members are dropped; the order of members is fixed. */
export function storeChanges(changes: ConfigChanges): Record<string, string | boolean> {
  const stored: Record<string, string | boolean> = {};
  for (const name of Object.keys(storedChanges.shape) as (keyof ConfigChanges)[]) {
    const value = changes[name];
    if (value === undefined) continue;
    stored[name] = typeof value === "bigint" ? value.toString() : value;
    if (name === "royaltiesAddress" || name === "presaleMerkleRoot") stored[name] = String(value).toLowerCase();
  }
  return stored;
}

/** @throws ZodError for a payload that `storeChanges` did not make. */
export function readChanges(payload: unknown): ConfigChanges {
  return storedChanges.parse((payload as { changes?: unknown }).changes);
}

/** The on-chain record with the changes applied: `updateConfig` replaces it as a whole. */
export function applyChanges(current: RuntimeConfig, changes: ConfigChanges): RuntimeConfig {
  return {
    ...current,
    baseURI: changes.baseUri ?? current.baseURI,
    prerevealTokenURI: changes.prerevealTokenUri ?? current.prerevealTokenURI,
    metadataUpdatable: changes.metadataUpdatable ?? current.metadataUpdatable,
    publicMintStart: changes.publicMintStart ?? current.publicMintStart,
    presaleMintStart: changes.presaleMintStart ?? current.presaleMintStart,
    presaleMerkleRoot: changes.presaleMerkleRoot ?? current.presaleMerkleRoot,
    royaltiesBps: changes.royaltiesBps ?? current.royaltiesBps,
    royaltiesAddress: changes.royaltiesAddress ?? current.royaltiesAddress,
  };
}

export type ProductType = "erc721" | "erc1155";

/** One token of a mint, a URI update, a burn or a transfer. Numbers are decimal strings. */
export interface OperationToken {
  tokenId: string;
  /** For a mint or a transfer: the receiver, as sent. */
  to?: string;
  /** For a mint or an update, as sent. */
  uri?: string;
  /** For everything but updates; 1 for ERC-721. */
  quantity?: string;
  /** For an update: freezes the URI for good. */
  freeze?: boolean;
}

/** The payload of a mint, token update, burn or transfer. */
export interface TokensPayload {
  /** Lower case. */
  contract: string;
  /** As the request spelled it. */
  contractAsSent: string;
  type: ProductType;
  tokens: OperationToken[];
  /** A mint that may share a transaction with others: its client identifies it by id, not by a hash. */
  together?: boolean;
  /** For an easy mint, whose tokens are minted in the service's own contract. */
  easy?: { name: string; description: string; fileUrl: string };
}

/** @throws nothing: callers pass only requests of these kinds. */
export function tokensOf(intent: Pick<Intent, "payload">): TokensPayload {
  return intent.payload as TokensPayload;
}

/** Roles of a product contract, by the names that requests use. */
export const roleWords = {
  mint: "MINT_ROLE",
  update_contract: "UPDATE_CONTRACT_ROLE",
  update_token: "UPDATE_TOKEN_ROLE",
  burn: "BURN_ROLE",
  transfer: "TRANSFER_ROLE",
} as const;

export type RoleWord = keyof typeof roleWords;

/** The addresses that a list gives a role to; a frozen list never changes again. */
export interface RoleList {
  role: RoleWord;
  /** As sent. */
  addresses: readonly string[];
  freeze: boolean;
}

/** What an update of a product contract changes; absent members stay as they are. */
export interface ContractChanges {
  /** Only `true` has a meaning. */
  freezeMetadata?: boolean;
  baseUri?: string;
  royaltiesBps?: string;
  royaltiesAddress?: string;
  /** Only the given roles change. */
  roles?: RoleList[];
  /** The service renounces its rights on the contract, for good. */
  exit?: boolean;
}

export interface ContractUpdatePayload {
  /** Lower case. */
  contract: string;
  contractAsSent: string;
  changes: ContractChanges;
}

/** @throws nothing: callers pass only updates of product contracts. */
export function changesOf(intent: Pick<Intent, "payload">): ContractChanges {
  return (intent.payload as ContractUpdatePayload).changes;
}

/** Whether a request sets role lists of an existing contract, or ends the service's rights on it. */
export function handsOutRights({ kind, payload }: Pick<Intent, "kind" | "payload">): boolean {
  if (kind !== "contract_update") return false;
  const { roles = [], exit = false } = changesOf({ payload });
  return roles.length > 0 || exit;
}
