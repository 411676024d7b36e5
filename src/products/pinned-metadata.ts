import { createHash } from "node:crypto";
import { CID } from "multiformats/cid";
import { create as createDigest } from "multiformats/hashes/digest";
import type { Caller } from "../auth/caller.ts";
import type { Services } from "../services.ts";
import { type MetadataInput, metadataDocument } from "../uploads/metadata-document.ts";
import { uploadMetadata } from "../uploads/upload-metadata.ts";

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
