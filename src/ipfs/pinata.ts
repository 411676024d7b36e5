import { CID } from "multiformats/cid";
import { PinataSDK } from "pinata";
import type { Config } from "../config/config.ts";
import type { PinDriver } from "./context.ts";

/** Statuses that refuse the format. A size limit or a full account has other ones. */
const refusesCars = [400, 415, 422, 501];

/**
 * Pinata through its own SDK: one CAR upload, resumable above 90 MiB.
 * The caller retries on 429 and on outages: the SDK does not for small uploads.
 * Where the CAR is refused, a directory is sent file by file (`fileArray`, the older interface). Pinata then chunks and
 * shards it, and the root is ours only for a small directory; the caller sees that when it compares the roots.
 */
export function createPinata(settings: NonNullable<Config["ipfs"]["pinata"]>): PinDriver {
  const { jwt, uploadUrl, endpointUrl, legacyUploadUrl } = settings;
  const sdk = new PinataSDK({
    pinataJwt: jwt,
    ...(uploadUrl && { uploadUrl }),
    ...(endpointUrl && { endpointUrl }),
    ...(legacyUploadUrl && { legacyUploadUrl }),
  });
  return {
    name: "pinata",
    async pin(root, car, readFiles) {
      // The SDK puts names into headers, so the uploader's text is not used: the root is unique and ASCII.
      const file = new File([car], `${root}.car`, { type: "application/vnd.ipld.car" });
      try {
        const answer = await sdk.upload.public.file(file).name(root).car();
        return versionOne(answer.cid);
      } catch (error) {
        if (!refusesCars.includes(statusOf(error) ?? 0)) throw error;
        const files = await readFiles();
        if (!files) throw error;
        const parts = files.map(({ name, bytes }) => new File([bytes], name, { type: "application/json" }));
        const answer = await sdk.upload.public.fileArray(parts).name(root);
        return versionOne(answer.cid);
      }
    },
  };
}

function statusOf(error: unknown): number | null {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === "number" ? status : null;
}

function versionOne(cid: string): string {
  return CID.parse(cid).toV1().toString();
}
