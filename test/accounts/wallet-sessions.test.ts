import { request } from "node:http";
import { type Address, type Hex, hashMessage } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { createSiweMessage, type SiweMessage } from "viem/siwe";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signInStatement } from "../../src/accounts/sign-in.ts";
import { ApiServer } from "../setup/api-server.ts";
import { send } from "../setup/send.ts";
import { patient } from "../setup/wait.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start({ SIGN_UPS_PER_HOUR: "1000", SIGN_UPS_PER_DAY: "100000", RATE_LIMITS: "off" });
});
afterAll(() => api?.close());

interface Answer {
  status: number;
  body: ReturnType<typeof JSON.parse>;
  /** By name, of `Set-Cookie`. */
  cookies: Record<string, string>;
  setCookie: string[];
}

async function ask(
  method: string,
  path: string,
  { body, headers = {}, server = api }: { body?: unknown; headers?: Record<string, string>; server?: ApiServer } = {},
): Promise<Answer> {
  const answer = await send(server.url + path, { method, body, headers });
  const setCookie = answer.headers.getSetCookie();
  const cookies = Object.fromEntries(
    setCookie.map((line) => (line.split(";")[0] ?? "").split("=") as [string, string]),
  );
  return { status: answer.status, body: answer.body, cookies, setCookie };
}

interface Signer {
  address: Address;
  signMessage(ask: { message: string }): Promise<Hex>;
}
const newWallet = () => privateKeyToAccount(generatePrivateKey());

interface Attempt {
  wallet?: Signer;
  /** Changes of the message. */
  parts?: Partial<SiweMessage>;
  signature?: (message: string) => Promise<Hex>;
  cookie?: string;
  headers?: Record<string, string>;
  nonce?: string;
  server?: ApiServer;
}

/** Asks for a nonce, signs, and signs in; each part of it can be another. */
async function signIn({ wallet = newWallet(), parts, signature, cookie, headers, nonce, server = api }: Attempt = {}) {
  const challenge = await ask("POST", "/auth/nonce", { body: {}, server });
  const message = createSiweMessage({
    address: wallet.address,
    chainId: 31337,
    domain: "127.0.0.1:3000",
    uri: "http://127.0.0.1:3000/console",
    version: "1",
    statement: challenge.body.statement,
    nonce: nonce ?? challenge.body.nonce,
    issuedAt: new Date(),
    ...parts,
  });
  const signed = await (signature?.(message) ?? wallet.signMessage({ message }));
  const browser = cookie ?? `mintyard_browser=${challenge.cookies["mintyard_browser"]}`;
  const answer = await ask("POST", "/auth/sign-in", {
    body: { message, signature: signed },
    headers: { Cookie: browser, ...headers },
    server,
  });
  return { ...answer, message, signed, browser, wallet, nonce: challenge.body.nonce as string };
}

const sessionOf = (answer: Answer) => ({ Cookie: `mintyard_session=${answer.cookies["mintyard_session"]}` });
const viewer = { query: "{ viewer { id } }" };

describe("signing in with a wallet", () => {
  test("opens a free account the first time, and the same one afterwards", async () => {
    const wallet = newWallet();
    const first = await signIn({ wallet });
    expect(first).toMatchObject({ status: 200, body: { new_account: true, wallet: wallet.address.toLowerCase() } });
    const second = await signIn({ wallet });
    expect(second.body).toMatchObject({ new_account: false, account_id: first.body.account_id });
    const profile = await ask("GET", "/v0/me/settings", { headers: sessionOf(second) });
    expect(profile).toMatchObject({ status: 200, body: { profile: { name: expect.stringMatching(/^0x.{4}…/) } } });
    // The console's pages ask all three APIs.
    expect(await ask("GET", "/v1/webhooks", { headers: sessionOf(second) })).toMatchObject({ status: 200 });
    // What a page that was loaded anew finds out.
    const { body } = await ask("GET", "/auth/session", { headers: sessionOf(second) });
    expect(body.session).toMatchObject({ account_id: first.body.account_id, csrf_token: second.body.csrf_token });
    expect((await ask("GET", "/auth/session")).body.session).toBeNull();
  });

  test("two first sign-ins of one wallet at once are one account", async () => {
    const wallet = newWallet();
    const answers = await Promise.all([signIn({ wallet }), signIn({ wallet }), signIn({ wallet })]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.account_id)).size).toBe(1);
  });

  test("a key joins a wallet to its own account, and takes nobody else's wallet", async () => {
    const owner = await api.account("growth");
    const joined = await signIn({ headers: { Authorization: owner.key } });
    expect(joined).toMatchObject({ status: 200, body: { account_id: owner.id } });
    expect((await signIn({ wallet: joined.wallet })).body.account_id).toBe(owner.id);
    const other = await api.account();
    const stolen = await signIn({ wallet: joined.wallet, headers: { Authorization: other.key } });
    expect(stolen).toMatchObject({ status: 422, body: { error: { code: "value_error" } } });
  });

  test("is refused to new wallets where sign-up is closed", async () => {
    const closed = await ApiServer.start({ SIGN_UP: "off" });
    try {
      expect(await signIn({ server: closed })).toMatchObject({
        status: 403,
        body: { error: { code: "sign_up_closed" } },
      });
    } finally {
      await closed.close();
    }
  });
});

describe("a message is refused", () => {
  const refused: Record<string, [Attempt, number, string]> = {
    "for another domain": [{ parts: { domain: "mintyard.example" } }, 422, "it is for mintyard.example"],
    "for another port of this host": [{ parts: { domain: "127.0.0.1:3001" } }, 422, "it is for 127.0.0.1:3001"],
    "with a URI of another site": [{ parts: { uri: "http://127.0.0.1:666/" } }, 422, "its URI is of another site"],
    "with another scheme": [{ parts: { scheme: "https" } }, 422, "its scheme"],
    "with another statement": [{ parts: { statement: "Give me everything" } }, 422, "its statement"],
    "for a chain that is not served": [{ parts: { chainId: 1 } }, 422, "does not serve chain 1"],
    "once it has expired": [{ parts: { expirationTime: new Date(Date.now() - 1) } }, 422, "it has expired"],
    "before it is valid": [{ parts: { notBefore: new Date(Date.now() + 3_600_000) } }, 422, "not valid yet"],
    "issued ten minutes ago": [{ parts: { issuedAt: new Date(Date.now() - 600_000) } }, 422, "last five minutes"],
    "that lists resources": [{ parts: { resources: ["urn:recap:eyJhdHQiOnt9fQ"] } }, 422, "it lists resources"],
    "issued tomorrow": [{ parts: { issuedAt: new Date(Date.now() + 86_400_000) } }, 422, "last five minutes"],
    "with a nonce of nobody": [{ nonce: "0123456789abcdef" }, 403, "this nonce was used"],
    "signed by another wallet": [
      { signature: async (message) => await newWallet().signMessage({ message }) },
      403,
      "the signature is not this wallet's",
    ],
    "from another browser": [{ cookie: "mintyard_browser=x" }, 403, "another browser's"],
    "without the browser's cookie": [{ cookie: "other=1" }, 422, "ask for a nonce first"],
    "sent by a page of another site": [{ headers: { "Sec-Fetch-Site": "cross-site" } }, 403, "another site"],
    "sent by a page of another origin": [{ headers: { Origin: "http://127.0.0.1:666" } }, 403, "another site"],
  };
  for (const [how, [attempt, status, text]] of Object.entries(refused))
    test(how, async () => {
      const answer = await signIn(attempt);
      expect([answer.status, answer.body.error?.message]).toEqual([status, expect.stringContaining(text)]);
      expect(answer.cookies["mintyard_session"]).toBeUndefined();
    });

  test("the second time: its nonce is used up, also by a wrong signature", async () => {
    const { message, signed, browser } = await signIn();
    const again = await ask("POST", "/auth/sign-in", {
      body: { message, signature: signed },
      headers: { Cookie: browser },
    });
    expect(again).toMatchObject({ status: 403, body: { error: { code: "invalid_credentials" } } });
    const wallet = newWallet();
    const wrong = await signIn({ wallet, signature: async () => `0x${"11".repeat(65)}` as Hex });
    expect(wrong.status).toBe(403);
    const right = await wallet.signMessage({ message: wrong.message });
    const late = await ask("POST", "/auth/sign-in", {
      body: { message: wrong.message, signature: right },
      headers: { Cookie: wrong.browser },
    });
    expect(late).toMatchObject({ status: 403, body: { error: { code: "invalid_credentials" } } });
  });

  test("after five minutes", async () => {
    const { body, cookies } = await ask("POST", "/auth/nonce", { body: {} });
    await api.database.pool.query("UPDATE service.sign_in_nonce SET expires_at = clock_timestamp()");
    const cookie = `mintyard_browser=${cookies["mintyard_browser"]}`;
    expect(await signIn({ nonce: body.nonce, cookie })).toMatchObject({ status: 403 });
    // What has expired does not stay.
    await ask("POST", "/auth/nonce", { body: {} });
    const { rows } = await api.database.pool.query(
      "SELECT 1 FROM service.sign_in_nonce WHERE expires_at < clock_timestamp()",
    );
    expect(rows).toEqual([]);
  });

  test("when anything stands in it that its parts do not say", async () => {
    const { wallet, message } = await signIn();
    for (const text of [
      `${message}\n`,
      ` ${message}`,
      message.replace("URI:", "Note: free\nURI:"),
      "",
      "x".repeat(9_000),
    ]) {
      const { cookies } = await ask("POST", "/auth/nonce", { body: {} });
      const answer = await ask("POST", "/auth/sign-in", {
        body: { message: text, signature: await wallet.signMessage({ message: text }) },
        headers: { Cookie: `mintyard_browser=${cookies["mintyard_browser"]}` },
      });
      expect([answer.status, hashMessage(text).length]).toEqual([422, 66]);
    }
  });
});

describe("a session", () => {
  test("lies in a cookie that no script reads and no other site sends", async () => {
    const { setCookie } = await signIn();
    const line = setCookie.find((text) => text.startsWith("mintyard_session="));
    expect(line).toMatch(/^mintyard_session=mty_session_\w+; Path=\/; Max-Age=86400; HttpOnly; SameSite=Strict$/);
    const secure = await ApiServer.start({ PUBLIC_URL: "https://nft.example" });
    try {
      const cookies = (await ask("POST", "/auth/nonce", { body: {}, server: secure })).setCookie;
      const transport = async (server: ApiServer) =>
        (await fetch(`${server.url}/docs`)).headers.get("strict-transport-security");
      expect([await transport(secure), await transport(api)]).toEqual(["max-age=31536000", null]);
      expect(cookies).toEqual([
        expect.stringMatching(/^__Host-mintyard_browser=.*; HttpOnly; SameSite=Strict; Secure$/),
      ]);
    } finally {
      await secure.close();
    }
  });

  test("writes with its token only, and reads without", async () => {
    const answer = await signIn();
    const cookie = sessionOf(answer);
    const made = { name: "app", scopes: ["read"] };
    const token = answer.body.csrf_token as string;
    const other = await signIn();
    const write = async (headers: Record<string, string>) =>
      (await ask("POST", "/v0/me/keys", { body: made, headers: { ...cookie, ...headers } })).status;
    expect(await write({})).toBe(401);
    expect(await write({ "X-CSRF-Token": "" })).toBe(403);
    expect(await write({ "X-CSRF-Token": other.body.csrf_token })).toBe(403);
    expect(await write({ "X-CSRF-Token": token, "Sec-Fetch-Site": "same-site" })).toBe(403);
    expect(await write({ "X-CSRF-Token": token, Origin: "http://localhost:9999" })).toBe(403);
    expect(await write({ "X-CSRF-Token": token, "Sec-Fetch-Site": "same-origin" })).toBe(200);
    expect((await ask("GET", "/v0/me/settings", { headers: cookie })).status).toBe(200);
    const query = (headers: Record<string, string>) => ask("POST", "/graphql", { body: viewer, headers });
    expect((await query(cookie)).status).toBe(401);
    const right = await query({ ...cookie, "X-CSRF-Token": token });
    expect(right.body.data.viewer.id).toBe(answer.body.account_id);
    expect((await query({ ...cookie, "X-CSRF-Token": "x" })).body.errors[0].extensions.code).toBe("csrf_token_invalid");
  });

  test("is never one that the browser brought along", async () => {
    const attacker = await signIn();
    const planted = attacker.cookies["mintyard_session"];
    const challenge = await ask("POST", "/auth/nonce", { body: {} });
    const browser = `mintyard_browser=${challenge.cookies["mintyard_browser"]}; mintyard_session=${planted}`;
    const victim = await signIn({ cookie: browser, nonce: challenge.body.nonce });
    expect(victim.status).toBe(200);
    expect(victim.cookies["mintyard_session"]).not.toBe(planted);
    const { body } = await ask("GET", "/auth/session", { headers: sessionOf(attacker) });
    expect(body.session.account_id).toBe(attacker.body.account_id);
    // Two of one name: one of them was planted.
    const both = { Cookie: `mintyard_session=${planted}; ${sessionOf(victim).Cookie}` };
    expect((await ask("GET", "/v0/me/settings", { headers: both })).status).toBe(401);
  });

  test("is listed with the keys, is revoked like one, and is no key to rotate", async () => {
    const answer = await signIn();
    const headers = { ...sessionOf(answer), "X-CSRF-Token": answer.body.csrf_token };
    const { body } = await ask("GET", "/v0/me/keys", { headers });
    expect(body.keys).toEqual([
      expect.objectContaining({ name: "browser", wallet: answer.wallet.address.toLowerCase() }),
    ]);
    const [{ id }] = body.keys;
    expect((await ask("POST", `/v0/me/keys/${id}/rotate`, { body: {}, headers })).status).toBe(404);
    expect((await ask("DELETE", `/v0/me/keys/${id}`, { headers })).status).toBe(200);
    const gone = async () => (await ask("GET", "/v0/me/settings", { headers })).status;
    await expect.poll(gone, patient).toBe(403);
    const { body: after, cookies } = await ask("GET", "/auth/session", { headers });
    expect([after.session, cookies["mintyard_session"]]).toEqual([null, ""]);
  });

  test("ends when its owner signs out, and only by a page that knows its token", async () => {
    const answer = await signIn();
    expect((await ask("DELETE", "/auth/session", { headers: sessionOf(answer) })).status).toBe(403);
    const headers = { ...sessionOf(answer), "X-CSRF-Token": answer.body.csrf_token };
    expect((await ask("DELETE", "/auth/session", { headers })).status).toBe(200);
    const { rows } = await api.database.pool.query(
      "SELECT revoked_at IS NOT NULL AS ended FROM service.api_key WHERE account_id = $1",
      [answer.body.account_id],
    );
    expect(rows).toEqual([{ ended: true }]);
  });

  test("of a wallet with many browsers ends when twenty newer ones are there", async () => {
    const wallet = newWallet();
    for (let index = 0; index < 21; index += 1) expect((await signIn({ wallet })).status).toBe(200);
    const { rows } = await api.database.pool.query(
      "SELECT count(*)::int AS sessions FROM service.api_key WHERE wallet = $1",
      [Buffer.from(wallet.address.slice(2), "hex")],
    );
    expect(rows).toEqual([{ sessions: 20 }]);
  });

  test("leaves neither its secret nor its token in the database", async () => {
    const answer = await signIn();
    for (const table of ["account", "api_key", "key_secret", "audit_log", "sign_in_nonce"]) {
      const { rows } = await api.database.pool.query(`SELECT t::text AS row FROM service.${table} t`);
      const text = rows.map(({ row }) => row).join("\n");
      for (const secret of [answer.cookies["mintyard_session"], answer.body.csrf_token, answer.nonce])
        expect(text).not.toContain(secret);
    }
    expect(signInStatement).toContain("sends no transaction");
  });
});

/** A page whose own name was made to lead to this machine. */
function askAs(host: string, method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
  return new Promise((done, failed) => {
    const headers = { Host: host, Origin: `http://${host}`, ...(body ? { "Content-Type": "application/json" } : {}) };
    const outgoing = request({ port: api.port, host: "127.0.0.1", method, path, headers }, async (answer) => {
      const parts: Buffer[] = [];
      for await (const part of answer) parts.push(part as Buffer);
      done({ status: answer.statusCode ?? 0, text: Buffer.concat(parts).toString("utf8") });
    });
    outgoing.once("error", failed);
    outgoing.end(body);
  });
}

test("what an installation on this machine has for its own pages, no page of another name gets", async () => {
  const session = sessionOf(await signIn());
  expect(session.Cookie).toContain("mty_session_");
  const call = JSON.stringify({ method: "eth_accounts", params: [] });
  const asked = [
    ["POST", "/auth/nonce", "{}"],
    ["GET", "/auth/session", undefined],
    ["POST", "/local-wallet/goerli", call],
    ["GET", "/metrics", undefined],
  ] as const;
  for (const [method, path, body] of asked) {
    const foreign = await askAs(`rebound.example:${api.port}`, method, path, body);
    expect([path, foreign.status >= 400 && foreign.status < 500], foreign.text).toEqual([path, true]);
    for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
      const own = await askAs(`${host}:${api.port}`, method, path, body);
      // No node stands behind the wallet here.
      expect([path, host, own.status]).toEqual([path, host, path.startsWith("/local-wallet") ? 503 : 200]);
    }
  }
});
