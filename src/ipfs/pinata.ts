import { CID } from "multiformats/cid";
import { PinataSDK } from "pinata";
import type { Config } from "../config.ts";
import type { PinDriver } from "./pin-driver.ts";

/**
 * Pinata through its own SDK: one CAR upload, resumable above 90 MiB.
 * Retries on 429 and on outages are the caller's: the SDK makes none for small uploads.
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
    async pin(root, car) {
      // Names go into headers there, so nothing of the uploader's text: the root is unique and ASCII.
      const file = new File([car], `${root}.car`, { type: "application/vnd.ipld.car" });
      const answer = await sdk.upload.public.file(file).name(root).car();
      return CID.parse(answer.cid).toV1().toString();
    },
  };
}
