import { ServiceError } from "../errors/errors.ts";
import { reportUris, storageClasses, type UriKind } from "../nfts/uri-report.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";

/** GET /reports/uris: how well the URIs behind tokens can be read. */
export function addReports(app: V0App, services: Services): void {
  app.get("/reports/:report_type", async (c) => {
    if (c.req.param("report_type") !== "uris")
      throw new ServiceError("invalid_enumeration", "report_type must be one of: uris", { field: "report_type" });
    const counts = await reportUris(services);
    const statsOf = (kind: UriKind) =>
      Object.fromEntries(
        storageClasses.map((storage) => {
          const found = counts.find((count) => count.kind === kind && count.storage === storage);
          return [
            storage,
            {
              count_failed: found?.failed ?? 0,
              count_successful: found?.successful ?? 0,
              // What only a market knows.
              floor_price_failed: 0,
              floor_price_successful: 0,
            },
          ];
        }),
      );
    return ok(c, {
      report: {
        metadata_uri_stats: statsOf("metadata"),
        image_uri_stats: statsOf("image"),
        animation_uri_stats: statsOf("animation"),
      },
    });
  });
}
