import type { Context } from "hono";
import type { Caller } from "../auth/caller.ts";
import { withFieldNames } from "../collections/problems.ts";
import { withDrainedBody } from "../http/drain-body.ts";
import { announcedBytes, readMultipart } from "../http/multipart.ts";
import { carryOut, type Operation } from "../products/carry-out.ts";
import { burnTokens, transferTokens, updateToken } from "../products/change-tokens.ts";
import { mostTokens, type TokenInput } from "../products/check-tokens.ts";
import { easyMint, findEasyContract } from "../products/easy-mint.ts";
import type { ProductRequest } from "../products/find-product.ts";
import { mintTokens } from "../products/mint-tokens.ts";
import type { Services } from "../services.ts";
import { refuseOverQuota } from "../uploads/admit-upload.ts";
import { uploadFile } from "../uploads/upload-file.ts";
import { okRaw, RawJson } from "./answer.ts";
import { bodyOf, type V0App, type V0Env } from "./app.ts";
import { firstFile, otherBytes, otherParts } from "./files.ts";
import { Input } from "./input.ts";
import { JsonNumber } from "./json-body.ts";
import { queryInput } from "./query.ts";
import { transactionMembers } from "./values.ts";

const required = { required: true };

/** POST, PUT and DELETE /mints/customizable, its batch, and /mints/transfers. */
export function addMints(app: V0App, services: Services): void {
  app.post("/mints/customizable", (c) =>
    serve(c, services, mintTokens, (input) => {
      const uri = input.text("metadata_uri", required);
      const to = input.address("mint_to_address", required);
      const tokenId = input.integer("token_id");
      return { given: { tokens: [{ to, uri, tokenId }] }, echo: { metadata_uri: uri, mint_to_address: to } };
    }),
  );
  app.put("/mints/customizable", (c) =>
    serve(c, services, updateToken, (input) => {
      const tokenId = input.integer("token_id", required) ?? 0n;
      return { given: { tokenId, uri: input.text("metadata_uri"), freeze: input.boolean("freeze_metadata") } };
    }),
  );
  app.delete("/mints/customizable", (c) =>
    serve(c, services, burnTokens, (input) => ({
      given: { tokens: [{ tokenId: input.integer("token_id", required) }] },
    })),
  );
  app.post("/mints/customizable/batch", (c) =>
    serve(c, services, mintTokens, (input, body) => {
      const tokens = input.items("tokens", mostTokens, (item) => ({
        to: item.address("mint_to_address", required),
        tokenId: item.integer("token_id"),
        uri: item.text("metadata_uri", required),
        quantity: item.integer("quantity", required),
      }));
      return { given: { tokens }, echo: { tokens: asSent(body["tokens"]) } };
    }),
  );
  app.delete("/mints/customizable/batch", (c) =>
    serve(c, services, burnTokens, (input) => ({ given: { tokens: input.items("tokens", mostTokens, readMoved) } })),
  );
  app.post("/mints/transfers", (c) =>
    serve(c, services, transferTokens, (input) => {
      const tokenId = input.integer("token_id", required);
      return { given: { tokens: [{ tokenId, to: input.address("transfer_to_address", required) }] } };
    }),
  );
  app.post("/mints/transfers/batch", (c) =>
    serve(c, services, transferTokens, (input) => {
      const tokens = input.items("tokens", mostTokens, (item) => ({
        ...readMoved(item),
        to: item.address("transfer_to_address", required),
      }));
      return { given: { tokens } };
    }),
  );
}

function readMoved(item: Input): TokenInput {
  return { tokenId: item.integer("token_id", required), quantity: item.integer("quantity", required) };
}

/** What every operation on a contract of the account names. */
interface Place {
  chain: string;
  contract: string;
  idempotencyKey: string | undefined;
}

/** @param read gives what the use case takes beside the contract, and members of the answer beside those of every transaction. */
async function serve<G extends object>(
  c: Context<V0Env>,
  services: Services,
  prepare: (services: Services, caller: Caller, input: Place & G) => Promise<Operation>,
  read: (input: Input, body: Record<string, unknown>) => { given: G; echo?: Record<string, unknown> },
): Promise<Response> {
  const body = await bodyOf(c, services);
  const input = Input.fromBody(body);
  const chain = input.text("chain", required) ?? "";
  const contract = input.address("contract_address", required) ?? "";
  const { given, echo = {} } = read(input, body);
  input.check();
  const request = await carriedOut(
    c,
    services,
    (caller, idempotencyKey) => prepare(services, caller, { chain, contract, idempotencyKey, ...given }),
    (field) => mintField(field, input),
  );
  return okRaw(c, { chain, contract_address: contract, ...transactionMembers(request, chain), ...echo });
}

/** Has an operation carried out under the request's Idempotency-Key. @param rename as of `withFieldNames`. */
export async function carriedOut(
  c: Context<V0Env>,
  services: Services,
  prepare: (caller: Caller, idempotencyKey: string | undefined) => Operation | Promise<Operation>,
  rename: (field: string) => string,
): Promise<ProductRequest> {
  const caller = c.get("caller");
  const run = async () => await carryOut(services, caller, await prepare(caller, c.req.header("Idempotency-Key")));
  const { request, idempotencyKey } = await withFieldNames(run(), rename);
  c.header("Idempotency-Key", idempotencyKey);
  return request;
}

/** What a client calls a member of the use cases' input. */
function mintField(field: string, input: Input): string {
  const [, at = "", name = field] = /^(tokens\[\d+\]\.)?(.*)$/.exec(field) ?? [];
  const names: Record<string, string> = {
    contract: "contract_address",
    tokenId: "token_id",
    uri: "metadata_uri",
    to: input.has("transfer_to_address") ? "transfer_to_address" : "mint_to_address",
    idempotencyKey: "Idempotency-Key",
  };
  return `${at}${names[name] ?? name}`;
}

/** JSON as it came, numbers with all their digits. */
function asSent(value: unknown): unknown {
  if (value instanceof JsonNumber) return new RawJson(value.source);
  if (Array.isArray(value)) return value.map(asSent);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, asSent(item)]));
}

/** POST /mints/easy/urls and /mints/easy/files: tokens of the service's own contract. */
export function addEasyMints(app: V0App, services: Services): void {
  app.post("/mints/easy/urls", async (c) => {
    const input = Input.fromBody(await bodyOf(c, services));
    const request = readEasyMint(input);
    const fileUrl = input.text("file_url", required) ?? "";
    input.check();
    return await mintEasily(c, services, { ...request, fileUrl });
  });
  app.post("/mints/easy/files", (c) =>
    withDrainedBody(c, async () => {
      const input = queryInput(c);
      const request = readEasyMint(input);
      input.check();
      const caller = c.get("caller");
      // Before the file is stored: where nothing can be minted, nothing is kept.
      findEasyContract(services, caller, request.chain);
      await refuseOverQuota(services, caller, announcedBytes(c.env.incoming));
      const bodyBytes = services.config.limits.fileBytes + otherBytes;
      const parts = readMultipart(c.env.incoming, { account: caller.accountId, parts: otherParts, bodyBytes });
      try {
        const { cid } = await uploadFile(services, caller, await firstFile(parts));
        return await mintEasily(c, services, { ...request, fileUrl: `ipfs://${cid}` });
      } finally {
        await parts.return(undefined);
      }
    }),
  );
}

function readEasyMint(input: Input) {
  return {
    chain: input.text("chain", required) ?? "",
    name: input.text("name", required) ?? "",
    description: input.text("description", { ...required, emptyIsText: true }) ?? "",
    to: input.address("mint_to_address", required) ?? "",
  };
}

async function mintEasily(
  c: Context<V0Env>,
  services: Services,
  asked: ReturnType<typeof readEasyMint> & { fileUrl: string },
): Promise<Response> {
  const request = await carriedOut(
    c,
    services,
    (caller, idempotencyKey) => easyMint(services, caller, { ...asked, idempotencyKey }),
    (field) => easyNames[field] ?? field,
  );
  const { chain, to, name, description } = asked;
  const place = { chain, contract_address: request.contract };
  return okRaw(c, { ...place, ...transactionMembers(request, chain), mint_to_address: to, name, description });
}

const easyNames: Record<string, string> = {
  to: "mint_to_address",
  fileUrl: "file_url",
  uri: "file_url",
  idempotencyKey: "Idempotency-Key",
};
