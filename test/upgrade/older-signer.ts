import type pg from "pg";
import { type Hex, hexToBytes, keccak256, parseGwei } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { toBytes } from "../../src/db/bytes.ts";
import { encodeFrozen } from "../../src/transactions/chain/request-call.ts";
import type { Intent } from "../../src/transactions/store/intents.ts";
import { directClient, type RelayHarness } from "../transactions/harness.ts";

const fees = { maxFeePerGas: parseGwei("20"), maxPriorityFeePerGas: parseGwei("1"), gas: 3_000_000n };

/**
 * Signs as the processes of version 0.2.0 did: the nonce is one commit, under the wallet's row lock, and bytes and state are
 * another one after it. In between the request is `assigned`.
 */
export class OlderSigner {
  readonly #h: RelayHarness;
  /** Ids of what it signed, and of what it left with its nonce alone. */
  readonly signed: string[] = [];
  readonly left: string[] = [];

  constructor(h: RelayHarness) {
    this.#h = h;
  }

  /**
   * Takes one request that waits, and sends it.
   *
   * @param dies it ends between its two commits.
   * @returns whether it gave a nonce.
   */
  async take(dies = false): Promise<boolean> {
    const assigned = await this.#giveNonce();
    if (!assigned) return false;
    const { intent, nonce } = assigned;
    if (dies) {
      this.left.push(intent.id);
      return true;
    }
    const { to, data } = encodeFrozen(intent);
    const raw = await privateKeyToAccount(this.#h.relayerKey).signTransaction({
      ...{ type: "eip1559", chainId: intent.chain_id, nonce: Number(nonce), to, data, value: 0n },
      ...fees,
    });
    if (!(await this.#store(intent, nonce, raw))) return true;
    this.signed.push(intent.id);
    await directClient(this.#h.node)
      .sendRawTransaction({ serializedTransaction: raw })
      // The worker sends what is on disk.
      .catch(() => undefined);
    return true;
  }

  async #giveNonce(): Promise<{ intent: Intent; nonce: bigint } | null> {
    const { pool } = this.#h.database;
    const { rows } = await pool.query<Intent>(
      "SELECT * FROM service.intent WHERE state = 'queued' ORDER BY random() LIMIT 1",
    );
    const [intent] = rows;
    if (!intent) return null;
    return await this.#transaction(async (client) => {
      const wallet = [intent.chain_id, toBytes(this.#h.relayer)];
      const locked = await client.query<{ next_nonce: bigint }>(
        "SELECT next_nonce FROM service.relayer_wallet WHERE (chain_id, addr) = ($1, $2) FOR UPDATE",
        wallet,
      );
      const nonce = locked.rows[0]?.next_nonce ?? 0n;
      const moved = await client.query(
        "UPDATE service.intent SET state = 'assigned', version = version + 1 WHERE id = $1 AND state = 'queued' AND version = $2",
        [intent.id, intent.version],
      );
      if (moved.rowCount === 0) return null;
      await client.query(
        "INSERT INTO service.nonce_reservation (chain_id, addr, nonce, intent_id, kind) VALUES ($1, $2, $3, $4, 'deploy')",
        [...wallet, nonce, intent.id],
      );
      await client.query("UPDATE service.relayer_wallet SET next_nonce = $3 WHERE (chain_id, addr) = ($1, $2)", [
        ...wallet,
        nonce + 1n,
      ]);
      return { intent: { ...intent, state: "assigned", version: intent.version + 1 }, nonce };
    });
  }

  /** @returns false when another process moved the request first: its bytes count, and these are dropped. */
  async #store({ id, version, chain_id }: Intent, nonce: bigint, raw: Hex): Promise<boolean> {
    const { rowCount } = await this.#h.database.pool.query(
      `WITH moved AS (
         UPDATE service.intent SET state = 'signed', version = version + 1
         WHERE id = $1 AND state = 'assigned' AND version = $2 RETURNING id)
       INSERT INTO service.attempt (hash, chain_id, addr, nonce, kind, raw, max_fee, tip, gas, head_block)
       SELECT $3, $4, $5, $6, 'deploy', $7, $8, $9, $10, 0 FROM moved`,
      [
        ...[id, version, hexToBytes(keccak256(raw)), chain_id, toBytes(this.#h.relayer), nonce, hexToBytes(raw)],
        ...[String(fees.maxFeePerGas), String(fees.maxPriorityFeePerGas), fees.gas],
      ],
    );
    return rowCount === 1;
  }

  async #transaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#h.database.pool.connect();
    try {
      await client.query("BEGIN");
      const result = await work(client);
      await client.query("COMMIT");
      return result;
    } catch (error) {
      await client.query("ROLLBACK");
      throw error;
    } finally {
      client.release();
    }
  }
}
