import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { send } from "./send.ts";

/** @returns the address of a server that answers each request in its turn, the last one again and again. */
async function serve(...turns: RequestListener[]): Promise<string> {
  let asked = 0;
  const server = createServer((request, response) => {
    const turn = turns[Math.min(asked, turns.length - 1)];
    asked += 1;
    turn?.(request, response);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
}
const late: RequestListener = (_request, response) => response.writeHead(408, { connection: "close" }).end();
const reset: RequestListener = (request) => request.socket.destroy();
const fine: RequestListener = (_request, response) => response.end("fine");

test.each([
  ["a body that came late", late],
  ["a connection that is reset before any answer", reset],
])("%s: what may be repeated is sent again, and nothing else", async (_what, fault) => {
  const headers = { "idempotency-key": "one" };
  for (const request of [{}, { body: { query: "{ a }" } }, { body: { query: "mutation { a }" }, headers }])
    expect(await send(await serve(fault, fault, fine), request)).toMatchObject({ status: 200, body: "fine" });
  const once = send(await serve(fault, fine), { body: { query: "mutation { a }" } });
  await expect(once.then(({ status }) => status, String)).resolves.not.toBe(200);
});
