import { CID } from "multiformats/cid";
import { PinataSDK } from "pinata";
import type { Config } from "../config/config.ts";
import type { PinDriver } from "./context.ts";

/** Answers that say: not in this form. A limit of size or a full account are no such answers. */
const refusesCars = [400, 415, 422, 501];

/**
 * Pinata through its own SDK: one CAR upload, resumable above 90 MiB.
 * Retries on 429 and on outages are the caller's: the SDK makes none for small uploads.
 *
 * Where the CAR is refused, a directory goes file by file (`fileArray`, the older interface). It is
 * chunked and sharded over there then, and the root is ours only while the directory is small: whoever
 * compares the roots sees that.
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
      // Names go into headers there, so nothing of the uploader's text: the root is unique and ASCII.
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
