import { randomBytes } from "node:crypto";
import { createServer, request, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../src/free-port.ts";
import { type EventClient, subscribe } from "./graphql/event-client.ts";
import { ApiServer } from "./setup/api-server.ts";
import { Nginx, nginxVersion } from "./setup/nginx.ts";
import { ServiceProcess } from "./setup/service-process.ts";
import { patient } from "./setup/wait.ts";
import { furnish, type Tenant } from "./tenants/tenant.ts";

const reason = nginxVersion === null ? " (skipped: there is no nginx on this machine)" : "";

/** Makes the rows and has the database; what nginx asks are the two processes. */
let api: ApiServer;
let alice: Tenant;
let ports: number[];
const processes: ServiceProcess[] = [];
let nginx: Nginx;
let env: Record<string, string>;
const startApi = async (port = 0) => {
  const started = await ServiceProcess.start("api", { ...env, PORT: String(port) });
  processes.push(started);
  return started;
};

beforeAll(async () => {
  if (nginxVersion === null) return;
  api = await ApiServer.start({ KEY_PEPPER: "of the tests" });
  alice = await furnish(api, "alice");
  env = {
    DATABASE_URL: api.database.url,
    KEY_PEPPER: api.services.config.keyPepper,
    MINTYARD_DATA_DIR: api.dataDir,
    RPC_URL_GOERLI: "http://127.0.0.1:9",
    CHAIN_ID_GOERLI: "31337",
    LOCAL_GOERLI: "true",
    LOG_LEVEL: "warn",
    SIGN_UPS_PER_HOUR: "1",
    TRUSTED_PROXIES: "127.0.0.1",
  };
  ports = await freePorts(2);
  await Promise.all(ports.map(startApi));
  nginx = await Nginx.start(ports);
});
afterAll(async () => {
  await nginx?.stop();
  await Promise.all(processes.map((started) => started.end("SIGKILL")));
  await api?.close();
});

const post = async (path: string, body: BodyInit, headers: Record<string, string> = {}) =>
  await fetch(nginx.url + path, { method: "POST", body, headers: { Authorization: alice.key, ...headers } });
const form = (bytes: Buffer) => {
  const data = new FormData();
  data.append("file", new Blob([new Uint8Array(bytes)]), "a.bin");
  return data;
};
const codeOf = (body: { response?: string; errors?: { extensions: object }[]; error?: object }) =>
  body.errors?.[0]?.extensions ?? body.error;

test.skipIf(nginxVersion === null)(
  `uploads large and small, and reads of both APIs, go through nginx${reason}`,
  async () => {
    for (const bytes of [randomBytes(1_000), randomBytes(3_000_000)]) {
      const stored = await post("/v0/files", form(bytes));
      const { ipfs_url } = (await stored.json()) as { ipfs_url: string };
      expect(stored.status).toBe(200);
      const cid = ipfs_url.split("/").at(-1);
      const read = await fetch(`${nginx.url}/ipfs/${cid}`);
      expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true);
    }
    const asked = await post("/graphql", '{"query":"{ __typename }"}', { "Content-Type": "application/json" });
    expect(await asked.json()).toMatchObject({ data: { __typename: "Query" } });
    const health = await fetch(`${nginx.url}/health`);
    expect([health.status, ((await health.json()) as { ready: boolean }).ready]).toEqual([200, true]);
  },
);

test.skipIf(nginxVersion === null)(`a subscription's events come through nginx when they happen${reason}`, async () => {
  const client = await subscribe(nginx.url, "POST", alice.key, alice.ids.intent);
  const states = (of: EventClient) => of.events().map(({ data }) => data?.deployment?.state);
  try {
    const seen = ["CONFIRMED"];
    await expect.poll(() => states(client), patient).toEqual(seen);
    for (const state of ["in_flight", "mined"]) {
      await api.database.pool.query("UPDATE service.intent SET state = $2, version = version + 1 WHERE id = $1", [
        alice.ids.intent,
        state,
      ]);
      seen.push(state.toUpperCase());
      await expect.poll(() => states(client), patient).toEqual(seen);
    }
    expect(client.ended()).toBe(null);
  } finally {
    client.destroy();
  }
});

test.skipIf(nginxVersion === null)(
  `clients are told apart by the address nginx saw, whatever they send${reason}`,
  async () => {
    const signUp = (localAddress: string, claimed: string) =>
      new Promise<number>((done, failed) => {
        const headers = { "content-type": "application/json", "x-forwarded-for": claimed };
        const sent = request(`${nginx.url}/v0/signup`, { method: "POST", localAddress, headers }, (answer) => {
          answer.resume();
          done(answer.statusCode ?? 0);
        });
        sent.on("error", failed).end(JSON.stringify({ name: "x", email: "x@example.com" }));
      });
    expect(await signUp("127.0.5.1", "198.51.100.1")).toBe(200);
    expect(await signUp("127.0.5.1", "203.0.113.7")).toBe(429);
    expect(await signUp("127.0.6.1", "198.51.100.1")).toBe(200);
  },
);

test.skipIf(nginxVersion === null)(
  `a body that is too large and a path of operators are refused in the API's form${reason}`,
  async () => {
    const large = await new Promise<{ status: number; text: string }>((done) => {
      const socket = connect(Number(new URL(nginx.url).port), "127.0.0.1");
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.once("close", () => done({ status: Number(text.split(" ")[1]), text }));
      socket.write("POST /v0/files HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 99000000\r\n\r\n");
    });
    expect(large.status).toBe(413);
    expect(JSON.parse(large.text.split("\r\n\r\n")[1] ?? "")).toMatchObject({
      response: "NOK",
      error: { status_code: 413, code: "file_too_large", fix: expect.any(String), request_id: expect.any(String) },
    });
    for (const path of ["/metrics", "/livez", "/readyz"]) {
      const answer = await fetch(nginx.url + path);
      expect([answer.status, codeOf((await answer.json()) as object)]).toMatchObject([404, { code: "not_found" }]);
    }
  },
);

test.skipIf(nginxVersion === null)(
  `one API process is killed: reads go on; both: 502 in the form of each API; again: reads${reason}`,
  async () => {
    const [first, second] = processes;
    const statuses: number[] = [];
    let over = false;
    const reading = (async () => {
      while (!over) {
        const answer = await fetch(`${nginx.url}/v0/me/settings`, { headers: { Authorization: alice.key } });
        await answer.text();
        statuses.push(answer.status);
      }
    })();
    await expect.poll(() => statuses.length, patient).toBeGreaterThan(20);
    await first?.end("SIGKILL");
    const before = statuses.length;
    await expect.poll(() => statuses.length, patient).toBeGreaterThan(before + 40);
    over = true;
    await reading;
    // A request may come while the rate of the account is used up; it is answered all the same.
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    expect((await fetch(`${nginx.url}/health`)).status).toBe(200);

    await second?.end("SIGKILL");
    const rest = await fetch(`${nginx.url}/v0/me/settings`, { headers: { Authorization: alice.key } });
    expect([rest.status, rest.headers.get("retry-after"), rest.headers.get("content-type")]).toEqual([
      502,
      "1",
      "application/json",
    ]);
    const id = rest.headers.get("x-request-id");
    expect(await rest.json()).toEqual({
      response: "NOK",
      error: {
        status_code: 502,
        code: "service_unavailable",
        message: "no process of the service answers; try again in a moment",
        request_id: id,
        fix: "Send the same request again after Retry-After seconds; nothing is done twice.",
        docs: "/docs/errors/service_unavailable",
      },
    });
    expect(id).toMatch(/^req_[0-9a-f]{24,}$/);
    await expect.poll(async () => await nginx.log(), patient).toContain(`"requestId":"${id}"`);
    const graph = await post("/graphql", '{"query":"{ __typename }"}', { "Content-Type": "application/json" });
    expect(graph.status).toBe(502);
    expect(await graph.json()).toMatchObject({
      errors: [
        {
          message: "no process of the service answers; try again in a moment",
          extensions: { code: "service_unavailable", requestId: graph.headers.get("x-request-id") },
        },
      ],
    });
    expect((await post("/v0/files", form(randomBytes(3_000_000)))).status).toBe(502);
    expect((await fetch(`${nginx.url}/health`)).status).toBe(502);

    await startApi(ports[0]);
    const again = await fetch(`${nginx.url}/v0/nfts?chain=goerli`, { headers: { Authorization: alice.key } });
    expect([200, 429]).toContain(again.status);
  },
);

test.skipIf(nginxVersion === null)(
  `what was sent once is sent to a second process only where that does nothing twice, and a large body is passed on as it comes${reason}`,
  async () => {
    // In the place of the API two servers that take a request, note it, and break off: what no process does on purpose.
    const seen: string[] = [];
    let firstBytes = 0;
    const servers = await Promise.all(
      [1, 2].map(
        () =>
          new Promise<Server>((ready) => {
            const server = createServer((incoming, outgoing) => {
              seen.push(`${incoming.method} ${incoming.url}`);
              if (incoming.url !== "/v0/files/large") return void outgoing.destroy();
              incoming.once("data", (chunk: Buffer) => {
                firstBytes += chunk.length;
              });
              incoming.on("end", () => outgoing.end("whole"));
            });
            server.listen(0, "127.0.0.1", () => ready(server));
          }),
      ),
    );
    const other = await Nginx.start(servers.map((server) => (server.address() as AddressInfo).port));
    try {
      const tries = async (method: string, path: string) => {
        seen.length = 0;
        const body = method === "GET" ? {} : { body: "{}" };
        const answer = await fetch(other.url + path, { method, ...body });
        expect(answer.status).toBe(502);
        expect(codeOf((await answer.json()) as object)).toMatchObject({ code: "service_unavailable" });
        return seen.length;
      };
      expect(await tries("GET", "/v0/nfts")).toBe(2);
      expect(await tries("POST", "/v0/contracts/collections")).toBe(2);
      for (const path of ["/v0/signup", "/v0/me/keys", "/graphql"]) expect(await tries("POST", path)).toBe(1);

      const socket = connect(Number(new URL(other.url).port), "127.0.0.1");
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.write("POST /v0/files/large HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2000000\r\n\r\n");
      socket.write(Buffer.alloc(1_000_000));
      await expect.poll(() => firstBytes, patient).toBeGreaterThan(0);
      expect(text).toBe("");
      socket.write(Buffer.alloc(1_000_000));
      await expect.poll(() => text, patient).toMatch(/^HTTP\/1\.1 200 [\s\S]*whole/);
    } finally {
      await other.stop();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    }
  },
);

test.skipIf(nginxVersion === null)(`TLS ends in nginx where a certificate is named${reason}`, async () => {
  const secure = await Nginx.start(ports, { tls: true });
  try {
    const { execFileSync } = await import("node:child_process");
    const answer = execFileSync("curl", ["-sk", "--http2", "-w", " %{http_version}", `${secure.url}/health`]);
    expect(String(answer)).toMatch(/^\{"ready":true.*\} 2$/);
  } finally {
    await secure.stop();
  }
});
