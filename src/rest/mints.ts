import type { Context } from "hono";
import type { Caller } from "../auth/caller.ts";
import { withFieldNames } from "../collections/problems.ts";
import { withDrainedBody } from "../http/drain-body.ts";
import { announcedBytes, readMultipart } from "../http/multipart.ts";
import { carryOut, type Operation } from "../products/carry-out.ts";
import { burnTokens, transferTokens, updateToken } from "../products/change-tokens.ts";
import { tokenRequests } from "../products/check-tokens.ts";
import { easyFields, easyMint, easyUrlFields, findEasyContract } from "../products/easy-mint.ts";
import type { ProductInput, ProductRequest, productFields } from "../products/find-product.ts";
import { mintTokens } from "../products/mint-tokens.ts";
import { type Fields, type InputOf, renamerOf } from "../requests/fields.ts";
import type { Services } from "../services.ts";
import { refuseOverQuota } from "../uploads/admit-upload.ts";
import { uploadFile } from "../uploads/upload-file.ts";
import { okRaw, RawJson } from "./answer.ts";
import { bodyOf, type V0App, type V0Env } from "./app.ts";
import { readBody } from "./bodies.ts";
import { firstFile, otherBytes, otherParts } from "./files.ts";
import { Input } from "./input.ts";
import { JsonNumber } from "./json-body.ts";
import { queryInput } from "./query.ts";
import { transactionMembers } from "./values.ts";

/** POST, PUT and DELETE /mints/customizable, its batch, and /mints/transfers. */
export function addMints(app: V0App, services: Services): void {
  app.post("/mints/customizable", (c) =>
    serve(c, services, tokenRequests.mint, async ({ uri, to, tokenId: id, ...asked }, caller) => ({
      operation: await mintTokens(services, caller, { ...asked, tokens: [{ to, uri, tokenId: id }] }),
      echo: { metadata_uri: uri, mint_to_address: to },
    })),
  );
  app.put("/mints/customizable", (c) =>
    serve(c, services, tokenRequests.update, async (asked, caller) => ({
      operation: await updateToken(services, caller, asked),
    })),
  );
  app.delete("/mints/customizable", (c) =>
    serve(c, services, tokenRequests.burn, async ({ tokenId: id, ...asked }, caller) => ({
      operation: await burnTokens(services, caller, { ...asked, tokens: [{ tokenId: id }] }),
    })),
  );
  app.post("/mints/customizable/batch", (c) =>
    serve(c, services, tokenRequests.mintBatch, async (asked, caller, body) => ({
      operation: await mintTokens(services, caller, asked),
      echo: { tokens: asSent(body["tokens"]) },
    })),
  );
  app.delete("/mints/customizable/batch", (c) =>
    serve(c, services, tokenRequests.burnBatch, async (asked, caller) => ({
      operation: await burnTokens(services, caller, asked),
    })),
  );
  app.post("/mints/transfers", (c) =>
    serve(c, services, tokenRequests.transfer, async ({ tokenId: id, to, ...asked }, caller) => ({
      operation: await transferTokens(services, caller, { ...asked, tokens: [{ tokenId: id, to }] }),
    })),
  );
  app.post("/mints/transfers/batch", (c) =>
    serve(c, services, tokenRequests.transferBatch, async (asked, caller) => ({
      operation: await transferTokens(services, caller, asked),
    })),
  );
}

/**
 * @param fields of the body.
 * @param prepare gives the operation, and members of the answer in addition to those of every transaction.
 */
async function serve<F extends Fields & typeof productFields>(
  c: Context<V0Env>,
  services: Services,
  fields: F,
  prepare: (
    asked: InputOf<F>,
    caller: Caller,
    body: Record<string, unknown>,
  ) => Promise<{ operation: Operation; echo?: Record<string, unknown> }>,
): Promise<Response> {
  const body = await bodyOf(c, services);
  const input = Input.fromBody(body);
  const asked = readBody(input, fields);
  input.check();
  let echo: Record<string, unknown> = {};
  const request = await carriedOut(
    c,
    services,
    async (caller, idempotencyKey) => {
      const prepared = await prepare({ ...asked, idempotencyKey } as InputOf<F>, caller, body);
      echo = prepared.echo ?? {};
      return prepared.operation;
    },
    // For a single token, a fault is reported without a list index.
    renamerOf("v0", { ...fields["tokens"]?.item, ...fields }),
  );
  const { chain, contract } = asked as ProductInput;
  return okRaw(c, { chain, contract_address: contract, ...transactionMembers(request, chain), ...echo });
}

/** Carries an operation out under the request's Idempotency-Key. @param rename as of `withFieldNames`. */
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

/** JSON as it was sent, numbers with all their digits. */
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
    const request = readBody(input, easyUrlFields);
    input.check();
    return await mintEasily(c, services, request);
  });
  app.post("/mints/easy/files", (c) =>
    withDrainedBody(c, async () => {
      const input = queryInput(c);
      const request = readBody(input, easyFields);
      input.check();
      const caller = c.get("caller");
      // Checked before the file is stored: if nothing can be minted, nothing is stored.
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

/** A fault of the document's URI is reported as one of the file. */
const easyName = renamerOf("v0", { ...easyUrlFields, uri: { ...easyUrlFields.fileUrl, v0: ["file_url"] } });

async function mintEasily(
  c: Context<V0Env>,
  services: Services,
  asked: InputOf<typeof easyUrlFields>,
): Promise<Response> {
  const request = await carriedOut(
    c,
    services,
    (caller, idempotencyKey) => easyMint(services, caller, { ...asked, idempotencyKey }),
    easyName,
  );
  const { chain, to, name, description } = asked;
  const place = { chain, contract_address: request.contract };
  return okRaw(c, { ...place, ...transactionMembers(request, chain), mint_to_address: to, name, description });
}
