import { sql } from "kysely";
import type { Chain } from "../chains.ts";
import type { RpcResult } from "../rpc/batch.ts";
import type { Services } from "../services.ts";
import { batched } from "./batches.ts";
import { toHex } from "./bytes.ts";
import { calls } from "./chain-reads.ts";
import { crashPoint, hasDefect } from "./faults.ts";
import type { Intent } from "./intents.ts";
import type { Node } from "./nodes.ts";
import { sendWithNewNonce, takeForOurs } from "./seeded-defects.ts";
import { type Attempt, listAttemptsOf } from "./slots.ts";

/** A node has to take all of it within one request's patience. */
const sendTogether = batched(sendAll, { most: 16, apart: false });

interface Sending {
  chain: Chain;
  intent: Intent;
  only: number;
}

/**
 * Sends the stored bytes of an intent, newest first, to every endpoint. May be called any number of times; what is
 * to be sent while another request to the node is under way shares the next one.
 *
 * Answers are kept as evidence, never as a verdict. A node that times out or says "nonce too low" may
 * still hold these bytes; only a receipt on the canonical chain moves the state.
 *
 * @param only how many of the newest attempts to send; all of them after a reorganisation.
 */
export async function broadcast(services: Services, chain: Chain, intent: Intent, only = 2): Promise<void> {
  // A connection sees the rows of one account.
  await sendTogether(services, `${chain.id} ${intent.tenant_id}`, { chain, intent, only });
}

/** @param sendings of one account and one chain. */
async function sendAll(services: Services, sendings: readonly Sending[]): Promise<undefined[]> {
  const [first] = sendings;
  if (!first) return [];
  const { chain } = first;
  const ids = sendings.map(({ intent }) => intent.id);
  const stored = Map.groupBy(await listAttemptsOf(services.db, ids), (attempt) => attempt.intent_id);
  const attempts = sendings.flatMap(({ intent, only }) => (stored.get(intent.id) ?? []).slice(0, only));
  if (attempts.length === 0) return sendings.map(() => undefined);
  // Some nodes refuse a transaction whose predecessor they do not have yet. The newest of each nonce stays first.
  attempts.sort((a, b) => Number(a.nonce - b.nonce));
  const nodes = await services.relay.nodes(chain).all();
  await Promise.all(nodes.map((node) => sendTo(services, chain, node, attempts)));
  crashPoint("send-after");
  const sent = sendings.filter(({ intent }) => intent.state === "signed" && stored.has(intent.id));
  await markSent(
    services,
    sent.map(({ intent }) => intent),
  );
  return sendings.map(() => undefined);
}

/** What another process moved meanwhile stays as that one left it. */
async function markSent(services: Services, signed: readonly Intent[]): Promise<void> {
  if (signed.length === 0) return;
  await sql`
    UPDATE service.intent i SET state = 'in_flight', version = seen.version + 1, hold_reason = NULL, hold_detail = NULL
    FROM unnest(${signed.map(({ id }) => id)}::uuid[], ${signed.map(({ version }) => version)}::int[]) AS seen (id, version)
    WHERE i.id = seen.id AND i.state = 'signed' AND i.version = seen.version`.execute(services.db);
}

async function sendTo(services: Services, chain: Chain, node: Node, attempts: readonly Attempt[]): Promise<void> {
  const outcomes = await node.ask(attempts.map((attempt) => calls.send(toHex(attempt.raw)))).then(
    (answers) => answers.map(describe),
    (error: Error) => attempts.map(() => ({ code: error.name, detail: shorten(error.message) })),
  );
  services.log.debug({ node: node.name, outcomes, hashes: attempts.map(({ hash }) => toHex(hash)) }, "sent");
  await note(services, node, attempts, outcomes);
  for (const [index, attempt] of attempts.entries()) {
    const detail = outcomes[index]?.detail ?? "";
    if (hasDefect("new-nonce-on-error") && /nonce/i.test(detail))
      await sendWithNewNonce(services, chain, node, attempt);
    if (hasDefect("underpriced-is-ours") && /underpriced/i.test(detail)) takeForOurs(attempt);
  }
}

/** Kept when it differs from what the same endpoint said last: a re-send every few seconds is no news. */
async function note(
  services: Services,
  node: Node,
  attempts: readonly Attempt[],
  outcomes: readonly Outcome[],
): Promise<void> {
  const hashes = attempts.map(({ hash }) => hash);
  const codes = outcomes.map(({ code }) => code);
  const details = outcomes.map(({ detail }) => detail);
  await sql`
    INSERT INTO service.attempt_event (attempt_hash, provider, method, outcome_code, detail)
    SELECT s.hash, ${node.name}, 'eth_sendRawTransaction', s.code, s.detail
    FROM unnest(${hashes}::bytea[], ${codes}::text[], ${details}::text[]) AS s (hash, code, detail)
    WHERE coalesce((
      SELECT concat(e.outcome_code, ' ', e.detail) FROM service.attempt_event e
      WHERE e.attempt_hash = s.hash AND e.provider = ${node.name} ORDER BY e.id DESC LIMIT 1), '')
      <> concat(s.code, ' ', s.detail)`.execute(services.db);
}

interface Outcome {
  code: string;
  detail: string | null;
}

function describe(answer: RpcResult): Outcome {
  if ("result" in answer) return { code: "accepted", detail: null };
  return { code: `error ${answer.error.code}`, detail: shorten(answer.error.message) };
}

function shorten(text: string): string {
  return text
    .replaceAll(/\w+:\/\/\S+/g, "<url>")
    .replaceAll(/\s+/g, " ")
    .slice(0, 200);
}
