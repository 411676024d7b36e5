import { setTimeout as sleep } from "node:timers/promises";
import type { RelayContext } from "../chain/context.ts";
import { getIntent, type Intent } from "../store/intents.ts";
import type { Step } from "./submission.ts";

/** The lead is signed right after the batch was put together, as a rule by the process that did that. */
const pollMs = 20;
const polls = 10;

/** Of a lead: its transaction will not be mined, or did nothing. */
const withoutEffect: ReadonlySet<Intent["state"]> = new Set(["nonce_conflict", "retried", "cancelled"]);

/** The step of a member of a batch: its bytes are its lead's, which others sign, send and follow. */
export async function followLead(services: RelayContext, member: Intent): Promise<Step> {
  for (let poll = 0; poll < polls; poll += 1) {
    const lead = await getIntent(services.db, member.batch_lead ?? "");
    if (lead.state !== "assigned") return afterSigning(await getIntent(services.db, member.id), lead);
    await sleep(pollMs);
  }
  return { kind: "waiting", intent: member, reason: "the transaction that it shares is being signed", ready: null };
}

function afterSigning(member: Intent, lead: Intent): Step {
  if (member.state !== "batched") return member;
  if (!withoutEffect.has(lead.state)) return { kind: "signed", intent: member };
  const reason = "the transaction that it shared came to nothing; it goes on alone once that is final";
  return { kind: "waiting", intent: member, reason, ready: null };
}
