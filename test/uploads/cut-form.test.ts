import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { send } from "../setup/send.ts";

let api: ApiServer;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start();
  key = (await api.account("enterprise")).key;
});
afterAll(() => api?.close());

// Found by the fuzz run: whether the form or its part is heard first decided between 422 and 500.
test("a form that breaks off inside a part is the client's fault each time, also while the part is read", async () => {
  const head = (name: string) =>
    `--b\r\nContent-Disposition: form-data; name="metadata_files"; filename="${name}"\r\nContent-Type: application/json\r\n\r\n`;
  for (const name of ["", "0.json"])
    for (let round = 0; round < 10; round += 1) {
      const { status, body } = await send(`${api.url}/v0/metadata/directory?dry_run=true`, {
        key,
        headers: { "Content-Type": "multipart/form-data; boundary=b" },
        body: head(name) + "x".repeat(2_700),
      });
      expect([name, status, body.error.code]).toEqual([name, 422, "value_error"]);
    }
});
