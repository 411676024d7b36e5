/** Who may receive an event: everybody, the account that it belongs to, or the operator's own endpoints. */
type Audience = "everybody" | "account" | "operator";

interface EventFamily {
  audience: Audience;
  description: string;
}

/**
 * All types of events, by the beginning of their names: a filter that names a beginning (up to a dot) gets all types
 * below it. A new type is one entry here; its events are written by a trigger or a call of `service.record_event`
 * (schema/migrations/0320_events.sql).
 */
export const eventFamilies: Readonly<Record<string, EventFamily>> = {
  "nft.transfer": { audience: "everybody", description: "A token was minted, moved or burned." },
  "nft.transfer.retracted": {
    audience: "everybody",
    description: "A movement that was told before is not on the chain any more; `retracts` is its id.",
  },
  "chain.finalized": { audience: "everybody", description: "All movements of these blocks are final." },
  "metadata.updated": { audience: "everybody", description: "The document of a token was read and has changed." },
  "metadata.failed": { audience: "everybody", description: "The document of a token could not be read." },
  deployment: { audience: "account", description: "A deployment came to another state: `deployment.confirmed`." },
  update: { audience: "account", description: "An update of a collection came to another state." },
  contract: { audience: "account", description: "A deployment of a product contract came to another state." },
  contract_update: { audience: "account", description: "A change of a product contract came to another state." },
  mint: { audience: "account", description: "A mint request came to another state." },
  token_update: { audience: "account", description: "A change of a token's URI came to another state." },
  burn: { audience: "account", description: "A burn came to another state." },
  transfer: { audience: "account", description: "A transfer that was asked for came to another state." },
  "webhook.test": { audience: "account", description: "Sent to one endpoint when its owner asks for it." },
  "webhook.verification": {
    audience: "account",
    description:
      "Sent to an endpoint that is new or has another URL: it wants messages if it answers with `challenge`.",
  },
  "wallet.low_balance": { audience: "operator", description: "A relayer's wallet has too little to go on." },
  "wallet.halted": { audience: "operator", description: "A relayer's wallet was stopped; see the runbooks." },
  "index.stalled": { audience: "operator", description: "The index of a chain stood still and was started again." },
};

/** Beginnings of the names of the operator's events. */
export const operatorFamilies: readonly string[] = ["wallet", "index"];

/** Whether a filter may name it: a known type, the beginning of known ones, or a state below an account's type. */
export function isEventType(name: string): boolean {
  if (!/^[a-z_]+(?:\.[a-z_]+){0,3}$/.test(name)) return false;
  return Object.entries(eventFamilies).some(
    ([family, { audience }]) =>
      isBelow(family, name) || (audience === "account" && isBelow(name, family) && name.split(".").length === 2),
  );
}

/**
 * Whether a type is another one or below it: `nft.transfer.retracted` is below `nft.transfer`, `nft.transfers` is not.
 */
export function isBelow(type: string, beginning: string): boolean {
  return type === beginning || type.startsWith(`${beginning}.`);
}
