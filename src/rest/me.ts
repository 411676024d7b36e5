import { type Account, getAccount } from "../accounts/get-account.ts";
import {
  type ApiKey,
  type CreatedKey,
  createKey,
  createKeyFields,
  listKeys,
  revokeKey,
  rotateKey,
  rotateKeyFields,
} from "../accounts/keys.ts";
import { signUp, signUpFields } from "../accounts/sign-up.ts";
import { withFieldNames } from "../collections/problems.ts";
import { clientAddress } from "../http/client-address.ts";
import { nameIn, renamerOf } from "../requests/fields.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { readOwnBody } from "./bodies.ts";

/** Names under which the original service showed its chains; the last is the test chain's older one. */
const shown = { polygon: "polygon", goerli: "goerli", rinkeby: "goerli", ethereum: "ethereum" };

/** Stands for "no limit": old clients expect a 32-bit integer there, not null. */
const unlimited = 2 ** 31 - 1;

/** GET /me/settings */
export function addSettings(app: V0App, services: Services): void {
  app.get("/me/settings", async (c) => {
    const account = await getAccount(services, c.get("session"));
    const { plan } = account;
    const perMonth = Number(plan.requestsPerMonth ?? unlimited);
    const others = account.usage.map((usage) => usage.chain).filter((chain) => !(chain in shown));
    const names: [string, string][] = [
      ...Object.entries(shown),
      ...others.map((name): [string, string] => [name, name]),
    ];
    return ok(c, {
      profile: {
        name: account.name,
        email: account.email ?? "",
        joined_date: `${account.createdAt.toISOString().slice(0, 19)}+00:00`,
      },
      subscription_period: { start_date: day(account.periodStart), end_date: day(account.periodEnd) },
      data_usage_and_limits: {
        data_usage: { subscription_data_requests_made: account.requestsThisPeriod },
        data_limits: {
          subscription_data_requests_included: perMonth,
          max_data_requests_per_second: plan.readsPerSecond ?? unlimited,
          max_data_requests_per_month: perMonth,
        },
      },
      storage_usage_and_limits: {
        storage_usage: { stored_bytes: Number(account.storedBytes) },
        storage_limits: {
          max_stored_bytes: plan.storageBytes === null ? null : Number(plan.storageBytes),
          max_uploads_at_once: plan.uploadsAtOnce,
        },
      },
      transaction_usage_and_limits: {
        transaction_usage: {
          transactions_made_today: account.transactionsToday,
          subscription_transactions_made: account.transactionsThisPeriod,
        },
        transaction_limits: {
          max_transactions_per_day: plan.transactionsPerDay,
          max_transactions_per_month: plan.transactionsPerMonth,
        },
      },
      request_limits: {
        max_deploy_requests_per_minute: plan.deploysPerMinute,
        max_deploy_requests_per_day: plan.deployRequestsPerDay,
        max_upload_requests_per_minute: plan.uploadsPerMinute,
        max_upload_requests_per_day: plan.uploadRequestsPerDay,
      },
      webhook_usage_and_limits: {
        webhook_usage: { webhooks: account.webhooks, tries_made_today: account.webhookTriesToday },
        webhook_limits: { max_webhooks: plan.maxWebhooks, max_tries_per_day: plan.webhookTriesPerDay },
      },
      deployment_limits: {
        max_supply: plan.maxSupply === null ? null : Number(plan.maxSupply),
        max_awaited_deployments: plan.maxAwaitedDeployments,
        max_allowlists: plan.maxAllowlists,
        max_allowlist_bytes: plan.allowlistBytes === null ? null : Number(plan.allowlistBytes),
      },
      minting_usage_and_limits: Object.fromEntries(names.map(([name, chain]) => [name, mintingOf(account, chain)])),
    });
  });
}

function mintingOf(account: Account, chain: string) {
  const none = { contractsTotal: 0, contractsThisPeriod: 0, mintsTotal: 0, mintsThisPeriod: 0 };
  const known = account.usage.find((item) => item.chain === chain);
  const usage = known ?? none;
  const { plan } = account;
  return {
    minting_usage: { total_nfts_minted: usage.mintsTotal, subscription_nfts_minted: usage.mintsThisPeriod },
    minting_limits: {
      subscription_mints_included: plan.mintsIncluded ?? unlimited,
      max_mints: plan.maxMints ?? unlimited,
    },
    contract_deployment_usage: {
      total_contracts_deployed: usage.contractsTotal,
      subscription_contracts_deployed: usage.contractsThisPeriod,
    },
    contract_deployment_limits: {
      subscription_contracts_included: plan.contractsIncluded ?? unlimited,
      max_contracts: plan.maxContracts ?? unlimited,
    },
    // Wei amounts are strings, because they do not fit a JSON number. They are null for a chain that is not served.
    gas_usage: {
      wei_today: known ? String(known.gasTodayWei) : null,
      wei_this_month: known ? String(known.gasThisMonthWei) : null,
    },
    gas_limits: {
      max_wei_per_day: known ? String(known.maxGasPerDayWei) : null,
      max_wei_per_month: known?.maxGasPerMonthWei ? String(known.maxGasPerMonthWei) : null,
    },
  };
}

function day(date: Date): string {
  return date.toISOString().slice(0, 19);
}

/** /me/keys: the keys of the caller's account; needs the scope admin. */
export function addKeys(app: V0App, services: Services): void {
  app.get("/me/keys", async (c) => {
    const keys = await listKeys(services, c.get("session"));
    return ok(c, { keys: keys.map(keyBody) });
  });
  app.post("/me/keys", async (c) => {
    const made = createKey(services, c.get("session"), await readOwnBody(c.env.incoming, createKeyFields));
    return ok(c, createdBody(await withFieldNames(made, renamerOf("v0", {}))));
  });
  app.post("/me/keys/:id/rotate", async (c) => {
    const body = await readOwnBody(c.env.incoming, rotateKeyFields);
    const made = rotateKey(services, c.get("session"), { id: c.req.param("id"), ...body });
    return ok(c, createdBody(await withFieldNames(made, renamerOf("v0", {}))));
  });
  app.delete("/me/keys/:id", async (c) => {
    return ok(c, { key: keyBody(await revokeKey(services, c.get("session"), c.req.param("id"))) });
  });
}

function createdBody({ apiKey, key, legacyKey }: CreatedKey) {
  return { api_key: key, legacy_api_key: legacyKey, key: keyBody(apiKey) };
}

function keyBody(key: ApiKey): Record<string, unknown> {
  return Object.fromEntries(Object.entries(key).map(([name, value]) => [nameIn("v0", name, undefined), value]));
}

/** POST /signup, which needs no key. */
export function addSignUp(app: V0App, services: Services): void {
  app.post("/signup", async (c) => {
    const { accountId, tier, key, legacyKey } = await signUp(
      services,
      await readOwnBody(c.env.incoming, signUpFields),
      {
        address: clientAddress(c.env.incoming, services.config.trustedProxies),
        requestId: c.get("requestId"),
      },
    );
    return ok(c, { account_id: accountId, tier, api_key: key, legacy_api_key: legacyKey });
  });
}
