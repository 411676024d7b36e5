import { setTimeout as sleep } from "node:timers/promises";
import type { SeededGenerator } from "../setup/seeded-generator.ts";
import { send } from "../setup/send.ts";
import type { Tally } from "./tally.ts";
import type { World } from "./world.ts";

/** One collection that somebody wants. */
export interface Ask {
  index: number;
  name: string;
  /** Null: the client relies on the key that is derived from the request. */
  key: string | null;
  /** Every hash that an answer ever named. */
  hashes: Set<string>;
  /** Bodies of successful answers without their hash: they have to be the same. */
  bodies: Set<string>;
  /** What was asked to change once it stood. */
  updates: { royalties_share: number; public_mint_start_date: string } | null;
  updateHashes: Set<string>;
}

/** Clients that post each request three times at once, repeat what fails, hang up, and change what stands. */
export class Clients {
  readonly #world: World;
  readonly #random: SeededGenerator;
  readonly #tally: Tally;
  readonly #deadline: number;
  /** Requests that were refused for good, with the answer. */
  readonly refused: string[] = [];
  calm = false;
  /** The database may forget what it answered: whoever waits for something asks for it again. */
  forgetful = false;

  constructor(world: World, random: SeededGenerator, tally: Tally, deadline: number) {
    this.#world = world;
    this.#random = random;
    this.#tally = tally;
    this.#deadline = deadline;
  }

  /** @param released how many of the requests may have been begun by now. */
  async run(asks: readonly Ask[], released: () => number): Promise<void> {
    const queue = asks.values();
    const updates: Promise<void>[] = [];
    const client = async () => {
      for (const ask of queue) {
        while (ask.index >= released() && this.#inTime) await sleep(50);
        if (!this.#inTime) return;
        this.#tally.fault("equal requests at once");
        await Promise.all([0, 1, 2].map((copy) => this.#deploy(ask, copy)));
        if (!this.forgetful) await this.#abuseKey(ask);
        if (ask.updates) updates.push(this.#update(ask));
      }
    };
    await Promise.all(Array.from({ length: 14 }, client));
    await Promise.all(updates);
  }

  /** Each request once more, as clients do that were told of a failover: what was lost is made, the rest is known. */
  async repeat(asks: readonly Ask[]): Promise<void> {
    const queue = asks.values();
    const client = async () => {
      for (const ask of queue) {
        await this.#deploy(ask, 0);
        // Not before: a key whose request is lost is free again.
        await this.#abuseKey(ask);
        if (ask.updates) await this.#update(ask);
      }
    };
    await Promise.all(Array.from({ length: 14 }, client));
  }

  get #inTime(): boolean {
    return performance.now() < this.#deadline;
  }

  async #deploy(ask: Ask, copy: number): Promise<void> {
    const answer = await this.#insist("POST", bodyOf(ask), ask.key, ask, copy);
    if (!answer) return;
    const { transaction_hash: hash, transaction_external_url: _, ...rest } = answer;
    // The newest last.
    ask.hashes.delete(String(hash));
    ask.hashes.add(String(hash));
    ask.bodies.add(JSON.stringify(rest));
    this.#tally.count("answers with a hash");
  }

  /** The same key for another request: refused, and nothing is spent. */
  async #abuseKey(ask: Ask): Promise<void> {
    if (!ask.key || ask.index % 20 !== 1) return;
    const body = { ...bodyOf(ask), name: `${ask.name} taken over` };
    for (let tries = 0; this.#inTime; tries += 1) {
      const answer = await this.#send("POST", body, ask.key, tries, 20_000).catch(() => null);
      if (answer && ![408, 429].includes(answer.status) && answer.status < 500) {
        this.#tally.fault("same key, other body");
        if (answer.status !== 422) this.refused.push(`${ask.name}: its key was taken for another request`);
        return;
      }
      await sleep(300);
    }
  }

  /** Two changes of one collection at the same time, each posted more than once: both have to hold. */
  async #update(ask: Ask): Promise<void> {
    const address = this.forgetful
      ? await this.#standing(ask)
      : await this.address([...ask.hashes][0] ?? "", () => this.#inTime);
    if (!address || !ask.updates) return;
    const place = { chain: "goerli", contract_address: address };
    const { royalties_share, public_mint_start_date } = ask.updates;
    const changes = [{ royalties_share }, { public_mint_start_date }];
    const posts = changes.flatMap((change, at) =>
      [0, 1, 2].map((copy) =>
        this.#insist("PUT", { ...place, ...change }, `${ask.name.replaceAll(" ", "-")}-${at}`, ask, copy),
      ),
    );
    for (const answer of await Promise.all(posts)) if (answer) ask.updateHashes.add(String(answer["transaction_hash"]));
  }

  async #standing(ask: Ask): Promise<string | null> {
    while (this.#inTime) {
      await this.#deploy(ask, 0);
      const end = performance.now() + 15_000;
      const address = await this.address([...ask.hashes].at(-1) ?? "", () => this.#inTime && performance.now() < end);
      if (address) return address;
    }
    return null;
  }

  /** Where a deployment stands; null when `goOn` ends the asking. */
  async address(hash: string, goOn: () => boolean): Promise<string | null> {
    for (let tries = 0; goOn(); tries += 1) {
      const url = `${this.#world.apiUrls[tries % 2]}/v0/contracts/${hash}?chain=goerli`;
      const answer = await send(url, { key: this.#world.apiKey }).catch(() => null);
      if (answer?.body.contract_address) return answer.body.contract_address;
      await sleep(250);
    }
    return null;
  }

  async #insist(
    method: "POST" | "PUT",
    body: object,
    key: string | null,
    ask: Ask,
    copy: number,
  ): Promise<Record<string, unknown> | null> {
    for (let tries = 0; this.#inTime; tries += 1) {
      const impatient = !this.calm && this.#random.chance(0.05);
      if (impatient) this.#tally.fault("client hangs up");
      const timeoutMs = impatient ? this.#random.between(5, 300) : 20_000;
      const answer = await this.#send(method, body, key, copy + tries, timeoutMs).catch(() => null);
      if (!answer) this.#tally.count("connection failures");
      else if (answer.status === 200) return answer.body;
      else if (method === "PUT" && answer.status === 404) {
        // A reorganisation took the collection's block: it stands nowhere until it is mined again.
        this.#tally.count("updates of what was gone for a moment");
        // Or its row is lost: then nobody knows of it until it is asked for again.
        if (this.forgetful) await this.#deploy(ask, copy);
      } else if (answer.status === 408) this.#tally.count("bodies that came late");
      else if (answer.status < 500 && answer.status !== 429) {
        this.refused.push(`${ask.name}: ${answer.status} ${JSON.stringify(answer.body)}`);
        return null;
      } else this.#recordRefusal(answer.status, answer.body);
      await sleep(200 + 200 * Math.min(tries, 4));
    }
    return null;
  }

  #recordRefusal(status: number, body: Record<string, unknown>): void {
    const text = JSON.stringify(body["error"] ?? body);
    this.#tally.count(`status ${status} ${/not sent yet: ([^.;]{0,60})/.exec(text)?.[1] ?? text.slice(0, 80)}`);
    // Planned refusals are 503 and say when to come back; anything else is a fault that nobody thought of.
    if (status !== 503) this.refused.push(`status ${status}: ${text.slice(0, 200)}`);
  }

  async #send(method: string, body: object, key: string | null, turn: number, timeoutMs: number) {
    const signal = AbortSignal.timeout(timeoutMs);
    const headers: Record<string, string> = key ? { "Idempotency-Key": key } : {};
    const url = `${this.#world.apiUrls[turn % 2]}/v0/contracts/collections`;
    // Without a key too: it is derived from the request.
    return await send(url, { method, key: this.#world.apiKey, headers, body, signal, repeatable: true });
  }
}

function bodyOf({ name, index }: Ask) {
  const wallet = (index + 1).toString(16).padStart(8, "0");
  return {
    chain: "goerli",
    name,
    symbol: "CHA",
    max_supply: 100,
    tokens_per_mint: 5,
    mint_price: 0.01,
    owner_address: `0x${wallet}${"ab".repeat(16)}`,
    treasury_address: `0x${wallet}${"cd".repeat(16)}`,
    public_mint_start_date: "2022-01-01T00:00:00",
    prereveal_token_uri: "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii",
    metadata_updatable: true,
  };
}
