import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { type Deployment, selectDeployments, toDeployment } from "./get-deployment.ts";

export interface ListDeploymentsInput {
  /** 1 to 100. */
  first: number;
  /** Cursor of the last one of the page before. */
  after?: string | undefined;
}

export interface DeploymentPage {
  deployments: { cursor: string; deployment: Deployment }[];
  hasNextPage: boolean;
}

/**
 * The caller's deployments, newest first.
 *
 * @throws ServiceError `value_error` for a page size out of range, `invalid_continuation_string`.
 */
export async function listDeployments(
  services: Services,
  caller: Caller,
  input: ListDeploymentsInput,
): Promise<DeploymentPage> {
  if (!(Number.isInteger(input.first) && input.first >= 1 && input.first <= 100))
    throw new ServiceError("value_error", "first must be 1 to 100", { field: "first" });
  let query = selectDeployments(services.db)
    .where("i.tenant_id", "=", caller.accountId)
    // It goes on as a retry.
    .where("i.state", "<>", "retried")
    .where("i.chain_id", "in", [...services.chains.map((chain) => chain.id), -1])
    .orderBy("i.created_at", "desc")
    .orderBy("i.id", "desc")
    .limit(input.first + 1);
  if (input.after !== undefined) {
    const id = decodeCursor(input.after);
    query = query.where(
      sql<boolean>`(i.created_at, i.id) < (SELECT p.created_at, p.id FROM service.intent p
        WHERE p.id = ${id} AND p.tenant_id = ${caller.accountId})`,
    );
  }
  const rows = await query.execute();
  return {
    deployments: rows
      .slice(0, input.first)
      .map((row) => ({ cursor: encodeCursor(row.id), deployment: toDeployment(services, row) })),
    hasNextPage: rows.length > input.first,
  };
}

function encodeCursor(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

function decodeCursor(cursor: string): string {
  const hex = Buffer.from(cursor, "base64url").toString("hex");
  if (/^[A-Za-z0-9_-]{22}$/.test(cursor) && hex.length === 32)
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  throw new ServiceError("invalid_continuation_string", "not a cursor of this list", { field: "after" });
}
