import { ServiceError } from "../errors/errors.ts";
import { isAllowedUrl } from "../outbound/address-guard.ts";
import type { EventFilter } from "../outbox/event-filter.ts";
import { eventFamilies, isBelow, operatorFamilies } from "../outbox/event-types.ts";
import { type EventFilterInput, readFilter } from "./event-input.ts";
import { allowsPrivate, type WebhookOwner, type WebhookServices } from "./webhook-record.ts";

/** What an endpoint is made or changed with. */
export interface WebhookInput extends EventFilterInput {
  url?: string | null | undefined;
  description?: string | null | undefined;
}

/** A filter as the table has it. */
export function columnsOf({ tokenIds, ...filter }: EventFilter) {
  return { ...filter, token_ids: tokenIds };
}

/** The operator's own have what the operator is told; an account's filter may name everything and gets what it may see. */
export function readFilterFor(services: WebhookServices, owner: WebhookOwner, input: WebhookInput): EventFilter {
  if (owner.accountId !== null) {
    const wanted = readFilter(services, input);
    if (owner.plan?.wholeChainWebhooks === false && wanted.contracts.length === 0 && tellsOfChains(wanted))
      throw new ServiceError(
        "plan_limit_exceeded",
        "your plan sends events of the contracts that an endpoint names: give contracts, or only types of your own such as deployment and mint",
        { field: "contracts" },
      );
    return wanted;
  }
  const filter = readFilter(services, { ...input, types: input.types?.length ? input.types : operatorFamilies });
  for (const name of filter.types)
    if (!operatorFamilies.some((family) => isBelow(name, family)))
      throw new ServiceError("invalid_enumeration", `types must be of ${operatorFamilies.join(" or ")}`, {
        field: "types",
      });
  return filter;
}

/** Whether a filter lets through what everybody gets. */
function tellsOfChains({ types }: EventFilter): boolean {
  const ofChains = Object.keys(eventFamilies).filter((name) => eventFamilies[name]?.audience === "everybody");
  return (
    types.length === 0 || types.some((type) => ofChains.some((name) => isBelow(name, type) || isBelow(type, name)))
  );
}

/** @throws ServiceError `parameter_missing`, `value_error`. */
export function readUrl({ config }: WebhookServices, owner: WebhookOwner, text: string | null | undefined): string {
  if (!text) throw new ServiceError("parameter_missing", "url is missing", { field: "url" });
  const url = text.length <= 2_000 && URL.canParse(text) ? new URL(text) : null;
  const allowPrivate = allowsPrivate(config, owner.accountId);
  if (!url || !isAllowedUrl(url, { allowPrivate }))
    throw new ServiceError(
      "value_error",
      `url must be http or https,${allowPrivate ? "" : " at a public host, at port 80 or 443,"} without a user, and of 2,000 characters at most`,
      { field: "url" },
    );
  return url.href;
}

/** @returns undefined where none is given. @throws ServiceError `value_error`. */
export function readDescription(text: string | null | undefined): string | undefined {
  if (text === null || text === undefined) return undefined;
  if (text.length > 500 || text.includes("\0"))
    throw new ServiceError("value_error", "description may have 500 characters", { field: "description" });
  return text;
}
