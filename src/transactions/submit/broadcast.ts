import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import { toHex } from "../../db/bytes.ts";
import { nodeWords } from "../../rpc/answers.ts";
import { NodeFault, type RpcResult } from "../../rpc/endpoint.ts";
import type { Node } from "../../rpc/nodes.ts";
import { calls } from "../../rpc/reads.ts";
import type { RelayContext } from "../chain/context.ts";
import { learnTip } from "../chain/fees.ts";
import { batched } from "../store/batch.ts";
import { failpoint } from "../store/failpoint.ts";
import type { Intent } from "../store/intents.ts";
import { type Attempt, listAttemptsOf } from "../store/nonces.ts";

/** Whatever is to be sent to an endpoint goes in one line, unless it hangs: one request shall not overtake another. */
const sendTogether = batched(sendAll, { most: 16, retryIndividually: false, timeoutMs: 2_000 });
const readTogether = batched(readStored, { most: 64, retryIndividually: false });
const markTogether = batched(markSent, { most: 32, retryIndividually: false });

interface Sending {
  chain: Chain;
  node: Node;
  attempts: readonly Attempt[];
}

/**
 * Sends the stored bytes of an intent, newest first, to every endpoint. May be called any number of times. While an
 * endpoint is busy, further bytes for it share the next request, and a slow endpoint does not delay the others.
 *
 * Answers are stored as evidence, never as a verdict. A node that times out or says "nonce too low" may still have
 * these bytes; only a receipt on the canonical chain moves the state.
 *
 * @param only how many of the newest attempts to send; all of them after a reorganisation.
 */
export async function broadcast(services: RelayContext, chain: Chain, intent: Intent, only = 2): Promise<void> {
  const attempts = (await readTogether(services, "", intent.id)).slice(0, only);
  if (attempts.length === 0) return;
  const nodes = await services.relay.nodes(chain).all();
  // Bytes that went to no endpoint do not count as sent.
  if (nodes.length === 0) return;
  const answers = await Promise.all(
    nodes.map((node) => sendTogether(services, `${chain.id} ${node.name}`, { chain, node, attempts })),
  );
  failpoint("send-after");
  // Lower nonces may be on their way from another process: left as not sent, these bytes are sent again in a moment.
  const isToRepeat = isEarly(answers.flatMap((outcomes) => outcomes[0] ?? []));
  if (intent.state === "signed" && !isToRepeat) await markTogether(services, "", intent);
}

async function readStored(services: RelayContext, intentIds: readonly string[]): Promise<Attempt[][]> {
  const stored = Map.groupBy(await listAttemptsOf(services.db, intentIds), (attempt) => attempt.intent_id);
  return intentIds.map((id) => stored.get(id) ?? []);
}

/** @param sendings to one endpoint. @returns for each, the endpoint's answers to its attempts. */
async function sendAll(services: RelayContext, sendings: readonly Sending[]): Promise<SendOutcome[][]> {
  const [first] = sendings;
  if (!first) return [];
  const { chain, node } = first;
  const attempts = sendings.flatMap((sending) => sending.attempts);
  // Some nodes refuse a transaction whose predecessor they lack. The newest attempt of each nonce stays first.
  attempts.sort((a, b) => Number(a.nonce - b.nonce));
  const outcomes = await sendTo(services, chain, node, attempts);
  return sendings.map((sending) =>
    sending.attempts.map((attempt) => outcomes[attempts.indexOf(attempt)] ?? { code: "unknown", detail: null }),
  );
}

/** Skips intents that another process moved meanwhile. */
async function markSent(services: RelayContext, sent: readonly Intent[]): Promise<null[]> {
  // Locked in order: otherwise two processes that send the same rows could deadlock.
  await sql`
    WITH own AS (
      SELECT i.id FROM unnest(${sent.map(({ id }) => id)}::uuid[], ${sent.map(({ version }) => version)}::int[]) AS seen (id, version)
      JOIN service.intent i ON i.id = seen.id AND i.version = seen.version
      WHERE i.state = 'signed' ORDER BY i.id FOR UPDATE OF i)
    UPDATE service.intent i SET state = 'in_flight', version = i.version + 1, hold_reason = NULL, hold_detail = NULL
    FROM own WHERE i.id = own.id`.execute(services.db);
  return sent.map(() => null);
}

/** Whether no endpoint took the bytes and one reported that their nonce is not the next one. */
function isEarly(outcomes: readonly SendOutcome[]): boolean {
  if (outcomes.some(({ code }) => code === "accepted")) return false;
  return outcomes.some(({ detail }) => /nonce/i.test(detail ?? "") && !/too low/i.test(detail ?? ""));
}

async function sendTo(
  services: RelayContext,
  chain: Chain,
  node: Node,
  attempts: readonly Attempt[],
): Promise<readonly SendOutcome[]> {
  const outcomes = chain.local ? await askOneByOne(node, attempts) : await ask(node, attempts);
  services.log.debug({ node: node.name, outcomes, hashes: attempts.map(({ hash }) => toHex(hash)) }, "sent");
  for (const { detail } of outcomes) if (detail) learnTip(chain, detail);
  await recordOutcomes(services, node, attempts, outcomes);
  return outcomes;
}

/** Development nodes keep no queue of what comes early, and do all of a batch at once, in any order. */
async function askOneByOne(node: Node, attempts: readonly Attempt[]): Promise<SendOutcome[]> {
  const outcomes: SendOutcome[] = [];
  for (const attempt of attempts) {
    const [outcome] = await ask(node, [attempt]);
    if (outcome) outcomes.push(outcome);
    // After one attempt without an answer the rest do not wait for the endpoint; all of them are sent again.
    if (outcome?.code === noAnswer) break;
  }
  return attempts.map((_, index) => outcomes[index] ?? notSent);
}

async function ask(node: Node, attempts: readonly Attempt[]): Promise<SendOutcome[]> {
  try {
    return (await node.ask(attempts.map((attempt) => calls.send(toHex(attempt.raw))))).map(describe);
  } catch (error) {
    if (!(error instanceof NodeFault)) throw error;
    return attempts.map(() => ({ code: noAnswer, detail: nodeWords(error.message) }));
  }
}

/** Stores an answer that differs from the endpoint's last one: the same answer to every re-send is no news. */
async function recordOutcomes(
  services: RelayContext,
  node: Node,
  attempts: readonly Attempt[],
  outcomes: readonly SendOutcome[],
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

interface SendOutcome {
  code: string;
  detail: string | null;
}

const noAnswer = "NodeFault";
const notSent: SendOutcome = { code: "not sent", detail: "the endpoint did not answer the one before it" };

function describe(answer: RpcResult): SendOutcome {
  if ("result" in answer) return { code: "accepted", detail: null };
  return { code: `error ${answer.error.code}`, detail: nodeWords(answer.error.message) };
}
