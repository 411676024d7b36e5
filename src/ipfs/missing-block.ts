import type { CID } from "multiformats/cid";
import { ServiceError } from "../errors/errors.ts";
import type { BlockReader } from "./block-reader.ts";

/** Where blocks come from, checked against their hash; null for one that is not there. */
export type BlockSource = Pick<BlockReader, "get">;

export class MissingBlock extends ServiceError {
  constructor(cid: CID) {
    super("not_found", `block ${cid} is not here`);
  }
}

/** What the exporter reads from. */
export function storageOf(blocks: BlockSource) {
  return {
    async *get(cid: CID) {
      const block = await blocks.get(cid);
      if (!block) throw new MissingBlock(cid);
      yield block;
    },
  };
}
