import { randomBytes, randomUUID } from "node:crypto";
import type { ApiServer } from "../setup/api-server.ts";
import { send } from "../setup/send.ts";

/** An account with one of everything, each with a text that nobody else may ever see. */
export interface Tenant {
  key: string;
  name: string;
  collectionName: string;
  keyName: string;
  ids: {
    account: string;
    upload: string;
    intent: string;
    key: string;
    charge: string;
    collection: string;
    hash: string;
    cid: string;
  };
  secrets: string[];
  /** Rows per table after it was made. */
  furnished: Record<string, number>;
  rows(): Promise<{ table: string; count: number }[]>;
}

export async function furnish(api: ApiServer, who: string): Promise<Tenant> {
  const secret = (what: string) => `${who}-${what}-${randomBytes(6).toString("hex")}`;
  const { pool } = api.database;
  const name = secret("account");
  const account = await api.account("growth", name);
  const keyName = secret("key");
  const made = await api.send("POST", "/v0/me/keys", account.key, { name: keyName, scopes: ["read"] });
  const fileName = secret("file");
  const form = new FormData();
  form.append("file", new Blob([secret("content")]), `${fileName}.txt`);
  await send(`${api.url}/v0/files`, { key: account.key, body: form });
  const { rows: uploads } = await pool.query("SELECT id, cid FROM service.upload WHERE account_id = $1", [account.id]);
  const collectionName = secret("collection");
  const intent = randomUUID();
  const [collection, treasury, hash] = [randomBytes(20), randomBytes(20), randomBytes(32)];
  await deploy(api, { accountId: account.id, intent, collection, hash, collectionName, treasury });
  const { rows: charges } = await pool.query("SELECT id FROM service.charge WHERE account_id = $1", [account.id]);
  const tables = { api_key: "account_id", upload: "account_id", intent: "tenant_id", charge: "account_id" };
  const rows = async () =>
    await Promise.all(
      Object.entries(tables).map(async ([table, column]) => {
        const found = await pool.query(`SELECT count(*)::int AS count FROM service.${table} WHERE ${column} = $1`, [
          account.id,
        ]);
        return { table, count: found.rows[0].count as number };
      }),
    );
  return {
    key: account.key,
    name,
    collectionName,
    keyName,
    ids: {
      account: account.id,
      upload: uploads[0].id,
      intent,
      key: made.body.key.id,
      charge: charges[0].id,
      collection: `0x${collection.toString("hex")}`,
      hash: `0x${hash.toString("hex")}`,
      cid: uploads[0].cid,
    },
    secrets: [name, keyName, fileName, collectionName, treasury.toString("hex"), account.key],
    furnished: Object.fromEntries((await rows()).map(({ table, count }) => [table, count])),
    rows,
  };
}

interface Deployed {
  accountId: string;
  intent: string;
  collection: Buffer;
  hash: Buffer;
  collectionName: string;
  treasury: Buffer;
}

/** A confirmed deployment, as the relay leaves it behind, and one that booked a fee. */
async function deploy(api: ApiServer, { accountId, intent, collection, hash, collectionName, treasury }: Deployed) {
  const { pool } = api.database;
  const wallet = `0x${treasury.toString("hex")}`;
  const payload = {
    name: collectionName,
    symbol: "S",
    ownerAddress: wallet,
    treasuryAddress: wallet,
    royaltiesAddress: wallet,
    royaltiesBps: "0",
    maxSupply: "10",
    reservedSupply: "0",
    tokensPerMint: "1",
    publicMintPriceWei: "0",
    presaleMintPriceWei: "0",
    publicMintStart: "1",
    presaleMintStart: "0",
    metadataUpdatable: true,
    baseUri: "",
    prerevealTokenUri: "",
    presaleMerkleRoot: `0x${"00".repeat(32)}`,
    grantServiceAdmin: true,
  };
  const insert = `INSERT INTO service.intent (id, root_id, tenant_id, idem_key, req_hash, chain_id, kind, payload, factory,
    template, owner, init_data, salt, predicted_addr) VALUES ($1::uuid, $1::uuid, $2, $1::uuid::text, $3, $4, 'deploy', $5, $6, $6, $6, '\\x', $3, $7)`;
  await pool.query(insert, [intent, accountId, randomBytes(32), 31337, payload, treasury, collection]);
  await pool.query(insert, [randomUUID(), accountId, randomBytes(32), 31339, payload, treasury, randomBytes(20)]);
  const sender = randomBytes(20);
  await pool.query(
    "INSERT INTO service.relayer_wallet (chain_id, addr, genesis_hash, next_nonce) VALUES (31337, $1, $2, 1)",
    [sender, randomBytes(32)],
  );
  await pool.query(
    "INSERT INTO service.nonce_reservation (chain_id, addr, nonce, intent_id, kind) VALUES (31337, $1, 0, $2, 'deploy')",
    [sender, intent],
  );
  await pool.query(
    "INSERT INTO service.attempt (hash, chain_id, addr, nonce, kind, raw, max_fee, tip, gas) VALUES ($1, 31337, $2, 0, 'deploy', '\\x', 1, 1, 1)",
    [hash, sender],
  );
  await pool.query(
    "UPDATE service.nonce_reservation SET state = 'mined', mined_block = 1, mined_block_hash = $2, mined_attempt = $3 WHERE addr = $1",
    [sender, randomBytes(32), hash],
  );
  for (const state of ["assigned", "signed", "in_flight", "mined", "confirmed"])
    await pool.query("UPDATE service.intent SET state = $2, version = version + 1 WHERE id = $1", [intent, state]);
}
