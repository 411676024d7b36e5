import type { UploadedFile } from "./uploaded-file.ts";

/** What the scalars are inside. */
export type Scalars = {
  /** As the request spelled it; not known to be a chain of this installation. */
  ChainName: { Input: string; Output: string };
  /** Lower case inside and outside. */
  Address: { Input: string; Output: string };
  TokenId: { Input: bigint; Output: bigint };
  Uint256: { Input: bigint; Output: bigint };
  Wei: { Input: bigint; Output: bigint };
  DateTime: { Input: Date; Output: Date };
  Hex: { Input: string; Output: string };
  CID: { Input: string; Output: string };
  JSON: { Input: unknown; Output: unknown };
  Upload: { Input: UploadedFile; Output: never };
};
