import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { ContentStore } from "../../../src/ipfs/content-store.ts";
import { SeededGenerator } from "../../setup/seeded-generator.ts";
import { listen, type Serving } from "../strange-server.ts";
import { documentOf, pictureBytes, type Shelf } from "./document-grammar.ts";
import { placesOf, rawCid, type World } from "./expected-bytes.ts";
import { cidOf } from "./plain-multibase.ts";
import { ipfsUri, oddName, placed, type Site } from "./uri-grammar.ts";

/*
 * Tokens by the grammar, and all that their URIs lead to: a server, gateways, this installation's own store, and a node.
 */

export interface Token {
  number: number;
  contract: string;
  tokenId: bigint;
  standard: "ERC721" | "ERC1155";
  /** In 64 digits, of ERC-1155. */
  id: string | null;
  text: string;
  /** What the contract returns. */
  uri: Uint8Array;
}

/** So many tokens to a contract: a page of either API has them all. */
export const perContract = 50;

async function* once(bytes: Uint8Array) {
  yield bytes;
}

export class DocumentWorld {
  readonly world: World = { web: new Map(), files: new Map(), folders: new Map(), stored: new Set() };
  readonly tokens: Token[] = [];
  readonly #byCall = new Map<string, Token>();
  #serving: Serving | undefined;

  /** Listens at all addresses of loopback, so that a token may have a host of its own. */
  async start(): Promise<{ url: string }> {
    const server = createServer((request, response) => {
      if (request.method === "POST") return this.#node(request, response);
      this.#web(request, response);
    });
    this.#serving = await listen(server, "0.0.0.0");
    return { url: `http://127.0.0.1:${this.#serving.port}` };
  }

  async close(): Promise<void> {
    await this.#serving?.close();
  }

  /** @param only the numbers of the tokens; each is the same whatever others there are. */
  async fill(seed: number, only: readonly number[], content: ContentStore): Promise<void> {
    const { port } = this.#serving ?? { port: 0 };
    const origin = `http://127.0.0.1:${port}`;
    const { web, files, stored } = this.world;
    const toStore: Uint8Array[] = [];
    const file = (bytes: Uint8Array, isStored: boolean) => {
      const cid = rawCid(bytes);
      files.set(cid, bytes);
      if (isStored && !stored.has(cid)) toStore.push(bytes);
      if (isStored) stored.add(cid);
      return cid;
    };
    const pictures = picturesOf(seed);
    const pictureFolder = await this.#addFolder(content, pictures);
    const documents = new Map<string, Uint8Array>();
    let documentFolder = "";

    const made = only.map((number) => {
      const random = new SeededGenerator(seed * 100_003 + number);
      const shelf: Shelf = {
        web: (bytes, status) => {
          const path = `/p/${number}/${web.size}.png`;
          web.set(path, { status, headers: {}, body: bytes });
          return origin + path;
        },
        ipfs: (choices, bytes) => {
          if (choices.chance(0.6)) return ipfsUri(choices, file(bytes, choices.chance(0.7)), null, origin);
          return ipfsUri(choices, pictureFolder, choices.pick([...pictures.keys()]), origin);
        },
        missing: (choices) => ipfsUri(choices, rawCid(Buffer.from(`nobody has ${number}`)), null, origin),
      };
      const site: Site = {
        ...{ origin, ownOrigin: `http://127.1.${number >> 8}.${number & 255}:${port}`, file },
        answer: (path, answer) => web.set(path, { status: 200, headers: {}, body: new Uint8Array(), ...answer }),
        folder: (name, bytes) => {
          documents.set(name, bytes);
          return () => documentFolder;
        },
      };
      const isMulti = Math.floor(number / perContract) % 3 === 2;
      const tokenId = !isMulti
        ? BigInt(number)
        : random.chance(0.5)
          ? 2n ** 256n - 1n - BigInt(number)
          : BigInt(number) << 64n;
      const id = isMulti ? tokenId.toString(16).padStart(64, "0") : null;
      const text = documentOf(random, shelf);
      const uri = placed(random, site, { number, text, id });
      return { number, tokenId, id, text, uri, standard: isMulti ? ("ERC1155" as const) : ("ERC721" as const) };
    });
    for (const bytes of toStore) {
      const cid = await content.addFile({ stream: once(bytes) }, async (_transaction, added) => added.cid);
      if (cidOf(cid) !== rawCid(bytes)) throw new Error(`the store calls ${rawCid(bytes)} ${cid}`);
    }
    documentFolder = documents.size === 0 ? "" : await this.#addFolder(content, documents);
    for (const token of made) {
      const contract = contractOf(token.number);
      this.tokens.push({ ...token, contract, uri: token.uri() });
    }
    for (const token of this.tokens) this.#byCall.set(callOf(token), token);
  }

  async #addFolder(content: ContentStore, entries: Map<string, Uint8Array>): Promise<string> {
    const files = (async function* () {
      for (const [name, bytes] of entries)
        yield { names: [name], bytes: Buffer.from(bytes), contentType: "application/json" };
    })();
    const cid = cidOf(await content.addDirectory(files, async (_transaction, added) => added.cid)) ?? "";
    this.world.folders.set(cid, entries);
    this.world.stored.add(cid);
    for (const bytes of entries.values()) {
      this.world.files.set(rawCid(bytes), bytes);
      this.world.stored.add(rawCid(bytes));
    }
    return cid;
  }

  #web(request: IncomingMessage, response: ServerResponse): void {
    const { web, files } = this.world;
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    if (url.pathname.startsWith("/ipfs/")) {
      const block = files.get(placesOf(url.pathname)[0]?.cid ?? "");
      return void response.writeHead(block ? 200 : 404).end(block);
    }
    const { status, headers, body } = web.get(request.url ?? "") ?? { status: 404, headers: {}, body: "" };
    const range = /^bytes=0-(\d+)$/.exec(request.headers.range ?? "")?.[1];
    if (range === undefined || status !== 200 || body.length <= Number(range))
      return void response.writeHead(status, headers).end(body);
    const part = body.slice(0, Number(range) + 1);
    response.writeHead(206, { "content-range": `bytes 0-${part.length - 1}/${body.length}` }).end(part);
  }

  async #node(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const asked = JSON.parse(Buffer.concat(parts).toString());
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(Array.isArray(asked) ? asked.map((one) => this.#answer(one)) : this.#answer(asked)));
  }

  #answer({ id, method, params }: { id: number; method: string; params: [{ to: string; data: string }] }): object {
    const result = (value: unknown) => ({ jsonrpc: "2.0", id, result: value });
    if (method === "eth_chainId") return result("0x7a69");
    if (method === "eth_getBlockByNumber") return result(block);
    const [{ to, data }] = params;
    const token = this.#byCall.get(to.toLowerCase() + data);
    return token
      ? result(abiString(token.uri))
      : { jsonrpc: "2.0", id, error: { code: 3, message: "execution reverted" } };
  }
}

/** Pictures in one folder, which every document may name. */
function picturesOf(seed: number): Map<string, Uint8Array> {
  const random = new SeededGenerator(seed);
  return new Map(Array.from({ length: 60 }, (_, at) => [oddName(random, at), pictureBytes(random)]));
}

function contractOf(number: number): string {
  return `0x${(0xa1 + Math.floor(number / perContract)).toString(16).padStart(40, "0")}`;
}

/** `tokenURI(uint256)` of ERC-721, `uri(uint256)` of ERC-1155. */
function callOf({ contract, tokenId, standard }: Token): string {
  const selector = standard === "ERC721" ? "c87b56dd" : "0e89341c";
  return `${contract}0x${selector}${tokenId.toString(16).padStart(64, "0")}`;
}

/** A `string` as a call returns it, in bytes of one's own. */
function abiString(bytes: Uint8Array): string {
  const word = (value: number) => value.toString(16).padStart(64, "0");
  const hex = Buffer.from(bytes).toString("hex");
  return `0x${word(32)}${word(bytes.length)}${hex.padEnd(Math.ceil(hex.length / 64) * 64, "0")}`;
}

const zeros = (bytes: number) => `0x${"00".repeat(bytes)}`;
const block = {
  ...{ number: "0x3e8", hash: `0x${"12".repeat(32)}`, parentHash: `0x${"11".repeat(32)}`, timestamp: "0x65000000" },
  ...{
    nonce: zeros(8),
    sha3Uncles: zeros(32),
    logsBloom: zeros(256),
    transactionsRoot: zeros(32),
    stateRoot: zeros(32),
  },
  ...{ receiptsRoot: zeros(32), miner: zeros(20), difficulty: "0x0", totalDifficulty: "0x0", extraData: "0x" },
  ...{
    size: "0x0",
    gasLimit: "0x1c9c380",
    gasUsed: "0x0",
    transactions: [],
    uncles: [],
    baseFeePerGas: "0x0",
    mixHash: zeros(32),
  },
};
