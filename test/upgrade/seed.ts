import { createHash, randomUUID } from "node:crypto";
import type pg from "pg";

const digest = (text: string) => createHash("sha256").update(text).digest();
const address = (text: string) => digest(text).subarray(0, 20);

/**
 * Fills schema `service` with rows of every kind that an installation has. Only columns that version 0.2.0 had are named,
 * so it fills the schema of any version since.
 */
export async function seed(client: pg.ClientBase): Promise<void> {
  const accounts = await seedAccounts(client);
  await seedUploads(client, accounts);
  await seedDeployments(client, accounts);
  await seedMetadata(client);
  await seedChains(client);
}

async function seedAccounts(client: pg.ClientBase): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, tier] of ["free", "growth", "scale", "enterprise", "free"].entries()) {
    const id = randomUUID();
    ids.push(id);
    await client.query("INSERT INTO service.account (id, name, email, tier, suspended) VALUES ($1, $2, $3, $4, $5)", [
      ...[id, `studio ${index}`, index === 0 ? null : `studio${index}@example.com`, tier, index === 4],
    ]);
    await client.query(
      `WITH k AS (INSERT INTO service.api_key (account_id, name, scopes, revoked_at)
         VALUES ($1, 'first', ARRAY['read', 'upload', 'deploy', 'admin'], $4) RETURNING id)
       INSERT INTO service.key_secret (digest, account_id, kind, key_id)
         SELECT d, $1, kind, k.id FROM k, (VALUES ($2::bytea, 'uuid'), ($3::bytea, 'secret')) AS v (d, kind)`,
      [id, digest(`uuid ${index}`), digest(`secret ${index}`), index === 4 ? new Date() : null],
    );
    await client.query("INSERT INTO service.usage_month (account_id, month, requests) VALUES ($1, '2026-01-01', $2)", [
      ...[id, index * 1_000],
    ]);
    await client.query(
      "INSERT INTO service.audit_log (actor, action, object, after) VALUES ('operator', 'open', $1, $2)",
      [...[`account:${id}`, { tier }]],
    );
  }
  return ids;
}

async function seedUploads(client: pg.ClientBase, accounts: readonly string[]): Promise<void> {
  const kinds = ["file", "metadata", "metadata_directory"];
  const pins = ["local", "queued", "pinned", "failed"];
  for (let index = 0; index < 24; index += 1) {
    const cid = `bafkreitest${index}`;
    const { rows } = await client.query(
      "INSERT INTO service.car (root, file, size) VALUES ($1, gen_random_uuid(), $2) RETURNING id",
      [cid, 100 + index],
    );
    const [{ id }] = rows;
    await client.query("INSERT INTO service.block (multihash, car_id, position, size) VALUES ($1, $2, 59, $3)", [
      ...[digest(cid), id, 40 + index],
    ]);
    await client.query(
      "INSERT INTO service.content_entry (car_id, path, cid, size, content_type) VALUES ($1, '', $2, $3, 'image/png')",
      [id, cid, 40 + index],
    );
    await client.query(
      `INSERT INTO service.upload (account_id, kind, cid, car_id, file_name, content_type, size, profile, pin_state, pin_error)
       VALUES ($1, $2, $3, $4, $5, 'image/png', $6, 'unixfs-v1-2025', $7, $8)`,
      [
        ...[accounts[index % accounts.length], kinds[index % 3], cid, id, `${index}.png`, 40 + index],
        ...[pins[index % 4], index % 4 === 3 ? "unauthorized" : null],
      ],
    );
  }
}

/** One deployment in every state, by the shortest way that the triggers allow, and updates. */
async function seedDeployments(client: pg.ClientBase, accounts: readonly string[]): Promise<void> {
  const wallet = address("wallet");
  const { rows: edges } = await client.query<{ from_state: string; to_state: string }>(
    "SELECT from_state, to_state FROM service.intent_edge ORDER BY 1, 2",
  );
  const paths = shortestPaths(edges);
  await client.query(
    "INSERT INTO service.relayer_wallet (chain_id, addr, genesis_hash, next_nonce) VALUES (137, $1, $2, $3)",
    [...[wallet, digest("genesis"), paths.size]],
  );
  await client.query(
    "INSERT INTO service.budget (scope, period, allowed, reserved) VALUES ('chain:137', '2026-01-01', 1e20, 1e18)",
  );
  const list = randomUUID();
  await client.query("INSERT INTO service.allowlist (id, root, entries) VALUES ($1, $2, $3)", [
    ...[list, digest("root"), Array.from({ length: 50 }, (_, at) => `0x${address(`guest ${at}`).toString("hex")}`)],
  ]);
  let nonce = 0;
  for (const [state, path] of paths) {
    const id = randomUUID();
    await insertIntent(client, id, accounts[1 + (nonce % 3)] ?? "", state, nonce === 0 ? list : null);
    await client.query(
      "INSERT INTO service.budget_entry (intent_id, scope, period, amount) VALUES ($1, 'chain:137', '2026-01-01', 1000)",
      [id],
    );
    if (path.some((step) => step === "assigned" || step === "signed")) {
      await client.query(
        "INSERT INTO service.nonce_reservation (chain_id, addr, nonce, intent_id, kind) VALUES (137, $1, $2, $3, 'deploy')",
        [...[wallet, nonce, id]],
      );
      await client.query(
        `INSERT INTO service.attempt (hash, chain_id, addr, nonce, kind, raw, max_fee, tip, gas, head_block)
         VALUES ($1, 137, $2, $3, 'deploy', '\\x02', 1e11, 3e10, 500000, 1000)`,
        [digest(`hash ${nonce}`), wallet, nonce],
      );
      await client.query(
        "INSERT INTO service.attempt_event (attempt_hash, provider, method, outcome_code) VALUES ($1, 'node', 'eth_sendRawTransaction', 'ok')",
        [digest(`hash ${nonce}`)],
      );
      if (path.some((step) => step.startsWith("mined")))
        await client.query(
          `UPDATE service.nonce_reservation SET state = 'mined', mined_block = $3, mined_block_hash = $4, mined_attempt = $5
           WHERE addr = $1 AND nonce = $2`,
          [wallet, nonce, 1_000 + nonce, digest(`block ${nonce}`), digest(`hash ${nonce}`)],
        );
    }
    for (const step of path)
      await client.query("UPDATE service.intent SET state = $2, version = version + 1 WHERE id = $1", [id, step]);
    nonce += 1;
  }
  await client.query("INSERT INTO service.wallet_role (chain_id, addr, has_role) VALUES (137, $1, true)", [wallet]);
  await client.query(
    "INSERT INTO service.external_transaction (chain_id, addr, nonce, hash, kind) VALUES (137, $1, 999, $2, 'update')",
    [wallet, digest("external")],
  );
  await client.query(
    `INSERT INTO service.self_deployment (id, tenant_id, chain_id, req_hash, payload, owner, init_code_hash, init_code_bytes, scanned_to)
     SELECT gen_random_uuid(), tenant_id, 137, req_hash, payload, owner, req_hash, 9000, 10 FROM service.intent LIMIT 1`,
  );
}

/** From `queued` to each state. */
function shortestPaths(edges: readonly { from_state: string; to_state: string }[]): Map<string, string[]> {
  const paths = new Map<string, string[]>([["queued", []]]);
  // What was found on the chain was not sent by us; it needs the transaction that was found.
  for (const [state, path] of paths)
    for (const { from_state, to_state } of edges)
      if (from_state === state && !paths.has(to_state) && !(unsigned.includes(state) && isOnChain(to_state)))
        paths.set(to_state, [...path, to_state]);
  return paths;
}

const unsigned = ["queued", "held", "assigned", "nonce_conflict"];
const isOnChain = (state: string) => /^(mined|confirmed|finalized|failed_onchain)/.test(state);

/** As every version so far accepts a request: the statement of a process that is not upgraded yet. */
export async function insertIntent(
  client: Pick<pg.ClientBase, "query">,
  id: string,
  account: string,
  name: string,
  allowlist: string | null = null,
): Promise<void> {
  const owner = address(`owner of ${id}`);
  const wallet = `0x${owner.toString("hex")}`;
  const payload = {
    ...{
      name,
      symbol: "S",
      ownerAddress: wallet,
      treasuryAddress: wallet,
      royaltiesAddress: wallet,
      royaltiesBps: "0",
    },
    ...{ maxSupply: "10", reservedSupply: "0", tokensPerMint: "1", publicMintPriceWei: "0", presaleMintPriceWei: "0" },
    ...{ publicMintStart: "1", presaleMintStart: "0", metadataUpdatable: true, baseUri: "", prerevealTokenUri: "" },
    ...{ presaleMerkleRoot: `0x${"00".repeat(32)}`, grantServiceAdmin: true },
  };
  await client.query(
    `INSERT INTO service.intent (id, root_id, tenant_id, idem_key, req_hash, chain_id, kind, payload, factory, template,
       owner, init_data, salt, predicted_addr, allowlist_id)
     VALUES ($1::uuid, $1::uuid, $2, $1::uuid::text, $3, 137, 'deploy', $4, $5, $5, $6, '\\x', $3, $7, $8)`,
    [id, account, digest(id), payload, address("factory"), owner, address(id), allowlist],
  );
}

async function seedMetadata(client: pg.ClientBase): Promise<void> {
  await client.query(
    `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, metadata, name, token_uri, fetched_block)
     SELECT 137, $1, n, (ARRAY['pending', 'fresh', 'failed'])[1 + n % 3],
       CASE n % 3 WHEN 1 THEN json_build_object('name', 'Token ' || n, 'attributes',
         json_build_array(json_build_object('trait_type', 'Level', 'value', n), json_build_object('trait_type', 'Hat', 'value', 'Red')))::text END,
       'Token ' || n, 'ipfs://bafy/' || n, 1000 + n FROM generate_series(1, 300) n`,
    [address("contract")],
  );
  await client.query(
    "INSERT INTO service.contract_metadata (chain_id, address, status, name, symbol) VALUES (137, $1, 'fresh', 'Cats', 'CAT')",
    [address("contract")],
  );
  await client.query(
    "INSERT INTO service.metadata_cursor (chain_id, mint_block, update_block) VALUES (137, 1300, 1300)",
  );
  await client.query(
    "INSERT INTO service.metadata_announcement (chain_id, contract, from_token_id, to_token_id, block, applied_block) VALUES (137, $1, 1, 300, 1200, -1)",
    [address("contract")],
  );
  await client.query("INSERT INTO service.metadata_read_block (chain_id, number, hash) VALUES (137, 1200, $1)", [
    digest("read block"),
  ]);
  await client.query("INSERT INTO service.raw_document (hash, size_bytes, head) VALUES ($1, 70000, '\\x7b')", [
    digest("document"),
  ]);
}

async function seedChains(client: pg.ClientBase): Promise<void> {
  await client.query(
    `INSERT INTO service.chain_block (chain_id, number, hash, parent_hash, block_timestamp)
     SELECT 137, n, '0x' || encode(sha256(n::text::bytea), 'hex'), '0x' || encode(sha256((n - 1)::text::bytea), 'hex'), 1767225600 + 2 * n
     FROM generate_series(1000, 1300) n`,
  );
  await client.query(
    `INSERT INTO service.chain_freshness (chain_id, chain_name, schema_name, indexed_block, indexed_timestamp, node_head)
     VALUES (137, 'polygon', 'index_137_a', 1300, 1767228200, 1301)`,
  );
  await client.query(
    "INSERT INTO service.chain_reorg (chain_id, fork_block, depth, old_head, new_head) VALUES (137, 1100, 2, '0xa', '0xb')",
  );
  await client.query("INSERT INTO service.listed_contract (chain_id, address) VALUES (137, $1)", [address("contract")]);
  await client.query(
    "INSERT INTO service.final_range (chain_id, schema_name, from_block, to_block, row_count, digest) VALUES (137, 'index_137_a', 1000, 1200, 900, 12345)",
  );
}
