import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, expectTypeOf, test } from "vitest";
import { createClient, MintyardError } from "../../client/src/client.ts";
import { graphql } from "../../client/src/graphql.ts";

// A server that breaks off where a test wants it; the real one streams in test/reference/examples.long.test.ts.
let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** @param answers one for each request, the last one for all that follow. */
async function serve(...answers: Answer[]) {
  const asked: string[] = [];
  server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    answer?.(request, response);
  });
  await new Promise<void>((ready) => server?.listen(0, "127.0.0.1", ready));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, client: createClient({ url, key: "key" }) };
}

const stream =
  (text: string, end: "end" | "cut" | "open" = "open"): Answer =>
  (_request, response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(text);
    if (end === "end") response.end();
    if (end === "cut") setTimeout(() => response.destroy(), 50);
  };
const event = (id: number, type: string) =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ type, timestamp: "2026-01-31T12:00:00Z", data: {} })}\n\n`;

const refuse =
  (status: number, code: string, retryAfter?: string): Answer =>
  (_request, response) => {
    response.writeHead(status, {
      "Content-Type": "application/json",
      ...(retryAfter ? { "Retry-After": retryAfter } : {}),
    });
    response.end(
      JSON.stringify({ error: { status_code: status, code, message: "no", fix: "Another.", request_id: "r" } }),
    );
  };

async function refusalOf(call: Promise<unknown>): Promise<MintyardError> {
  const error = await call.catch((thrown: unknown) => thrown);
  if (error instanceof MintyardError) return error;
  throw new Error(`not refused by the service: ${String(error)}`);
}

test("events come with their types, and go on behind the last one when the connection breaks or the server is away", async () => {
  const leaving = { error: { status_code: 503, code: "service_unavailable", message: "leaving", request_id: "r" } };
  const { client, asked } = await serve(
    stream(`: hello\n\nid: 4\n\n${event(5, "nft.transfer")}`, "cut"),
    refuse(503, "service_unavailable", "0"),
    stream(`${event(6, "mint.confirmed")}event: error\ndata: ${JSON.stringify(leaving)}\n\n`, "end"),
    stream(event(7, "nft.transfer")),
  );
  const seen: [string, string][] = [];
  for await (const one of client.events({ query: { types: ["nft", "mint"], chain: ["goerli"] } }, { pauseMs: 1 })) {
    seen.push([one.cursor, one.type]);
    if (one.type === "nft.transfer") expectTypeOf(one.data.tokenId).toEqualTypeOf<string>();
    if (seen.length === 3) break;
  }
  expect(seen).toEqual([
    ["5", "nft.transfer"],
    ["6", "mint.confirmed"],
    ["7", "nft.transfer"],
  ]);
  expect(asked).toEqual([
    "/v1/events?types=nft&types=mint&chain=goerli",
    ...["5", "5", "6"].map((after) => `/v1/events?types=nft&types=mint&chain=goerli&after=${after}`),
  ]);
});

test("a refusal ends the loop, in the answer and in the stream, and a signal does", async () => {
  const { client } = await serve(refuse(401, "invalid_api_key"));
  expect(await refusalOf(client.events().next())).toMatchObject({
    status: 401,
    code: "invalid_api_key",
    fix: "Another.",
  });
  server?.close();
  const gone = { error: { status_code: 403, code: "scope_missing", message: "no", request_id: "r" } };
  const { client: later } = await serve(stream(`event: error\ndata: ${JSON.stringify(gone)}\n\n`));
  expect(await refusalOf(later.events().next())).toMatchObject({ status: 403, code: "scope_missing" });
  server?.close();
  const { client: silent } = await serve(stream(": nothing\n\n"));
  await expect(silent.events({ signal: AbortSignal.timeout(50) }).next()).rejects.toThrow(/timeout|abort/i);
});

test("a subscription gives its results until it is complete, and says when it broke off", async () => {
  const next = (data: object) => `event: next\ndata: ${JSON.stringify(data)}\n\n`;
  const one = { data: { deployment: { state: "CONFIRMED" } } };
  const document = graphql(`subscription Deployment($id: ID!) { deployment(id: $id) { state } }`);
  const { client } = await serve(
    stream(`${next(one)}${next(one)}event: complete\ndata:\n\n`),
    stream(next({ errors: [{ message: "gone", extensions: { code: "not_found", fix: "Look.", requestId: "r1" } }] })),
    stream(next(one), "cut"),
    (_request, response) =>
      response.writeHead(200, { "Content-Type": "application/json" }).end(
        JSON.stringify({
          errors: [{ message: "no such field", extensions: { code: "GRAPHQL_VALIDATION_FAILED", fix: "Compare it." } }],
        }),
      ),
  );
  const states: string[] = [];
  for await (const { deployment } of client.subscribe(document, { id: "1" })) states.push(deployment.state);
  expect(states).toEqual(["CONFIRMED", "CONFIRMED"]);
  const failing = client.subscribe(document, { id: "1" });
  expect(await refusalOf(failing.next())).toMatchObject({ code: "not_found", fix: "Look.", requestId: "r1" });
  const broken = client.subscribe(document, { id: "1" });
  await broken.next();
  expect(await refusalOf(broken.next())).toMatchObject({ code: "no_answer", status: 0 });
  const refused = client.subscribe(document, { id: "1" });
  expect(await refusalOf(refused.next())).toMatchObject({ code: "GRAPHQL_VALIDATION_FAILED", fix: "Compare it." });
});
