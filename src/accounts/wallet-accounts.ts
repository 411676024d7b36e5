import { randomUUID } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Address } from "viem";
import { writeAudit } from "../auth/audit.ts";
import { createAccount } from "../auth/keys.ts";
import { toBytes } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import { setTenant } from "../db/tenancy/tenant.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { admitSignUp } from "./sign-up.ts";

/** A wallet whose signature was verified. */
export interface ProvenWallet {
  /** Lower case. */
  address: Address;
  /** The chain of a contract wallet; 0 for a private key, which is the same on every chain. */
  chainId: number;
}

/** @returns the account that a wallet signs in to; null: the wallet is new. */
export async function accountOfWallet(services: Services, wallet: ProvenWallet): Promise<string | null> {
  const { rows } = await sql<{ account: string | null }>`
    SELECT service.account_of_wallet(${toBytes(wallet.address)}, ${wallet.chainId}) AS account`.execute(services.db);
  return rows[0]?.account ?? null;
}

/**
 * Creates a free account for a wallet, limited like every other sign-up. It has no key until its owner creates one.
 *
 * @throws ServiceError `sign_up_closed`, `storage_full`, `rate_limit_exceeded`.
 */
export async function openWalletAccount(
  services: Services,
  wallet: ProvenWallet,
  request: { address: string | null; requestId: string },
): Promise<string> {
  await admitSignUp(services, request.address);
  const id = randomUUID();
  setTenant(id);
  const name = `${wallet.address.slice(0, 6)}…${wallet.address.slice(-4)}`;
  try {
    return await createAccount(
      services.db,
      services.config.keyPepper,
      { id, name, tier: "free" },
      async (transaction) => {
        await addWallet(transaction, wallet, id, request.requestId, "sign_up");
      },
    );
  } catch (error) {
    // In a concurrent sign-in the other request has created it.
    const other = (error as { code?: string }).code === "23505" ? await accountOfWallet(services, wallet) : null;
    if (other === null) throw error;
    return other;
  }
}

/**
 * Lets a wallet sign in to an account that the caller opened with a key. Idempotent.
 *
 * @throws ServiceError `value_error` for a wallet that belongs to another account.
 */
export async function joinWallet(
  services: Services,
  wallet: ProvenWallet,
  accountId: string,
  requestId: string,
): Promise<void> {
  const known = await accountOfWallet(services, wallet);
  if (known === accountId) return;
  if (known !== null)
    throw new ServiceError("value_error", "this wallet opens another account; sign in with it without a key", {
      field: "message",
    });
  await services.db
    .transaction()
    .execute((transaction) => addWallet(transaction, wallet, accountId, requestId, "join_wallet"));
}

async function addWallet(
  transaction: Kysely<Database>,
  { address, chainId }: ProvenWallet,
  accountId: string,
  requestId: string,
  action: string,
): Promise<void> {
  await transaction
    .insertInto("service.wallet_login")
    .values({ address: toBytes(address), chain_id: chainId, account_id: accountId })
    .execute();
  await writeAudit(transaction, {
    actor: `account:${accountId}`,
    requestId,
    action,
    object: `account:${accountId}`,
    after: { wallet: address, chainId },
  });
}
