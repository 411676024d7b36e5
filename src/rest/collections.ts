import { type Address, getAddress } from "viem";
import { deployCollection } from "../collections/deploy-collection.ts";
import { withFieldNames } from "../collections/problems.ts";
import { planUpdate, updateCollection } from "../collections/update-collection.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { checkedDeployment, legacyName, readDeployment, readUpdate } from "./deployment-body.ts";
import { planBody, planRequest, updatePlanBody } from "./dry-run.ts";
import { explorerUrl } from "./explorer-url.ts";
import { Input } from "./input.ts";
import { readJsonObject } from "./json-body.ts";
import { queryOf } from "./query.ts";
import { okRaw } from "./raw-json.ts";

/** A presale list of the largest size, and then some: the use case is the one to say that it is too long. */
const listValues = 200_000;

export function addCollections(app: V0App, services: Services): void {
  app.post("/contracts/collections", async (c) => {
    const query = Input.fromQuery(queryOf(c));
    const dryRun = query.boolean("dry_run");
    query.check();
    const caller = c.get("caller");
    const input = Input.fromBody(
      await readJsonObject(c.env.incoming, services.config.limits.jsonBodyBytes, {
        account: c.get("caller").accountId,
        mostValues: listValues,
      }),
    );
    const read = readDeployment(input);
    const idempotencyKey = c.req.header("Idempotency-Key");
    if (dryRun) {
      const plan = await planRequest(services, caller, input, read, idempotencyKey);
      return okRaw(c, planBody(plan, read.chain ?? "", input));
    }
    const request = checkedDeployment(input, read);
    const result = await withFieldNames(deployCollection(services, caller, { ...request, idempotencyKey }), legacyName);
    const { deployment } = result;
    c.header("Idempotency-Key", result.idempotencyKey);
    return ok(c, {
      chain: request.chain,
      transaction_hash: deployment.transactionHash,
      transaction_external_url: explorerUrl(deployment.chain, request.chain, deployment.transactionHash),
      owner_address: request.ownerAddress,
      name: request.name,
      symbol: request.symbol,
      predicted_address: getAddress(deployment.contract),
    });
  });

  app.put("/contracts/collections", async (c) => {
    const query = Input.fromQuery(queryOf(c));
    const dryRun = query.boolean("dry_run");
    query.check();
    const input = Input.fromBody(
      await readJsonObject(c.env.incoming, services.config.limits.jsonBodyBytes, {
        account: c.get("caller").accountId,
        mostValues: listValues,
      }),
    );
    const { chain = "", collection = "", ...changes } = readUpdate(input);
    input.check();
    const key = { chain, collection: collection.toLowerCase() as Address };
    if (dryRun) {
      const plan = await withFieldNames(planUpdate(services, c.get("caller"), { ...key, ...changes }), legacyName);
      return okRaw(c, updatePlanBody(plan, chain, input));
    }
    const idempotencyKey = c.req.header("Idempotency-Key");
    const result = await withFieldNames(
      updateCollection(services, c.get("caller"), { ...key, ...changes, idempotencyKey }),
      legacyName,
    );
    const { update } = result;
    c.header("Idempotency-Key", result.idempotencyKey);
    return ok(c, {
      chain,
      transaction_hash: update.transactionHash,
      transaction_external_url: explorerUrl(update.chain, chain, update.transactionHash),
    });
  });
}
