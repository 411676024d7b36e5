import { setTimeout as sleep } from "node:timers/promises";
import type { SeededGenerator } from "../setup/seeded-generator.ts";
import { type Answer, send } from "../setup/send.ts";
import { bodyOfTaken, type MintAsk } from "./mint-asks.ts";
import type { Tally } from "./tally.ts";
import type { World } from "./world.ts";

const clients = 14;

/** One request to one of the API processes; null when no answer comes. */
export async function sendV0(
  world: World,
  method: string,
  path: string,
  {
    body,
    key,
    turn = 0,
    timeoutMs = 20_000,
  }: { body?: object; key?: string | null; turn?: number; timeoutMs?: number },
): Promise<Answer | null> {
  const headers: Record<string, string> = key ? { "Idempotency-Key": key } : {};
  const request = {
    method,
    key: world.apiKey,
    headers,
    body,
    signal: AbortSignal.timeout(timeoutMs),
    repeatable: true,
  };
  return await send(`${world.apiUrls[turn % world.apiUrls.length]}/v0${path}`, request).catch(() => null);
}

/** One GraphQL request to one of the API processes; null when no answer comes. */
export async function sendGraphql(
  world: World,
  body: object,
  { turn = 0, timeoutMs = 20_000 }: { turn?: number; timeoutMs?: number },
): Promise<Record<string, unknown> | null> {
  const request = { key: world.apiKey, body, signal: AbortSignal.timeout(timeoutMs), repeatable: true };
  return await send(`${world.apiUrls[turn % world.apiUrls.length]}/graphql`, request).then(
    (answer) => answer.body,
    () => null,
  );
}

interface ListedResult {
  request: { id: string } | null;
  userErrors: { code: string; message: string }[];
}

/** What became of each token; null when the whole list was refused for a moment, or nobody answered. */
function readList(answer: Record<string, unknown> | null): ListedResult[] | null {
  const data = answer?.["data"] as { mintBatch?: { results: ListedResult[] | null } | null } | null | undefined;
  return data?.mintBatch?.results ?? null;
}

/** Clients that post mints, some of them three times at once, repeat what fails, hang up, and ask for taken ids. */
export class MintClients {
  readonly #world: World;
  readonly #random: SeededGenerator;
  readonly #tally: Tally;
  readonly #deadline: number;
  /** Answers that nobody expected, in words. */
  readonly wrong: string[] = [];
  calm = false;

  constructor(world: World, random: SeededGenerator, tally: Tally, deadline: number) {
    this.#world = world;
    this.#random = random;
    this.#tally = tally;
    this.#deadline = deadline;
  }

  /** @param released how many of the mints may have been begun by now. */
  async run(asks: readonly MintAsk[], released: () => number): Promise<void> {
    const queue = asks.values();
    const client = async () => {
      for (const ask of queue) {
        while (ask.index >= released() && this.#inTime) await sleep(50);
        if (!this.#inTime) return;
        if (ask.copies > 1) this.#tally.fault("equal requests at once");
        await Promise.all(Array.from({ length: ask.copies }, (_, copy) => this.#mint(ask, copy)));
        if (ask.kind === "chosen" && ask.hashes.size > 0) await this.#takeAgain(ask);
        if (ask.key && ask.kind === "drawn" && ask.index % 4 === 1) await this.#abuseKey(ask);
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  get #inTime(): boolean {
    return performance.now() < this.#deadline;
  }

  /** A list is repeated until each of its tokens has a request, which has to be the same one each time. */
  async #mintList(ask: MintAsk, copy: number): Promise<void> {
    for (let tries = 0; this.#inTime; tries += 1) {
      const variables = { ...(ask.body["variables"] as object), key: ask.key };
      const impatient = !this.calm && this.#random.chance(0.05);
      const timeoutMs = impatient ? this.#random.between(5, 300) : 20_000;
      const answer = await sendGraphql(this.#world, { ...ask.body, variables }, { turn: copy + tries, timeoutMs });
      const results = readList(answer);
      for (const [place, { request, userErrors }] of (results ?? []).entries()) {
        if (request) this.#keep(ask, place, request.id);
        const fault = userErrors.find(({ code }) => code !== "service_unavailable");
        if (fault) this.wrong.push(`list ${ask.index}, token ${place}: ${JSON.stringify(fault)}`);
      }
      if (results && ask.requests.size === ask.tokens.length) return this.#tally.count("lists with all requests");
      this.#tally.count(answer ? "lists to be repeated" : "connection failures");
      await sleep(200 + 200 * Math.min(tries, 4));
    }
  }

  #keep(ask: MintAsk, place: number, id: string): void {
    const before = ask.requests.get(place) ?? id;
    if (before !== id) this.wrong.push(`list ${ask.index}, token ${place} is two requests: ${before}, ${id}`);
    ask.requests.set(place, id);
  }

  async #mint(ask: MintAsk, copy: number): Promise<void> {
    if (ask.kind === "list") return await this.#mintList(ask, copy);
    const answer = await this.#insist(ask.path, ask.body, ask.key, copy);
    if (!answer) return;
    if (answer.status === 200) {
      this.#tally.count("answers with a hash");
      ask.hashes.add(String(answer.body["transaction_hash"]));
      if (ask.kind === "receiver") this.wrong.push(`mint ${ask.index} to a contract that takes no tokens was accepted`);
      return;
    }
    ask.refusal = JSON.stringify(answer.body["error"] ?? answer.body);
    this.#tally.count(`refused: ${ask.kind}`);
    if (ask.kind !== "receiver" && ask.kind !== "revoked") this.wrong.push(`mint ${ask.index}: ${ask.refusal}`);
  }

  /** A different mint of an id that is taken: refused with the transaction that took it, and nothing is spent. */
  async #takeAgain(ask: MintAsk): Promise<void> {
    const answer = await this.#insist(ask.path, bodyOfTaken(ask), null, 0);
    if (!answer) return;
    this.#tally.count("refused: taken id");
    const text = JSON.stringify(answer.body);
    if (answer.status !== 422 || !/is taken: transaction 0x/.test(text))
      this.wrong.push(`a taken id of mint ${ask.index} was answered with ${answer.status} ${text}`);
  }

  /** The same key for another mint: refused, and nothing is spent. */
  async #abuseKey(ask: MintAsk): Promise<void> {
    const answer = await this.#insist(
      "/mints/customizable",
      { ...bodyOfTaken(ask), metadata_uri: "ipfs://x" },
      ask.key,
      0,
    );
    if (!answer) return;
    this.#tally.fault("same key, other body");
    if (answer.status !== 422 && answer.status !== 404)
      this.wrong.push(`the key of mint ${ask.index} was taken for another one`);
  }

  /** @returns the first answer that is no refusal of the moment; null when the time is up. */
  async #insist(path: string, body: object, key: string | null, copy: number): Promise<Answer | null> {
    for (let tries = 0; this.#inTime; tries += 1) {
      const impatient = !this.calm && this.#random.chance(0.05);
      if (impatient) this.#tally.fault("client hangs up");
      const timeoutMs = impatient ? this.#random.between(5, 300) : 20_000;
      const answer = await sendV0(this.#world, "POST", path, { body, key, turn: copy + tries, timeoutMs });
      if (!answer) this.#tally.count("connection failures");
      else if (answer.status === 503 || answer.status === 408) this.#tally.count(`status ${answer.status}`);
      else if (answer.status >= 500 || answer.status === 429) {
        // Planned refusals are 503 and say when to come back; anything else is a fault that nobody thought of.
        this.wrong.push(`status ${answer.status}: ${JSON.stringify(answer.body).slice(0, 200)}`);
      } else return answer;
      await sleep(200 + 200 * Math.min(tries, 4));
    }
    return null;
  }
}
