import { ServiceError } from "../errors/errors.ts";
import type { V0App } from "./app.ts";

const noImages = "this service keeps no index of what pictures look like; compare metadata with GET /v0/search";
const noMarket = "this service indexes no market, so it knows no volumes and sales to rank contracts by";

/** Operations of the original service that this one does not have, and why: a client learns that, not `not_found`. */
const operations: readonly [method: string, path: string, why: string][] = [
  ["POST", "/recommendations/similar_nfts/urls", noImages],
  ["POST", "/recommendations/similar_nfts/files", noImages],
  ["POST", "/duplicates/urls", noImages],
  ["POST", "/duplicates/files", noImages],
  ["POST", "/duplicates/tokens", noImages],
  ["GET", "/contracts/top", noMarket],
];

export function addUnbuilt(app: V0App): void {
  for (const [method, path, why] of operations) {
    app.on(method, path, () => {
      throw new ServiceError("not_implemented", `${method} /v0${path} is not served: ${why}`);
    });
  }
}
