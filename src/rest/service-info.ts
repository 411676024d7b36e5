import type { V0App } from "./app.ts";

/** GET / tells what answers here; the one read without a key. */
export function addServiceInfo(app: V0App): void {
  app.get("/", (c) =>
    c.json({
      title: "Mintyard",
      description: "NFT uploads, launches, mints and data over HTTP",
      version: "1.0.0",
    }),
  );
}
