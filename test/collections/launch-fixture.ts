import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { createIndexedDatabase } from "../setup/database.ts";
import { RelayHarness } from "../transactions/harness.ts";
import { HttpApi } from "./http-api.ts";

export const wallet = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";

/** A valid request as old clients send it, different each time. */
export const request = (changes: Record<string, unknown> = {}) => ({
  chain: "goerli",
  name: `Keys ${randomUUID()}`,
  symbol: "TSK",
  max_supply: 100,
  mint_price: 0.01,
  tokens_per_mint: 10,
  owner_address: wallet,
  treasury_address: wallet,
  public_mint_start: "2022-07-12T11:30:48+00:00",
  ...changes,
});

/** The same for GraphQL. */
export const input = (changes: Record<string, unknown> = {}) => ({
  chain: "goerli",
  name: `Keys ${randomUUID()}`,
  symbol: "TSK",
  maxSupply: "100",
  tokensPerMint: "10",
  mintPriceWei: "10000000000000000",
  owner: wallet,
  treasury: wallet,
  publicMintStart: "2022-07-12T11:30:48Z",
  ...changes,
});

/** A chain with a factory, and one process that serves both APIs. */
export class LaunchFixture {
  readonly h: RelayHarness;
  readonly api: HttpApi;

  private constructor(h: RelayHarness, api: HttpApi) {
    this.h = h;
    this.api = api;
  }

  /** @param settings variables of the process, beside the chain's. */
  static async start(settings: Record<string, string> = {}): Promise<LaunchFixture> {
    // What a mint page shows is looked up in the index too, which is empty here.
    const h = await RelayHarness.start(async () => (await createIndexedDatabase([31337])).database);
    return new LaunchFixture(h, await HttpApi.start(h.process(settings)));
  }

  /** Of a harness that has a database of its own. */
  static of(h: RelayHarness, api: HttpApi): LaunchFixture {
    return new LaunchFixture(h, api);
  }

  async stop(): Promise<void> {
    await this.api.stop();
    await this.h.stop();
  }

  /** A collection that stands for good. @returns the answer's body. */
  async deployed(changes: Record<string, unknown> = {}, key = this.api.key) {
    const { api, h } = this;
    const { status, body } = await api.post("/v0/contracts/collections", request(changes), { Authorization: key });
    expect(status).toBe(200);
    const { rows } = await api.services.pool.query(
      `SELECT i.id FROM service.intent i JOIN service.nonce_reservation s ON s.intent_id = i.id
         JOIN service.attempt a ON (a.chain_id, a.addr, a.nonce) = (s.chain_id, s.addr, s.nonce) WHERE a.hash = decode($1, 'hex')`,
      [String(body["transaction_hash"]).slice(2)],
    );
    await h.until(api.services, rows[0].id, ["finalized"]);
    return body;
  }

  /** Everything that a request could leave behind. */
  async footprint() {
    const { api, h } = this;
    const { rows } = await api.services.pool.query(
      `SELECT (SELECT count(*) FROM service.intent) AS intents, (SELECT count(*) FROM service.allowlist) AS lists,
         (SELECT count(*) FROM service.attempt) AS attempts, (SELECT count(*) FROM service.self_deployment) AS own`,
    );
    return { ...rows[0], nonce: await h.chain.getTransactionCount({ address: h.relayer, blockTag: "pending" }) };
  }
}
