import type { Address, Hex } from "viem";
import { z } from "zod";
import type { RuntimeConfig } from "../../../contracts/abi/config.ts";

/** What an update changes; absent members stay as the chain has them. Prices and supply are fixed for ever. */
export interface ConfigChanges {
  baseUri?: string | undefined;
  prerevealTokenUri?: string | undefined;
  /** Only `false` means something: the metadata is frozen for good. */
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

/** `ConfigChanges` as an intent's payload keeps them. */
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

/** Numbers become decimal text, addresses lower case, absent members disappear; members stand in a fixed order. */
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

/** The chain's record with the changes applied: `updateConfig` replaces it as a whole. */
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
