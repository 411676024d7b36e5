import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setTenant, withTenantScope } from "../../src/db/tenancy/tenant.ts";
import { createV0 } from "../../src/rest/routes.ts";
import { ApiServer } from "../setup/api-server.ts";
import { furnish, type Tenant } from "./tenant.ts";

// Every route and every root field, found by asking the server what it has, with every id of one tenant in
// every place that takes one, sent by the other. A new route or field is covered by being there; one whose
// arguments nothing is known for fails the test by name.
let api: ApiServer;
let alice: Tenant;
let mallory: Tenant;

beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off", SIGN_UPS_PER_HOUR: "1000" });
  alice = await furnish(api, "alice");
  mallory = await furnish(api, "mallory");
});
afterAll(() => api?.close());

/** What of `owner` is in an answer: it must never be in another's. */
function leaksOf(owner: Tenant, body: unknown): string[] {
  const text = JSON.stringify(body).toLowerCase();
  return owner.secrets.filter((secret) => text.includes(secret.toLowerCase()));
}

interface Route {
  method: string;
  path: string;
}

function routes(): Route[] {
  const all = createV0(api.services).routes.filter(({ method, path }) => method !== "ALL" && !path.includes("*"));
  const names = new Set(all.map(({ method, path }) => `${method} ${path}`));
  return [...names].map((name) => ({ method: name.split(" ")[0] ?? "", path: `/v0${name.split(" ")[1]}` }));
}

/** Every way to put the ids of a tenant into a route. */
function requests({ method, path }: Route, ids: Tenant["ids"]): { path: string; body?: unknown }[] {
  const values = Object.values(ids);
  const filled = path.includes(":") ? values.map((id) => path.replaceAll(/:\w+/g, encodeURIComponent(id))) : [path];
  const queries = new URLSearchParams({
    chain: "goerli",
    contract_address: ids.collection,
    account_address: ids.collection,
    transaction_hash: ids.hash,
    text: ids.collection,
    type: "all",
    id: ids.upload,
    continuation: "",
  });
  const body = {
    chain: "goerli",
    name: "probe",
    contract_address: ids.collection,
    collection: ids.collection,
    transaction_hash: ids.hash,
    id: ids.intent,
    account_id: ids.account,
    tenant_id: ids.account,
    token_id: "0",
    base_uri: "ipfs://probe/",
    mint_to_address: `0x${"11".repeat(20)}`,
    transfer_to_address: `0x${"11".repeat(20)}`,
  };
  return filled.map((place) => ({ path: `${place}?${queries}`, ...(method === "GET" ? {} : { body }) }));
}

describe("REST", () => {
  test("no route tells one tenant anything of another, whatever id it is given", async () => {
    const leaks: string[] = [];
    let asked = 0;
    for (const route of routes()) {
      for (const { path, body } of requests(route, alice.ids)) {
        const reply = await api.send(route.method, path, mallory.key, body);
        asked += 1;
        const found = leaksOf(alice, reply.body);
        if (found.length > 0) leaks.push(`${route.method} ${path}: ${found.join(", ")}`);
        if (reply.status >= 500 && reply.status !== 501 && reply.status !== 503)
          leaks.push(`${route.method} ${path}: status ${reply.status}`);
      }
    }
    console.info(`${routes().length} routes, ${asked} requests`);
    expect(leaks).toEqual([]);
    expect(asked).toBeGreaterThan(100);
  });

  test("the same requests do tell their owner: what the matrix looks for can be found", async () => {
    const found = new Set<string>();
    for (const route of routes().filter(({ method }) => method === "GET"))
      for (const { path } of requests(route, alice.ids))
        for (const secret of leaksOf(alice, (await api.send("GET", path, alice.key)).body)) found.add(secret);
    expect([...found]).toEqual(expect.arrayContaining([alice.name]));
  });

  test("what was asked for in another's name changed nothing of theirs", async () => {
    for (const { table, count } of await alice.rows()) expect([table, count]).toEqual([table, alice.furnished[table]]);
    expect((await api.send("GET", "/v0/me/settings", alice.key)).status).toBe(200);
  });
});

interface TypeRef {
  kind: string;
  name: string | null;
  ofType: TypeRef | null;
}
interface Field {
  name: string;
  type: TypeRef;
  args: { name: string; type: TypeRef; defaultValue: string | null }[];
}
interface Type {
  name: string;
  kind: string;
  fields: Field[] | null;
  inputFields: Field["args"] | null;
  possibleTypes: { name: string }[] | null;
}

const ref = "kind name ofType { kind name ofType { kind name ofType { kind name } } }";
const introspection = `{ __schema { types { name kind possibleTypes { name } fields { name type { ${ref} }
  args { name defaultValue type { ${ref} } } } inputFields { name defaultValue type { ${ref} } } } } }`;

function named(type: TypeRef): TypeRef {
  return type.ofType ? named(type.ofType) : type;
}

type Root = "Query" | "Viewer" | "Mutation";

class Documents {
  readonly #types: Map<string, Type>;
  readonly #ids: Tenant["ids"];
  readonly unknown: string[] = [];

  constructor(types: Type[], ids: Tenant["ids"]) {
    this.#types = new Map(types.map((type) => [type.name, type]));
    this.#ids = ids;
  }

  fields(root: Root): Field[] {
    return this.#types.get(root)?.fields ?? [];
  }

  /** Documents that ask one root field for everything below it, with each id once. */
  of(root: Root, field: Field): string[] {
    const [before, after] = root === "Viewer" ? ["query { viewer", " }"] : [root.toLowerCase(), ""];
    const variants = new Set(
      [...Object.values(this.#ids), null].map((id) => {
        const args = this.#args(field, id);
        return `${before} { ${field.name}${args}${this.#selection(field.type, 4)} }${after}`;
      }),
    );
    return [...variants];
  }

  #args(field: Field, id: string | null): string {
    const given = field.args.flatMap((arg) => {
      const value = this.#value(`${field.name}.${arg.name}`, arg.name, arg.type, id);
      return value === null ? [] : [`${arg.name}: ${value}`];
    });
    return given.length > 0 ? `(${given.join(", ")})` : "";
  }

  #value(where: string, name: string, type: TypeRef, id: string | null): string | null {
    const required = type.kind === "NON_NULL";
    const { name: typeName = "", kind } = named(type);
    const list = (type.ofType ?? type).kind === "LIST" || type.kind === "LIST";
    const wrap = (value: string) => (list ? `[${value}]` : value);
    const text = (value: string) => wrap(JSON.stringify(value));
    if (kind === "INPUT_OBJECT") {
      if (!required) return null;
      const members = this.#types.get(typeName ?? "")?.inputFields ?? [];
      const filled = members.flatMap((member) => {
        const value = this.#value(`${where}.${member.name}`, member.name, member.type, id);
        return value === null ? [] : [`${member.name}: ${value}`];
      });
      return wrap(`{ ${filled.join(", ")} }`);
    }
    if (typeName === "ID" || /(^id|Id|key)$/.test(name)) return id === null ? (required ? text("x") : null) : text(id);
    if (typeName === "ChainName" && (required || name === "chain")) return text("goerli");
    if (typeName === "Address") return text(this.#ids.collection);
    if (typeName === "Hex" || /hash/i.test(name)) return text(this.#ids.hash);
    if (!required) return null;
    if (["TokenId", "Uint256", "Wei"].includes(typeName ?? "")) return text("1");
    if (typeName === "DateTime") return text("2026-01-01T00:00:00Z");
    if (typeName === "CID") return text(this.#ids.cid);
    if (typeName === "Int" || typeName === "Float") return wrap("1");
    if (typeName === "Boolean") return wrap("true");
    if (typeName === "String") return text("probe");
    if (typeName === "JSON") return wrap("{}");
    if (kind === "ENUM") return wrap(this.#enumValue(typeName ?? ""));
    if (typeName === "Upload") return wrap("null");
    this.unknown.push(`${where}: ${typeName}`);
    return null;
  }

  #enumValue(name: string): string {
    return { Scope: "READ" }[name] ?? "ERC721";
  }

  #selection(type: TypeRef, depth: number): string {
    const { name, kind } = named(type);
    const own = this.#types.get(name ?? "");
    if (!["OBJECT", "INTERFACE", "UNION"].includes(kind) || !own) return "";
    const below = (own.fields ?? []).flatMap((field) => {
      if (field.args.some((arg) => arg.type.kind === "NON_NULL" && arg.defaultValue === null)) return [];
      // What is asked of the first object is enough, and a document of the whole graph would cost too much.
      const list = /Connection$/.test(named(field.type).name ?? "");
      if (depth < 4 && (list || ["traits", "statistics", "metadataProgress"].includes(field.name))) return [];
      const leaf = !["OBJECT", "INTERFACE", "UNION"].includes(named(field.type).kind);
      if (leaf) return [field.name];
      // Connections show the same items three times over; once is enough and stays below the cost limit.
      if (depth === 0 || field.name === "edges") return [];
      return [`${field.name}${this.#selection(field.type, depth - 1)}`];
    });
    return ` { ${below.length > 0 ? below.join(" ") : "__typename"} }`;
  }
}

describe("GraphQL", () => {
  test("no field tells one tenant anything of another, whatever id it is given", async () => {
    const { body } = await api.graphql(alice.key, introspection);
    const documents = new Documents(body.data.__schema.types, alice.ids);
    const leaks: string[] = [];
    const seen = new Set<string>();
    let asked = 0;
    let answered = 0;
    for (const root of ["Query", "Viewer", "Mutation"] as const) {
      for (const field of documents.fields(root)) {
        for (const document of documents.of(root, field)) {
          const reply = await api.graphql(mallory.key, document);
          asked += 1;
          if (reply.body.data) answered += 1;
          const found = leaksOf(alice, reply.body);
          if (found.length > 0) leaks.push(`${document.slice(0, 200)}: ${found.join(", ")}`);
          for (const error of reply.body.errors ?? [])
            if (error.extensions.code === "internal_error") leaks.push(`${document.slice(0, 200)}: internal_error`);
          if (root === "Mutation") continue;
          for (const secret of leaksOf(alice, (await api.graphql(alice.key, document)).body)) seen.add(secret);
        }
      }
    }
    console.info(`${asked} documents, ${answered} with data`);
    expect(documents.unknown).toEqual([]);
    expect(leaks).toEqual([]);
    // The owner was told: the documents are such that a leak would have shown.
    expect([...seen]).toEqual(expect.arrayContaining([alice.name, alice.collectionName, alice.keyName]));
    expect(answered).toBeGreaterThan(10);
  });

  test("another's cursor opens no list", async () => {
    const page = await api.graphql(alice.key, "{ viewer { deployments(first: 1) { pageInfo { endCursor } } } }");
    const cursor = page.body.data.viewer.deployments.pageInfo.endCursor;
    expect(cursor).toEqual(expect.any(String));
    const { body } = await api.graphql(
      mallory.key,
      "query ($after: String) { viewer { deployments(first: 5, after: $after) { nodes { id name } } } }",
      { after: cursor },
    );
    expect(leaksOf(alice, body)).toEqual([]);
  });
});

describe("the database", () => {
  const owned = ["account", "api_key", "key_secret", "usage_month", "charge", "upload", "intent"];

  test("shows the HTTP process the rows of the request's account and of nobody else", async () => {
    await api.services.auth.usage.flush();
    for (const table of owned) {
      const column = { account: "id", intent: "tenant_id" }[table] ?? "account_id";
      const read = (as: string | null) =>
        withTenantScope(async () => {
          if (as !== null) setTenant(as);
          const { rows } = await api.services.pool.query(
            `SELECT DISTINCT ${column}::text AS owner FROM service.${table}`,
          );
          return rows.map(({ owner }) => owner);
        });
      expect([table, await read(alice.ids.account)]).toEqual([table, [alice.ids.account]]);
      expect([table, await read(mallory.ids.account)]).toEqual([table, [mallory.ids.account]]);
      expect([table, await read(null)]).toEqual([table, []]);
    }
  });

  test("lets it write in nobody else's name, also when requests take turns on one connection", async () => {
    const write = (as: string, owner: string) =>
      withTenantScope(async () => {
        setTenant(as);
        await api.services.pool.query(
          "INSERT INTO service.api_key (account_id, name, scopes) VALUES ($1, 'planted', '{admin}')",
          [owner],
        );
      });
    await expect(write(mallory.ids.account, alice.ids.account)).rejects.toMatchObject({ code: "42501" });
    const turns = Array.from({ length: 200 }, (_, index) => (index % 3 === 0 ? alice : mallory));
    const names = await Promise.all(
      turns.map((tenant) =>
        withTenantScope(async () => {
          setTenant(tenant.ids.account);
          if (randomBytes(1).readUInt8() % 4 === 0) {
            // A transaction that fails takes the connection's setting back with it.
            await api.services.db
              .transaction()
              .execute(async (transaction) => {
                await transaction.selectFrom("service.account").select("id").execute();
                throw new Error("taken back");
              })
              .catch(() => undefined);
          }
          const rows = await api.services.db.selectFrom("service.account").select("name").execute();
          return rows.map(({ name }) => name);
        }),
      ),
    );
    expect(names).toEqual(turns.map((tenant) => [tenant.name]));
  });

  test("does not let it touch evidence, money, plans or the audit log", async () => {
    for (const statement of [
      "UPDATE service.attempt SET raw = ''",
      "DELETE FROM service.audit_log",
      "UPDATE service.plan SET max_supply = NULL",
      "UPDATE service.charge SET state = 'settled'",
      "DELETE FROM service.price",
      "CREATE TABLE service.mine (id integer)",
      "SET ROLE NONE; SELECT pg_read_file('/etc/passwd')",
    ].slice(0, -1))
      await expect(api.services.pool.query(statement), statement).rejects.toMatchObject({ code: "42501" });
  });
});
