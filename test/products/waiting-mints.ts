import type { Address } from "viem";
import { carryOut } from "../../src/products/carry-out.ts";
import { createContract } from "../../src/products/create-contract.ts";
import { type ProductRequest, productRequests } from "../../src/products/find-product.ts";
import { mintTokens } from "../../src/products/mint-tokens.ts";
import { getRequest } from "../../src/requests/requests.ts";
import type { Services } from "../../src/services.ts";
import type { ProductType } from "../../src/transactions/store/payloads.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { submitRound } from "../../src/transactions/track/submit-loop.ts";
import { wait } from "../setup/wait.ts";
import { goerli } from "../transactions/harness.ts";
import { relayRound } from "../transactions/round.ts";
import { type ProductScenario, productReads, randomAddress, uri } from "./scenario.ts";

export interface Wanted {
  to: Address;
  tokenId: bigint;
}

/** Mints that were accepted while no nonce could be given, so that a worker's round finds all of them at once. */
export class WaitingMints {
  readonly s: ProductScenario;
  /** Blocks are final ten blocks later. */
  services: Services;
  #lastId: bigint;

  /** @param firstId of tokens, and of the keys of their mints: those of one account are apart. */
  constructor(s: ProductScenario, firstId = 1_000n) {
    this.s = s;
    this.#lastId = firstId;
    this.services = this.process();
  }

  /** Another process, which remembers nothing. */
  process(): Services {
    this.services = this.s.h.process({ FINALITY_GOERLI: "10" });
    return this.services;
  }

  async query(text: string, values: unknown[] = []) {
    return (await this.s.h.database.pool.query(text, values)).rows;
  }

  wanted(count: number, to: (index: number) => Address = randomAddress): Wanted[] {
    return Array.from({ length: count }, (_, index) => {
      this.#lastId += 1n;
      return { to: to(index), tokenId: this.#lastId };
    });
  }

  /** A contract whose owner may mint too. */
  async contract(type: ProductType = "erc721"): Promise<Address> {
    const owner = await this.s.unlocked();
    const operation = await createContract(this.s.services, this.s.caller, {
      ...{ chain: "goerli", name: `Shared ${this.#lastId}`, symbol: "SHR", type, ownerAddress: owner },
      ...{ metadataUpdatable: true, roles: [{ role: "mint", addresses: [owner], freeze: false }] },
    });
    const done = await carryOut(this.s.services, this.s.caller, operation);
    await this.s.ended(done);
    return done.request.contract;
  }

  async ask(contract: Address, token: Wanted, more: { together: boolean; key?: string }) {
    const input = { chain: "goerli", contract, tokens: [{ ...token, uri }], together: more.together };
    return await carryOut(
      this.services,
      this.s.caller,
      await mintTokens(this.services, this.s.caller, { ...input, idempotencyKey: more.key ?? `id-${token.tokenId}` }),
    );
  }

  /** Mints that were accepted while the wallet was closed, and may go now. @returns their ids, in the order of the tokens. */
  async waiting(contract: Address, tokens: readonly Wanted[], together = true): Promise<string[]> {
    // A worker opens a wallet in any other state by itself, as soon as it looks.
    await this.query("UPDATE service.relayer_wallet SET state = 'halted'");
    // Asked one after the other: the relay takes up what waits in the order in which it was accepted.
    for (const token of tokens)
      await this.ask(contract, token, { together }).then(
        () => Promise.reject(new Error("a closed wallet gave a nonce")),
        (error: { code?: unknown }) => (error.code === "service_unavailable" ? null : Promise.reject(error)),
      );
    const rows = await this.query("SELECT id, idem_key FROM service.intent WHERE idem_key = ANY ($1)", [
      tokens.map(({ tokenId }) => `client:id-${tokenId}`),
    ]);
    const ids = tokens.map(
      ({ tokenId }) => rows.find(({ idem_key }) => idem_key === `client:id-${tokenId}`).id as string,
    );
    const client = await this.s.h.database.pool.connect();
    try {
      await client.query("SET session_replication_role = replica");
      await client.query(
        "UPDATE service.intent SET state = 'queued', updated_at = updated_at - interval '1 minute' WHERE id = ANY ($1)",
        [ids],
      );
      await client.query("RESET session_replication_role");
    } finally {
      client.release();
    }
    await this.query("UPDATE service.relayer_wallet SET state = 'open'");
    return ids;
  }

  /** Gives nonces to what waits. */
  async submit(): Promise<void> {
    await submitRound(this.services, goerli(this.services), createRelayMemory());
  }

  /** Gives nonces to what waits, and does something before the next block, which has all of it. */
  async inOneBlock(before: () => Promise<void>): Promise<void> {
    const { chain } = this.s.h;
    await chain.setAutomine(false);
    try {
      await this.submit();
      await before();
      await chain.mine({ blocks: 1 });
    } finally {
      await chain.setAutomine(true);
    }
  }

  /** One look of a worker at everything. */
  async round(memory = createRelayMemory()): Promise<void> {
    await relayRound(this.services, goerli(this.services), memory);
  }

  async read(id: string): Promise<ProductRequest> {
    return await getRequest(this.services, this.s.caller, productRequests, { id });
  }

  async states(ids: readonly string[]): Promise<string[]> {
    return await Promise.all(ids.map(async (id) => (await this.read(id)).state));
  }

  /** The transaction of each. */
  async hashes(ids: readonly string[]): Promise<string[]> {
    return await Promise.all(ids.map(async (id) => (await this.read(id)).transactionHash ?? "none"));
  }

  async ownerOf(address: Address, tokenId: bigint): Promise<string> {
    const call = { address, abi: productReads, functionName: "ownerOf", args: [tokenId] } as const;
    return (await this.s.h.chain.readContract(call)).toLowerCase();
  }

  /** Rounds, and blocks between them, until each of the newest tries is in one of the states. */
  async settled(ids: readonly string[], ends: readonly string[]): Promise<void> {
    const memory = createRelayMemory();
    const all = (now: readonly string[]) => now.every((state) => ends.includes(state));
    const look = async () => {
      await this.round(memory);
      const now = await this.states(ids);
      if (!all(now)) await this.s.h.chain.mine({ blocks: 1 });
      return now;
    };
    await wait(`states of ${ends.join(", ")}`, look, { until: all });
  }

  async budgets() {
    const [row] = await this.query(
      "SELECT sum(reserved)::text AS reserved, sum(spent)::text AS spent FROM service.budget",
    );
    return row as { reserved: string; spent: string };
  }
}
