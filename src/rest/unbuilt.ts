import { ServiceError } from "../errors/errors.ts";
import type { V0App } from "./app.ts";

/** Operations of the original service that are not built yet: a client learns that, not `not_found`. */
const operations: readonly [method: string, path: string][] = [
  ["GET", "/me/mints"],
  ["GET", "/transactions"],
  ["GET", "/reports/:type"],
  ["POST", "/contracts"],
  ["PUT", "/contracts"],
  ["POST", "/mints/customizable"],
  ["PUT", "/mints/customizable"],
  ["DELETE", "/mints/customizable"],
  ["POST", "/mints/customizable/batch"],
  ["DELETE", "/mints/customizable/batch"],
  ["POST", "/mints/transfers"],
  ["POST", "/mints/transfers/batch"],
  ["POST", "/mints/easy/urls"],
  ["POST", "/mints/easy/files"],
  ["GET", "/mints/batch/:hash"],
  ["GET", "/mints/:hash"],
  ["POST", "/recommendations/similar_nfts/urls"],
  ["POST", "/recommendations/similar_nfts/files"],
  ["POST", "/duplicates/urls"],
  ["POST", "/duplicates/files"],
  ["POST", "/duplicates/tokens"],
];

export function addUnbuilt(app: V0App): void {
  for (const [method, path] of operations) {
    app.on(method, path, () => {
      throw new ServiceError("not_implemented", `${method} /v0${path} is not built yet`);
    });
  }
}
