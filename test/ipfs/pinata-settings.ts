import type { PinataServer } from "./pinata-server.ts";

/** Answers that end a pin for good; any other refusal is tried again. */
export const finalStatuses = [400, 413, 415, 422];

/** The settings of the driver for a stand-in. */
export function pinataSettings(pinata: PinataServer) {
  return {
    jwt: pinata.jwt,
    uploadUrl: pinata.url,
    endpointUrl: pinata.url,
    legacyUploadUrl: `${pinata.url}/pinning/pinFileToIPFS`,
  };
}
