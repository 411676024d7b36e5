import type { Context } from "hono";
import { withFieldNames } from "../collections/problems.ts";
import { type CarriedOut, carryOut, type Operation } from "../products/carry-out.ts";
import { burnTokens, transferTokens, updateToken } from "../products/change-tokens.ts";
import { mostTokens, type TokenInput } from "../products/check-tokens.ts";
import { mintTokens } from "../products/mint-tokens.ts";
import type { Services } from "../services.ts";
import type { V0App, V0Env } from "./app.ts";
import { explorerUrl } from "./explorer-url.ts";
import { Input } from "./input.ts";
import { JsonNumber, readJsonObject } from "./json-body.ts";
import { okRaw, RawJson } from "./raw-json.ts";

/** What every operation on a contract of the account names. */
interface Place {
  chain: string;
  contract: string;
}

/** POST, PUT and DELETE /mints/customizable, its batch, and /mints/transfers. */
export function addMints(app: V0App, services: Services): void {
  const required = { required: true };
  app.post("/mints/customizable", async (c) =>
    serve(c, services, (input, place) => {
      const uri = input.text("metadata_uri", required);
      const to = input.address("mint_to_address", required);
      const tokenId = input.integer("token_id");
      return {
        prepare: (caller, key) =>
          mintTokens(services, caller, { ...place, tokens: [{ to, uri, tokenId }], idempotencyKey: key }),
        echo: () => ({ metadata_uri: uri, mint_to_address: to }),
      };
    }),
  );
  app.put("/mints/customizable", async (c) =>
    serve(c, services, (input, place) => {
      const tokenId = input.integer("token_id", required) ?? 0n;
      const change = { uri: input.text("metadata_uri"), freeze: input.boolean("freeze_metadata") };
      return {
        prepare: (caller, key) => updateToken(services, caller, { ...place, tokenId, ...change, idempotencyKey: key }),
      };
    }),
  );
  app.delete("/mints/customizable", async (c) =>
    serve(c, services, (input, place) => {
      const tokens = [{ tokenId: input.integer("token_id", required) }];
      return { prepare: (caller, key) => burnTokens(services, caller, { ...place, tokens, idempotencyKey: key }) };
    }),
  );
  app.post("/mints/customizable/batch", async (c) =>
    serve(c, services, (input, place, body) => {
      const tokens = input.items("tokens", mostTokens, (item) => ({
        to: item.address("mint_to_address", required),
        tokenId: item.integer("token_id"),
        uri: item.text("metadata_uri", required),
        quantity: item.integer("quantity", required),
      }));
      return {
        prepare: (caller, key) => mintTokens(services, caller, { ...place, tokens, idempotencyKey: key }),
        echo: () => ({ tokens: asSent(body["tokens"]) }),
      };
    }),
  );
  app.delete("/mints/customizable/batch", async (c) =>
    serve(c, services, (input, place) => {
      const tokens = input.items("tokens", mostTokens, readMoved);
      return { prepare: (caller, key) => burnTokens(services, caller, { ...place, tokens, idempotencyKey: key }) };
    }),
  );
  app.post("/mints/transfers", async (c) =>
    serve(c, services, (input, place) => {
      const token = {
        tokenId: input.integer("token_id", required),
        to: input.address("transfer_to_address", required),
      };
      return {
        prepare: (caller, key) => transferTokens(services, caller, { ...place, tokens: [token], idempotencyKey: key }),
      };
    }),
  );
  app.post("/mints/transfers/batch", async (c) =>
    serve(c, services, (input, place) => {
      const tokens = input.items("tokens", mostTokens, (item) => ({
        ...readMoved(item),
        to: item.address("transfer_to_address", required),
      }));
      return { prepare: (caller, key) => transferTokens(services, caller, { ...place, tokens, idempotencyKey: key }) };
    }),
  );
}

function readMoved(item: Input): TokenInput {
  return {
    tokenId: item.integer("token_id", { required: true }),
    quantity: item.integer("quantity", { required: true }),
  };
}

type Caller = V0Env["Variables"]["caller"];

interface Reading {
  prepare(caller: Caller, idempotencyKey: string | undefined): Promise<Operation>;
  /** Members of the answer beside those of every transaction. */
  echo?(): Record<string, unknown>;
}

async function serve(
  c: Context<V0Env>,
  services: Services,
  read: (input: Input, place: Place, body: Record<string, unknown>) => Reading,
): Promise<Response> {
  const body = await readJsonObject(c.env.incoming, services.config.limits.jsonBodyBytes, {
    account: c.get("caller").accountId,
  });
  const input = Input.fromBody(body);
  const place = {
    chain: input.text("chain", { required: true }) ?? "",
    contract: input.address("contract_address", { required: true }) ?? "",
  };
  const reading = read(input, place, body);
  input.check();
  const caller = c.get("caller");
  const done = await withFieldNames(
    reading.prepare(caller, c.req.header("Idempotency-Key")).then((operation) => carryOut(services, caller, operation)),
    (field) => mintField(field, input),
  );
  return answerTransaction(c, done, place.chain, place.contract, reading.echo?.() ?? {});
}

/** The members that every transaction's answer has; chain and contract as they were sent. */
export function answerTransaction(
  c: Context<V0Env>,
  { request, idempotencyKey }: CarriedOut,
  chain: string,
  contract: string,
  more: Record<string, unknown>,
): Response {
  c.header("Idempotency-Key", idempotencyKey);
  return okRaw(c, {
    chain,
    contract_address: contract,
    transaction_hash: request.transactionHash,
    transaction_external_url: explorerUrl(request.chain, chain, request.transactionHash),
    ...more,
  });
}

/** What a client calls a member of the use cases' input. */
function mintField(field: string, input: Input): string {
  const [, at = "", name = field] = /^(tokens\[\d+\]\.)?(.*)$/.exec(field) ?? [];
  const to = input.has("transfer_to_address") ? "transfer_to_address" : "mint_to_address";
  const names: Record<string, string> = {
    ...{ contract: "contract_address", tokenId: "token_id", uri: "metadata_uri", to },
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
