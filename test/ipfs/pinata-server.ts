import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { CarReader } from "@ipld/car/reader";
import { sha256 } from "multiformats/hashes/sha2";

export interface PinataServer {
  /** Base for `PINATA_UPLOAD_URL`. */
  url: string;
  jwt: string;
  /** Roots that were stored, in the order of their arrival. */
  pinned: string[];
  requests: number;
  /** Statuses to answer with before the work is done, one per request. */
  failures: number[];
  /** What is answered instead of the root that came. */
  otherRoot: string | null;
  /** Requests whose connection is cut, after the upload was read: before the answer, or in its middle. */
  cuts: ("before" | "within")[];
  /** Waits this long before each answer. */
  delayMs: number;
  close(): Promise<void>;
}

/**
 * A local Pinata: `POST /files` with the form fields of its v3 upload interface. It checks the key, unpacks
 * the CAR, checks each block's hash and answers in the shape of the real one.
 */
export async function startPinata(): Promise<PinataServer> {
  const state = {
    jwt: "test-jwt",
    pinned: [] as string[],
    requests: 0,
    failures: [] as number[],
    otherRoot: null as string | null,
    cuts: [] as ("before" | "within")[],
    delayMs: 0,
  };
  const server: Server = createServer((request, response) => {
    state.requests += 1;
    answer(request).then(
      async ({ status, body }) => {
        const text = JSON.stringify(body);
        const cut = state.cuts.shift();
        if (state.delayMs > 0) await sleep(state.delayMs);
        if (cut === "before") return void response.destroy();
        response.writeHead(status, { "Content-Type": "application/json", "Content-Length": text.length });
        if (cut !== "within") return void response.end(text);
        response.write(text.slice(0, 20), () => response.destroy());
      },
      (error) => response.writeHead(400).end(JSON.stringify({ error: { code: 400, message: String(error) } })),
    );
  });

  async function answer(incoming: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const type = incoming.headers["content-type"] ?? "";
    const form = await new Response(await buffer(incoming), { headers: { "Content-Type": type } }).formData();
    const failure = state.failures.shift();
    if (failure !== undefined) return { status: failure, body: { error: { message: "as asked" } } };
    if (incoming.headers.authorization !== `Bearer ${state.jwt}`)
      return { status: 401, body: { error: "Not Authorized" } };
    if (incoming.url !== "/files") return { status: 404, body: { error: "no such path" } };
    const file = form.get("file");
    if (form.get("car") !== "true" || form.get("network") !== "public" || !(file instanceof File)) {
      return { status: 400, body: { error: "a public CAR file is wanted" } };
    }
    const reader = await CarReader.fromBytes(new Uint8Array(await file.arrayBuffer()));
    for await (const { cid, bytes } of reader.blocks()) {
      if (!Buffer.from(cid.multihash.bytes).equals((await sha256.digest(bytes)).bytes))
        throw new Error(`bad block ${cid}`);
    }
    const [root] = await reader.getRoots();
    if (!root || !(await reader.has(root))) throw new Error("the root is not in the CAR");
    state.pinned.push(root.toString());
    const data = {
      id: "1",
      name: form.get("name"),
      cid: state.otherRoot ?? root.toString(),
      size: file.size,
      network: "public",
    };
    return { status: 200, body: { data } };
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}
