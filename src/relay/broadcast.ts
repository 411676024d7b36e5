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

/** Whatever is to be sent on a chain goes in one line, so that one request does not overtake another. */
const sendTogether = batched(sendAll, { most: 16, apart: false });
const markTogether = batched(markSent, { most: 32, apart: false });

interface Sending {
  chain: Chain;
  intent: Intent;
  only: number;
}

/**
 * Sends the stored bytes of an intent, newest first, to every endpoint. May be called any number of times; what is
 * to be sent while something is being sent shares the next request to the node.
 *
 * Answers are kept as evidence, never as a verdict. A node that times out or says "nonce too low" may
 * still hold these bytes; only a receipt on the canonical chain moves the state.
 *
 * @param only how many of the newest attempts to send; all of them after a reorganisation.
 * @returns `early` when no endpoint took them and one said that their nonce is not next: those before them may be on
 *   their way from another process, so trying again in a moment helps.
 */
export async function broadcast(
  services: Services,
  chain: Chain,
  intent: Intent,
  only = 2,
): Promise<{ early: boolean }> {
  const { sent, early } = await sendTogether(services, String(chain.id), { chain, intent, only });
  // A connection sees the intents of one account.
  if (sent && intent.state === "signed") await markTogether(services, intent.tenant_id, intent);
  return { early };
}

/** @param sendings of one chain. */
async function sendAll(services: Services, sendings: readonly Sending[]): Promise<{ sent: boolean; early: boolean }[]> {
  const [first] = sendings;
  if (!first) return [];
  const { chain } = first;
  const ids = sendings.map(({ intent }) => intent.id);
  const stored = Map.groupBy(await listAttemptsOf(services.db, ids), (attempt) => attempt.intent_id);
  const attempts = sendings.flatMap(({ intent, only }) => (stored.get(intent.id) ?? []).slice(0, only));
  if (attempts.length === 0) return sendings.map(() => ({ sent: false, early: false }));
  // Some nodes refuse a transaction whose predecessor they do not have yet. The newest of each nonce stays first.
  attempts.sort((a, b) => Number(a.nonce - b.nonce));
  const nodes = await services.relay.nodes(chain).all();
  const answers = await Promise.all(nodes.map((node) => sendTo(services, chain, node, attempts)));
  crashPoint("send-after");
  const early = new Set(
    attempts
      .filter((_, index) => isEarly(answers.flatMap((outcomes) => outcomes[index] ?? [])))
      .map((attempt) => attempt.intent_id),
  );
  return ids.map((id) => ({ sent: stored.has(id), early: early.has(id) }));
}

/** What another process moved meanwhile stays as that one left it. @param sent of one account. */
async function markSent(services: Services, sent: readonly Intent[]): Promise<null[]> {
  await sql`
    UPDATE service.intent i SET state = 'in_flight', version = seen.version + 1, hold_reason = NULL, hold_detail = NULL
    FROM unnest(${sent.map(({ id }) => id)}::uuid[], ${sent.map(({ version }) => version)}::int[]) AS seen (id, version)
    WHERE i.id = seen.id AND i.state = 'signed' AND i.version = seen.version`.execute(services.db);
  return sent.map(() => null);
}

function isEarly(outcomes: readonly Outcome[]): boolean {
  if (outcomes.some(({ code }) => code === "accepted")) return false;
  return outcomes.some(({ detail }) => /nonce/i.test(detail ?? "") && !/too low/i.test(detail ?? ""));
}

async function sendTo(
  services: Services,
  chain: Chain,
  node: Node,
  attempts: readonly Attempt[],
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  // Development nodes keep no queue of what comes early, and do all of a batch at once, in any order.
  const most = chain.local ? 1 : attempts.length;
  for (let at = 0; at < attempts.length; at += most) outcomes.push(...(await ask(node, attempts.slice(at, at + most))));
  services.log.debug({ node: node.name, outcomes, hashes: attempts.map(({ hash }) => toHex(hash)) }, "sent");
  await note(services, node, attempts, outcomes);
  for (const [index, attempt] of attempts.entries()) {
    const detail = outcomes[index]?.detail ?? "";
    if (hasDefect("new-nonce-on-error") && /nonce/i.test(detail))
      await sendWithNewNonce(services, chain, node, attempt);
    if (hasDefect("underpriced-is-ours") && /underpriced/i.test(detail)) takeForOurs(attempt);
  }
  return outcomes;
}

async function ask(node: Node, attempts: readonly Attempt[]): Promise<Outcome[]> {
  try {
    return (await node.ask(attempts.map((attempt) => calls.send(toHex(attempt.raw))))).map(describe);
  } catch (error) {
    const { name, message } = error as Error;
    return attempts.map(() => ({ code: name, detail: shorten(message) }));
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
