import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { postOnce } from "../setup/post-once.ts";

export type Fault = (honest: unknown, params: unknown[]) => unknown;
export const html = "<html>502</html>";
export type FaultyRpc = Awaited<ReturnType<typeof startFaultyRpc>>;

/** Passes a node's answers on, but for those to one method; keeps what it was asked, and when. */
export async function startFaultyRpc(target: string) {
  const self = {
    url: "",
    method: "",
    fault: ((honest) => honest) as Fault,
    times: [] as number[],
    asked: [] as string[],
    stop: async () => {},
  };
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const question = JSON.parse(Buffer.concat(chunks).toString()) as { method: string; params: unknown[] };
    self.times.push(performance.now());
    const answer = await postOnce<{ result?: unknown }>(target, question);
    const { method, params } = question;
    self.asked.push(`${method} ${JSON.stringify(params)}`);
    if (method === self.method) answer.result = self.fault(answer.result, params);
    response.end(answer.result === html ? html : JSON.stringify(answer));
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
