import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServiceClient } from "../../bin/service-client.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const uploads = 20;
let server: Server;
const folder = temporaryFolder();
let early = 0;
beforeAll(async () => {
  await writeFile(join(folder, "picture.png"), Buffer.alloc(3_000_000, 7));
  let asked = 0;
  server = createServer((request, response) => {
    const headers = { "content-type": "application/json" };
    asked += 1;
    if (asked % 2 === 1) {
      early += 1;
      // As a limit refuses an upload: at once, and nothing more of the body is read.
      response.writeHead(503, { ...headers, connection: "close" }).end(JSON.stringify({ error: { code: "busy" } }));
      setTimeout(() => request.socket.destroy(), 5);
      return;
    }
    request.resume().on("end", () => response.writeHead(200, headers).end(JSON.stringify({ ipfs_url: "ipfs://cid" })));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
});
afterAll(async () => {
  server?.closeAllConnections();
  await new Promise((done) => server?.close(done));
});

test("a server that answers before it has read a file is asked again, and the process lives", async () => {
  const failures: unknown[] = [];
  const note = (error: unknown) => failures.push(error);
  process.on("unhandledRejection", note);
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new ServiceClient({ url, key: "k" });
    const each = async () => {
      for (let count = 0; count < uploads / 4; count += 1)
        expect(await client.uploadFile(join(folder, "picture.png"), "picture.png")).toBe("cid");
    };
    await Promise.all([each(), each(), each(), each()]);
    expect(early).toBeGreaterThan(4);
    expect(failures).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
  }
});
