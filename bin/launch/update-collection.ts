import { CommandError } from "../command-error.ts";
import type { ServiceAddress } from "../service-address.ts";
import { RefusedError, ServiceClient } from "../service-client.ts";
import { EndedError, type Parts, untilConfirmed } from "./deploy.ts";
import { Journal, type UpdateInput, type UpdateKind } from "./journal.ts";
import type { Reporter } from "./reporter.ts";

const mutation = `mutation ($input: UpdateCollectionInput!) {
  updateCollection(input: $input) { update { id } userErrors { code field message } }
}`;

type Change = Record<string, unknown>;

/**
 * Changes the collection of a launched folder. The request is recorded before it is sent; an interrupted one is
 * completed first.
 *
 * @param change is called with the journal, for values that only the journal has.
 */
export async function updateLaunched(
  folder: string,
  address: ServiceAddress,
  reporter: Reporter,
  kind: UpdateKind,
  change: (journal: Journal) => Change,
): Promise<void> {
  const journal = Journal.open(folder);
  try {
    if (!journal.isOwn)
      throw new CommandError(
        `${journal.path} was not written by you on this machine: \`mintyard launch ${folder}\` asks whether to go on from it`,
      );
    const parts = { client: new ServiceClient(address), journal, reporter };
    const deployed = journal.last("deployed");
    const chain = journal.last("deploy_intent")?.input.chain;
    if (!deployed || !chain)
      throw new CommandError(`${folder} is not deployed yet: \`mintyard launch ${folder}\` goes on`);
    const wanted = { chain, collection: deployed.address, ...change(journal) };
    const open = openUpdate(journal);
    if (open) {
      await send(parts, open.kind, open.input);
      const { idempotencyKey: _, ...before } = open.input;
      if (JSON.stringify(before) === JSON.stringify(wanted)) return;
    }
    const count = journal.all("update_intent").length + 1;
    const input = { ...wanted, idempotencyKey: `launch-${journal.last("begun")?.id}-update-${count}` };
    journal.writeSynced({ step: "update_intent", at: new Date().toISOString(), kind, input });
    await send(parts, kind, input);
  } finally {
    journal.close();
  }
}

/** The last update, if no end is recorded for it. */
function openUpdate(journal: Journal) {
  const intent = journal.last("update_intent");
  const ends = [...journal.all("updated"), ...journal.all("update_refused")];
  return ends.some(({ idempotencyKey }) => idempotencyKey === intent?.input.idempotencyKey) ? undefined : intent;
}

async function send({ client, journal, reporter }: Parts, kind: UpdateKind, input: UpdateInput): Promise<void> {
  const { idempotencyKey } = input;
  try {
    const { updateCollection } = await client.graphql<{ updateCollection: { update: { id: string } } }>(mutation, {
      input,
    });
    const found = await untilConfirmed({ client, reporter }, "collectionUpdate", updateCollection.update.id);
    const { transactionHash } = found;
    journal.write({ step: "updated", at: new Date().toISOString(), kind, idempotencyKey, transactionHash });
    reporter.step("updated", `${kind} is in force (${transactionHash})`, { kind, transactionHash });
  } catch (error) {
    // Either way nothing was changed, and the next update is a new request.
    if (error instanceof RefusedError || error instanceof EndedError)
      journal.write({ step: "update_refused", idempotencyKey, reason: error.message });
    throw error;
  }
}

/** The change that a reveal makes. @throws CommandError when the collection was revealed from the start. */
export function revealOf(journal: Journal): Change {
  const input = journal.last("deploy_intent")?.input;
  if (typeof input?.["baseUri"] === "string")
    throw new CommandError("the collection was deployed with its metadata: there is nothing to reveal");
  return { baseUri: journal.last("directory")?.uri };
}
