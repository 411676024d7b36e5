import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { CarReader } from "@ipld/car/reader";
import { importer } from "ipfs-unixfs-importer";
import { fixedSize } from "ipfs-unixfs-importer/chunker";
import { balanced } from "ipfs-unixfs-importer/layout";
import type { CID } from "multiformats/cid";
import { sha256 } from "multiformats/hashes/sha2";

/** The calls of the driver: small CAR, folder, and the three of a resumable upload. */
export type PinataCall = "car" | "folder" | "create" | "piece" | "list";

/** What becomes of a call: a status, a connection cut before the answer or in it, a wait, or another root. */
export type PinataFault = number | "cut" | "cut within" | "slow" | "other root";

const otherContent = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";

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
  /** Status with which CARs are refused; null: they are taken. */
  refusesCars: number | null;
  /** Pieces of resumable uploads whose connection is cut after they were read, and lost. */
  lostPieces: number;
  /** What is listed for a CID after a resumable upload; null: what was stored. */
  listed: { cid: string }[] | null;
  /** What becomes of the next calls of a kind, after their bodies were read. */
  faults: Partial<Record<PinataCall, PinataFault[]>>;
  /** Method and path of each request. */
  log: string[];
  close(): Promise<void>;
}

/** `ipfs add --cid-version=1`, as the older interface adds files: another profile than ours. */
const legacyProfile = {
  cidVersion: 1,
  rawLeaves: true,
  chunker: fixedSize({ chunkSize: 262_144 }),
  layout: balanced({ maxChildrenPerNode: 174 }),
  shardSplitThresholdBytes: 262_144,
} as const;

/**
 * A local Pinata: `POST /files` with the form fields of its v3 upload interface, resumable uploads (tus) and
 * the older `pinFileToIPFS`. It checks the key, unpacks the CAR, checks each block's hash or adds the files
 * by itself, and answers in the shape of the real one.
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
    refusesCars: null as number | null,
    lostPieces: 0,
    listed: null as { cid: string }[] | null,
    faults: {} as PinataServer["faults"],
    log: [] as string[],
  };
  /** The bytes that came of each resumable upload. */
  const sessions = new Map<string, { length: number; pieces: Buffer[] }>();
  const server: Server = createServer((request, response) => {
    state.requests += 1;
    state.log.push(`${request.method} ${request.url?.split("?")[0]}`);
    const fault = state.faults[callOf(request)]?.shift();
    if (fault === "other root") state.otherRoot = otherContent;
    if (typeof fault === "number" || fault === "cut" || fault === "cut within")
      return void fail(request, response, fault);
    if (fault === "slow") return void setTimeout(() => serve(request, response), 1_500);
    serve(request, response);
  });

  async function fail(request: IncomingMessage, response: ServerResponse, fault: number | "cut" | "cut within") {
    await buffer(request);
    if (fault === "cut") return void response.destroy();
    const text = JSON.stringify({ error: { message: "as asked" } });
    const whole = { "Content-Type": "application/json", "Content-Length": text.length };
    if (fault !== "cut within") return void response.writeHead(fault, whole).end(text);
    response.writeHead(200, whole);
    response.write(text.slice(0, 10), () => response.destroy());
  }

  function serve(request: IncomingMessage, response: ServerResponse): void {
    if (request.headers["upload-length"] || request.method !== "POST") return void resumable(request, response);
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
  }

  async function answer(incoming: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const type = incoming.headers["content-type"] ?? "";
    const form = await new Response(await buffer(incoming), { headers: { "Content-Type": type } }).formData();
    const failure = state.failures.shift();
    if (failure !== undefined) return { status: failure, body: { error: { message: "as asked" } } };
    if (incoming.headers.authorization !== `Bearer ${state.jwt}`)
      return { status: 401, body: { error: "Not Authorized" } };
    if (incoming.url === "/pinning/pinFileToIPFS") return await answerFiles(form);
    if (incoming.url !== "/files") return { status: 404, body: { error: "no such path" } };
    const file = form.get("file");
    if (form.get("car") !== "true" || form.get("network") !== "public" || !(file instanceof File)) {
      return { status: 400, body: { error: "a public CAR file is wanted" } };
    }
    if (state.refusesCars !== null) return { status: state.refusesCars, body: { error: "CAR files are not taken" } };
    const root = await unpack(new Uint8Array(await file.arrayBuffer()));
    const cid = state.otherRoot ?? root;
    return {
      status: 200,
      body: { data: { id: "1", name: form.get("name"), cid, size: file.size, network: "public" } },
    };
  }

  async function unpack(bytes: Uint8Array): Promise<string> {
    const reader = await CarReader.fromBytes(bytes);
    for await (const { cid, bytes: block } of reader.blocks()) {
      if (!Buffer.from(cid.multihash.bytes).equals((await sha256.digest(block)).bytes))
        throw new Error(`bad block ${cid}`);
    }
    const [root] = await reader.getRoots();
    if (!root || !(await reader.has(root))) throw new Error("the root is not in the CAR");
    state.pinned.push(root.toString());
    return root.toString();
  }

  async function answerFiles(form: FormData): Promise<{ status: number; body: unknown }> {
    const { cidVersion } = JSON.parse(String(form.get("pinataOptions"))) as { cidVersion: number };
    const files = form.getAll("file").filter((part) => part instanceof File);
    const source = files.map(async (file) => ({
      path: file.name,
      content: new Uint8Array(await file.arrayBuffer()),
    }));
    const blocks = { put: async (cid: CID) => cid };
    let root = "";
    // The folder that all names begin with comes last.
    for await (const { cid } of importer(await Promise.all(source), blocks, legacyProfile)) root = cid.toString();
    if (cidVersion !== 1) return { status: 400, body: { error: "version 1 is wanted" } };
    state.pinned.push(root);
    return { status: 200, body: { IpfsHash: state.otherRoot ?? root, PinSize: 1, NumberOfFiles: files.length } };
  }

  async function resumable(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const { pathname } = new URL(request.url ?? "", url());
    if (request.headers.authorization !== `Bearer ${state.jwt}`) return void response.writeHead(401).end("{}");
    if (request.method === "POST") {
      const path = `/files/${sessions.size}`;
      sessions.set(path, { length: Number(request.headers["upload-length"]), pieces: [] });
      return void response.writeHead(201, { Location: url() + path }).end();
    }
    if (request.method === "GET") {
      const cid = new URL(request.url ?? "", url()).searchParams.get("cid");
      const stored = state.pinned.includes(cid ?? "") || cid === state.otherRoot ? [{ cid }] : [];
      const text = JSON.stringify({ data: { files: state.listed ?? stored } });
      return void response.writeHead(200, { "Content-Type": "application/json" }).end(text);
    }
    const session = sessions.get(pathname);
    if (!session) return void response.writeHead(404).end("no such upload");
    if (state.lostPieces > 0) {
      state.lostPieces -= 1;
      return void response.destroy();
    }
    const offset = session.pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (Number(request.headers["upload-offset"]) !== offset) return void response.writeHead(409).end("another offset");
    session.pieces.push(body);
    if (offset + body.length < session.length) return void response.writeHead(204).end();
    const root = await unpack(new Uint8Array(Buffer.concat(session.pieces)));
    response.writeHead(204, { "upload-cid": state.otherRoot ?? root }).end();
  }

  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(state, {
    url: url(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}

function callOf({ method, url = "", headers }: IncomingMessage): PinataCall {
  if (method === "PATCH") return "piece";
  if (method !== "POST") return "list";
  if (headers["upload-length"]) return "create";
  return url.startsWith("/pinning/") ? "folder" : "car";
}
