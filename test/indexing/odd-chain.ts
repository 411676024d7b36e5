import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Hex } from "viem";
import { headerHash } from "../../src/indexing/header.ts";
import { postOnce } from "../setup/post-once.ts";

export type Fields = Record<string, unknown>;
export const zeroBloom: Hex = `0x${"0".repeat(512)}`;
export const fullBloom: Hex = `0x${"f".repeat(512)}`;

export interface Oddities {
  /** In the header of each block. */
  bloom?: Hex;
  /** Changes an answer, whose hashes are those of the odd chain. */
  answer?(method: string, params: unknown[], result: unknown): unknown;
  chainId?: number;
}

export type OddChain = Awaited<ReturnType<typeof startOddChain>>;

/**
 * A development chain as one of another kind: its headers have other fields, and so other hashes, each that of its fields and named by
 * the block after it.
 */
export async function startOddChain(target: string, oddities: Oddities = {}) {
  const self = { url: "", asked: [] as string[], oddities, stop: async () => {} };
  const odd = new Map<string, Promise<Hex>>();
  const honest = new Map<string, string>();
  const ask = async (method: string, params: unknown[]): Promise<{ result?: unknown; error?: unknown }> => {
    return await postOnce<{ result?: unknown; error?: unknown }>(target, { jsonrpc: "2.0", id: 1, method, params });
  };
  const changed = async (block: Fields): Promise<Fields> => {
    const parent = (await ask("eth_getBlockByHash", [block["parentHash"], false])).result as Fields | null;
    const fields: Fields = { ...block, ...(oddities.bloom ? { logsBloom: oddities.bloom } : {}) };
    if (parent) fields["parentHash"] = await hashOf(parent);
    return { ...fields, hash: headerHash(fields) };
  };
  const hashOf = (block: Fields): Promise<Hex> => {
    const hash = String(block["hash"]);
    const known =
      odd.get(hash) ??
      changed(block).then((fields) => {
        honest.set(String(fields["hash"]), hash);
        return fields["hash"] as Hex;
      });
    odd.set(hash, known);
    return known;
  };
  const translated = async (value: unknown): Promise<unknown> => {
    const hashes = new Map(await Promise.all([...odd].map(async ([from, to]) => [from, await to] as const)));
    return JSON.parse(JSON.stringify(value).replaceAll(/0x[0-9a-f]{64}/g, (word) => hashes.get(word) ?? word));
  };
  let known = -1;
  /** A node knows all blocks of its chain, also those that only another one was asked for. */
  const catchUp = async () => {
    const head = Number((await ask("eth_blockNumber", [])).result);
    while (known < head) {
      const { result } = await ask("eth_getBlockByNumber", [`0x${(known + 1).toString(16)}`, false]);
      await hashOf(result as Fields);
      known += 1;
    }
  };
  let caughtUp = Promise.resolve();
  const respond = async (method: string, params: unknown[]) => {
    caughtUp = caughtUp.then(catchUp);
    await caughtUp;
    if (method === "eth_chainId" && oddities.chainId) return { result: `0x${oddities.chainId.toString(16)}` };
    const text = JSON.stringify(params).replaceAll(/0x[0-9a-f]{64}/g, (word) => honest.get(word) ?? word);
    const answer = await ask(method, JSON.parse(text) as unknown[]);
    if (answer.error || !answer.result) return answer;
    const result = await translated(answer.result);
    const bloom = method.startsWith("eth_getBlockBy") && oddities.bloom ? { logsBloom: oddities.bloom } : null;
    answer.result = bloom ? { ...(result as Fields), ...bloom } : result;
    if (oddities.answer) answer.result = await oddities.answer(method, params, answer.result);
    return answer;
  };
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    // A websocket is asked for.
    if (chunks.length === 0) return response.writeHead(400).end();
    const {
      id,
      method,
      params = [],
    } = JSON.parse(Buffer.concat(chunks).toString()) as {
      id: number;
      method: string;
      params?: unknown[];
    };
    self.asked.push(method);
    return response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(await respond(method, params)) }));
  };
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  self.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  self.stop = async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  return self;
}
