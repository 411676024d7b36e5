import { sql } from "kysely";
import type { Chain } from "../chains.ts";
import type { RpcResult } from "../rpc/batch.ts";
import type { Services } from "../services.ts";
import { toHex } from "./bytes.ts";
import { calls } from "./chain-reads.ts";
import { crashPoint, hasDefect } from "./faults.ts";
import { type Intent, moveIntent } from "./intents.ts";
import type { Node } from "./nodes.ts";
import { sendWithNewNonce, takeForOurs } from "./seeded-defects.ts";
import { type Attempt, listAttempts } from "./slots.ts";

/**
 * Sends the stored bytes of an intent, newest first, to every endpoint. May be called any number of times.
 *
 * Answers are kept as evidence, never as a verdict. A node that times out or says "nonce too low" may
 * still hold these bytes; only a receipt on the canonical chain moves the state.
 *
 * @param only how many of the newest attempts to send; all of them after a reorganisation.
 */
export async function broadcast(services: Services, chain: Chain, intent: Intent, only = 2): Promise<void> {
  const attempts = (await listAttempts(services.db, intent.id)).slice(0, only);
  if (attempts.length === 0) return;
  const nodes = await services.relay.nodes(chain).all();
  await Promise.all(nodes.map((node) => sendTo(services, chain, node, attempts)));
  crashPoint("send-after");
  if (intent.state === "signed") await moveIntent(services.db, intent, "in_flight");
}

async function sendTo(services: Services, chain: Chain, node: Node, attempts: readonly Attempt[]): Promise<void> {
  const outcomes = await node.ask(attempts.map((attempt) => calls.send(toHex(attempt.raw)))).then(
    (answers) => answers.map(describe),
    (error: Error) => attempts.map(() => ({ code: error.name, detail: shorten(error.message) })),
  );
  for (const [index, attempt] of attempts.entries()) {
    const outcome = outcomes[index];
    if (!outcome) continue;
    services.log.debug({ hash: toHex(attempt.hash), node: node.name, outcome }, "sent");
    await note(services, attempt, node, outcome);
    if (hasDefect("new-nonce-on-error") && /nonce/i.test(outcome.detail ?? ""))
      await sendWithNewNonce(services, chain, node, attempt);
    if (hasDefect("underpriced-is-ours") && /underpriced/i.test(outcome.detail ?? "")) takeForOurs(attempt);
  }
}

/** Kept when it differs from what the same endpoint said last: a re-send every few seconds is no news. */
async function note(
  services: Services,
  attempt: Attempt,
  node: Node,
  outcome: { code: string; detail: string | null },
): Promise<void> {
  await sql`
    INSERT INTO service.attempt_event (attempt_hash, provider, method, outcome_code, detail)
    SELECT ${attempt.hash}, ${node.name}, 'eth_sendRawTransaction', ${outcome.code}, ${outcome.detail}
    WHERE coalesce((
      SELECT concat(e.outcome_code, ' ', e.detail) FROM service.attempt_event e
      WHERE e.attempt_hash = ${attempt.hash} AND e.provider = ${node.name} ORDER BY e.id DESC LIMIT 1), '')
      <> concat(${outcome.code}::text, ' ', ${outcome.detail}::text)`.execute(services.db);
}

function describe(answer: RpcResult): { code: string; detail: string | null } {
  if ("result" in answer) return { code: "accepted", detail: null };
  return { code: `error ${answer.error.code}`, detail: shorten(answer.error.message) };
}

function shorten(text: string): string {
  return text
    .replaceAll(/\w+:\/\/\S+/g, "<url>")
    .replaceAll(/\s+/g, " ")
    .slice(0, 200);
}
