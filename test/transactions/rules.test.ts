import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";

let database: TestDatabase;
let tenant: string;
beforeAll(async () => {
  database = await createTestDatabase();
  const { rows } = await database.pool.query(
    "INSERT INTO service.account (name, tier) VALUES ('t', 'free') RETURNING id",
  );
  tenant = rows[0].id;
});
afterAll(() => database.drop());

async function intent(state = "queued"): Promise<string> {
  const id = randomUUID();
  await database.pool.query(
    `INSERT INTO service.intent (id, root_id, tenant_id, idem_key, req_hash, chain_id, kind, payload, factory, template,
       owner, init_data, salt, predicted_addr, state)
     VALUES ($1::uuid, $1::uuid, $2, ($1::uuid)::text, $3, 31337, 'deploy', '{}', $4, $4, $4, '', $3, $4, $5)`,
    [id, tenant, Buffer.alloc(32), Buffer.alloc(20), state],
  );
  return id;
}

const move = (id: string, state: string) =>
  database.pool.query("UPDATE service.intent SET state = $2, version = version + 1 WHERE id = $1", [id, state]);

describe("whatever a process believes, the database", () => {
  test("lets an intent go along its edges only", async () => {
    const id = await intent();
    await expect(move(id, "in_flight")).rejects.toThrow("cannot go from queued to in_flight");
    await expect(move(id, "confirmed")).rejects.toThrow("cannot go from queued to confirmed");
    for (const state of ["held", "queued", "signed", "in_flight", "mined", "confirmed", "in_flight"])
      await move(id, state);
    await expect(move(id, "queued")).rejects.toThrow("cannot go from in_flight to queued");
    await expect(move(id, "nonsense")).rejects.toThrow("cannot go from in_flight to nonsense");
    await expect(intent("confirmed")).rejects.toThrow("begins as queued");
  });

  test("refuses a change that skips the version, or touches what was accepted, or deletes", async () => {
    const id = await intent();
    const change = (sql: string) => database.pool.query(`UPDATE service.intent SET ${sql} WHERE id = $1`, [id]);
    await expect(change("state = 'held'")).rejects.toThrow("one version at a time");
    await expect(change("version = version + 1, salt = decode(repeat('11', 32), 'hex')")).rejects.toThrow(
      "does not change",
    );
    await expect(database.pool.query("DELETE FROM service.intent WHERE id = $1", [id])).rejects.toThrow(
      "never deleted",
    );
  });

  test("lets the id of an easy mint follow the transaction that minted it, and nothing else of a mint", async () => {
    const mint = async (payload: object) => {
      const id = randomUUID();
      await database.pool.query(
        `INSERT INTO service.intent (id, root_id, tenant_id, idem_key, req_hash, chain_id, kind, payload, factory, template,
           owner, init_data, salt, predicted_addr)
         VALUES ($1::uuid, $1::uuid, $2, ($1::uuid)::text, $3, 31337, 'mint', $5, $4, $4, $4, '', $3, $4)`,
        [id, tenant, Buffer.alloc(32), Buffer.alloc(20), JSON.stringify(payload)],
      );
      return async (changed: object) =>
        await database.pool.query("UPDATE service.intent SET payload = $2, version = version + 1 WHERE id = $1", [
          id,
          JSON.stringify(changed),
        ]);
    };
    const easy = { easy: { name: "n" }, tokens: [{ tokenId: "7", to: "0x1" }] };
    const change = await mint(easy);
    await change({ ...easy, tokens: [{ tokenId: "6", to: "0x1" }] });
    const { rows } = await database.pool.query("SELECT token_id::text FROM service.token_claim");
    expect(rows).toEqual([{ token_id: "6" }]);
    for (const other of [
      { ...easy, tokens: [{ tokenId: "6", to: "0x2" }] },
      { ...easy, easy: { name: "m" } },
    ])
      await expect(change(other)).rejects.toThrow("does not change");
    const usual = await mint({ tokens: [{ tokenId: "8", to: "0x1" }] });
    await expect(usual({ tokens: [{ tokenId: "9", to: "0x1" }] })).rejects.toThrow("does not change");
  });

  test("keeps a nonce with its intent, an intent with its nonce, and every attempt", async () => {
    const [a, b] = [await intent(), await intent()];
    const addr = Buffer.alloc(20, 7);
    await database.pool.query(
      "INSERT INTO service.relayer_wallet (chain_id, addr, genesis_hash, next_nonce) VALUES (31337, $1, $2, 5)",
      [addr, Buffer.alloc(32)],
    );
    const reservation = (nonce: number, id: string) =>
      database.pool.query(
        "INSERT INTO service.nonce_reservation (chain_id, addr, nonce, intent_id, kind) VALUES (31337, $1, $2, $3, 'deploy')",
        [addr, nonce, id],
      );
    await reservation(5, a);
    await expect(reservation(5, b)).rejects.toThrow("nonce_reservation_pkey");
    await expect(reservation(6, a)).rejects.toThrow("nonce_reservation_intent_id_key");
    await expect(database.pool.query("UPDATE service.nonce_reservation SET intent_id = $1", [b])).rejects.toThrow(
      "for ever",
    );
    await expect(database.pool.query("DELETE FROM service.nonce_reservation")).rejects.toThrow("never deleted");
    await database.pool.query(
      `INSERT INTO service.attempt (hash, chain_id, addr, nonce, kind, raw, max_fee, tip, gas)
       VALUES ($1, 31337, $2, 5, 'deploy', '', 1, 1, 1)`,
      [Buffer.alloc(32, 1), addr],
    );
    await expect(database.pool.query("UPDATE service.attempt SET gas = 2")).rejects.toThrow("only ever added");
    await expect(database.pool.query("DELETE FROM service.attempt")).rejects.toThrow("only ever added");
    await expect(database.pool.query("UPDATE service.relayer_wallet SET next_nonce = 4")).rejects.toThrow(
      "never gives out",
    );
  });
});
