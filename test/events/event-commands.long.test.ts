import { type ChildProcess, spawn } from "node:child_process";
import { statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { runWebhooks } from "../../src/events/run-webhooks.ts";
import { sampleTypes } from "../../src/events/sample-event.ts";
import { Rounds } from "../../src/rounds.ts";
import { ApiServer } from "../setup/api-server.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { addressOf } from "../setup/nft-fixture.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";
import { CuttableLink } from "./cuttable-link.ts";
import { WebhookReceiver } from "./receiver.ts";

const program = join(import.meta.dirname, "../../bin/mintyard.ts");
let api: ApiServer;
let link: CuttableLink;
let receiver: WebhookReceiver;
let account: { key: string; id: string };
let home = temporaryFolder();
const children = new Set<ChildProcess>();
beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off", WEBHOOKS_ALLOW_PRIVATE: "true", KEY_PEPPER: "of the tests" });
  link = await CuttableLink.start(api.url);
  receiver = await WebhookReceiver.start();
  account = await api.account("enterprise");
});
afterEach(() => {
  link.mend();
  for (const child of children) child.kill("SIGKILL");
  receiver.received.length = 0;
  receiver.answer = () => ({ status: 204 });
});
afterAll(async () => {
  await receiver?.close();
  await link?.close();
  await api?.close();
});

/** `mintyard events …` as a user of another machine runs it. */
const start = (...args: string[]) => startWith({ MINTYARD_KEY: account.key, MINTYARD_DATA_DIR: home }, args);

function startWith(env: Record<string, string>, args: string[]) {
  const child = spawn(process.execPath, [program, "events", ...args], {
    env: { ...bareEnvironment, XDG_CONFIG_HOME: home, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  const seen = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      seen[name] += text;
    });
  const ended = new Promise<number | null>((done) => child.once("close", (code) => done(code)));
  return { seen, ended, interrupt: () => child.kill("SIGINT") };
}

async function run(...args: string[]) {
  const { seen, ended } = start(...args, "--url", api.url);
  return { code: await ended, ...seen };
}

/** Writes an event of the account, as the relay's trigger does. */
async function write(object: string): Promise<void> {
  await api.database.pool.query("SELECT service.record_event('mint.confirmed', $1, $2, false, 31337, $3, 5, $4)", [
    object,
    account.id,
    Buffer.from(addressOf(0xaa).slice(2), "hex"),
    JSON.stringify({ object, state: "confirmed" }),
  ]);
}

const until = async (condition: () => unknown) => await vi.waitFor(() => expect(condition()).toBeTruthy(), patient);

test("listen forwards what comes as signed webhooks, in order, and each once although the connection is cut", async () => {
  receiver.answer = ({ body }) => ({ status: body.includes("second") ? 500 : 204 });
  const listening = start(
    ...["listen", "--url", link.url, "--forward-to", `${receiver.url}/hook`, "--types", "mint", "--count", "4"],
  );
  await until(() => listening.seen.stderr.includes("Listening to"));
  await write("first");
  await write("second");
  await until(() => receiver.received.length === 2);
  link.cut();
  // A stream that began anew would miss it.
  await write("third");
  link.mend();
  await until(() => receiver.received.length === 3);
  await write("fourth");
  expect(await listening.ended).toBe(0);
  const objects = receiver.received.map(({ body }) => (JSON.parse(body) as { data: { object: string } }).data.object);
  expect(objects).toEqual(["first", "second", "third", "fourth"]);
  const { stdout: secret } = await run("listen", "--print-secret");
  for (const { headers, body } of receiver.received) {
    const signed = Object.fromEntries(
      ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, String(headers[name])]),
    );
    const { data } = new StandardWebhook(secret.trim()).verify(body, signed) as { data: { id: string } };
    expect(signed["webhook-id"]).toBe(data.id);
  }
  expect(listening.seen.stdout.match(/mint\.confirmed/g)).toHaveLength(4);
  expect(listening.seen.stderr).toContain("--> 500");
  expect(listening.seen.stderr).toContain("Connected again.");
  expect(statSync(join(home, "mintyard/listen-secret")).mode & 0o777).toBe(0o600);
});

test("a listener that was cut off before its first event misses nothing", async () => {
  const listening = start("listen", "--url", link.url, "--types", "mint", "--json", "--count", "1");
  await until(() => listening.seen.stderr.includes("Listening to"));
  link.cut();
  await write("meanwhile");
  link.mend();
  expect(await listening.ended).toBe(0);
  expect(JSON.parse(listening.seen.stdout)).toMatchObject({ type: "mint.confirmed", data: { object: "meanwhile" } });
});

test("listen ends with an interrupt, and with a reason where the service refuses", async () => {
  const listening = start("listen", "--url", api.url);
  await until(() => listening.seen.stderr.includes("Listening to"));
  listening.interrupt();
  expect(await listening.ended).toBe(0);
  expect(await run("listen", "--types", "nothing")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('"nothing" is no type of events'),
  });
  expect(await run("listen", "--after", "soon")).toMatchObject({ code: 1, stderr: expect.stringContaining("--after") });
  expect(await run("listen", "--forward-to", "ftp://x")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("--forward-to"),
  });
});

test("a file that has no secret is not signed with", async () => {
  const other = temporaryFolder();
  const before = home;
  home = other;
  onTestFinished(() => {
    home = before;
  });
  await run("listen", "--print-secret");
  await writeFile(join(other, "mintyard/listen-secret"), "hello");
  expect(await run("listen", "--print-secret")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("delete it"),
  });
});

test("trigger sends a sample of each type, marked as one, and says whether it was taken", async () => {
  const { stdout: secret } = await run("listen", "--print-secret");
  for (const type of ["nft.transfer", "nft.transfer.retracted", "mint.held"]) {
    const { code, stdout } = await run("trigger", type, "--forward-to", receiver.url, "--json");
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ status: 204 })]);
    const message = receiver.received.at(-1);
    const headers = Object.fromEntries(
      Object.entries(message?.headers ?? {}).map(([name, value]) => [name, `${value}`]),
    );
    const event = new StandardWebhook(secret.trim()).verify(message?.body ?? "", headers);
    expect(event).toMatchObject({ type, data: { id: JSON.parse(stdout).eventId, test: true } });
  }
  receiver.answer = () => ({ status: 503 });
  expect(await run("trigger", "nft.transfer", "--forward-to", receiver.url)).toMatchObject({ code: 1 });
  const refused = await run("trigger", "mint.flying", "--forward-to", receiver.url);
  expect(refused.stderr).toContain(sampleTypes.join(", "));
  expect((await run("trigger", "nft.transfer")).stderr).toContain("say where it goes");
});

test("endpoints are made, changed, paused, rotated, sent samples and events again, and deleted", async () => {
  const made = JSON.parse(
    (
      await run(
        "endpoints",
        "create",
        `${receiver.url}/a`,
        "--types",
        "mint,nft.transfer",
        "--finality",
        "safe",
        "--json",
      )
    ).stdout,
  ) as { webhook: { id: string }; secret: string };
  const { id } = made.webhook;
  expect(made.secret).toMatch(/^whsec_/);
  expect(made.webhook).toMatchObject({ types: ["mint", "nft.transfer"], finality: "safe", state: "unverified" });
  const listed = (await run("endpoints", "list")).stdout;
  expect(listed).toContain(`${id}  unverified  ${receiver.url}/a  mint,nft.transfer  all chains  safe`);
  const changed = await run("endpoints", "change", id, "--receiver", `${receiver.url}/b`, "--types", "", "--json");
  expect(JSON.parse(changed.stdout)).toMatchObject({ url: `${receiver.url}/b`, types: [], finality: "safe" });
  expect(await run("endpoints", "change", id)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("nothing to"),
  });
  expect(JSON.parse((await run("endpoints", "pause", id)).stdout)).toMatchObject({ state: "paused" });
  expect(JSON.parse((await run("endpoints", "resume", id)).stdout)).toMatchObject({ state: "unverified" });
  expect(JSON.parse((await run("endpoints", "verify", id)).stdout)).toMatchObject({ state: "unverified" });
  const rotated = JSON.parse((await run("endpoints", "rotate", id, "--overlap", "60", "--json")).stdout);
  expect(rotated.secret).not.toBe(made.secret);
  expect((await run("endpoints", "rotate", id, "--overlap", "9999999")).stderr).toContain("overlapSeconds");

  await write("again");
  // No stream may be open that has events numbered.
  await api.database.pool.query("SELECT service.number_events(1000)");
  // As a worker does when it has compared it with endpoints: what is still to come needs no replay.
  await api.database.pool.query("UPDATE service.webhook_head SET sequence = (SELECT sequence FROM service.event_head)");
  const { rows } = await api.database.pool.query("SELECT id FROM service.event WHERE data->>'object' = 'again'");
  expect(await run("replay", rows[0].id)).toMatchObject({ code: 0, stdout: `1 on the way to ${id}\n` });
  expect(await run("replay", "evt_nothing")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("no such event"),
  });
  expect((await run("replay")).stderr).toContain("say what is sent again");
  expect(await run("trigger", "metadata.failed", "--endpoint", id)).toMatchObject({ code: 0 });
  const deliveries = (await run("endpoints", "deliveries", id, "--json")).stdout.trim().split("\n");
  expect(deliveries.map((line) => JSON.parse(line))).toMatchObject([
    { type: "metadata.failed", state: "pending" },
    { type: "mint.confirmed", eventId: rows[0].id, state: "pending" },
  ]);
  const other = JSON.parse((await run("endpoints", "create", receiver.url, "--json")).stdout) as typeof made;
  const several = await run("replay", "--failed");
  expect(several.code).toBe(1);
  for (const one of [id, other.webhook.id]) expect(several.stderr).toContain(one);
  for (const one of [id, other.webhook.id])
    expect(await run("endpoints", "delete", one)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("deleted"),
    });
  expect((await run("endpoints", "list")).stdout).toBe("");
  expect(await run("endpoints", "show", id)).toMatchObject({ code: 1, stderr: expect.stringContaining("there is no") });
});

test("the operator's endpoints get what the operator is told, at private addresses too, and no account's are touched", async () => {
  const operator = async (...args: string[]) => {
    const env = { DATABASE_URL: api.database.url, KEY_PEPPER: "of the tests" };
    const { seen, ended } = startWith(env, ["operator", ...args]);
    return {
      code: await ended,
      ...seen,
      rows: () =>
        seen.stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line)),
    };
  };
  const theirs = JSON.parse((await run("endpoints", "create", `${receiver.url}/account`, "--json")).stdout);
  const created = await operator("create", `${receiver.url}/operator`, "--description", "who is on call");
  const [{ webhook, secret }] = created.rows();
  expect(webhook).toMatchObject({ types: ["wallet", "index"], state: "enabled", description: "who is on call" });
  expect((await operator("list")).rows()).toMatchObject([{ id: webhook.id }]);
  expect((await operator("pause", webhook.id)).rows()).toMatchObject([{ state: "paused" }]);
  expect((await operator("resume", webhook.id)).rows()).toMatchObject([{ state: "enabled" }]);
  expect(await operator("create", receiver.url, "--types", "mint")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("types must be of wallet or index"),
  });
  expect(await operator("delete", theirs.webhook.id)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("there is no endpoint"),
  });

  const stop = new AbortController();
  // Tenants may not name private addresses here; the operator may.
  const config = { ...api.services.config, webhooks: { ...api.services.config.webhooks, allowPrivate: false } };
  const { pool, db } = api.database;
  const running = runWebhooks({ ...api.services, pool, db, config }, new Rounds(stop.signal));
  try {
    const record = (type: string, isOperators: boolean) =>
      pool.query("SELECT service.record_event($1, $2, NULL, $3, 31337, NULL, NULL, $4)", [
        ...[type, String(Math.random()), isOperators, JSON.stringify({ wallet: "0x00" })],
      ]);
    await record("chain.finalized", false);
    await record("wallet.halted", true);
    expect((await operator("test", webhook.id)).code).toBe(0);
    await until(() => receiver.received.length === 2);
    const events = receiver.received.map(({ path, headers, body }) => {
      const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `${value}`]));
      const { type } = new StandardWebhook(secret).verify(body, texts) as { type: string };
      return { path, type };
    });
    expect(events).toEqual(
      expect.arrayContaining([
        { path: "/operator", type: "wallet.halted" },
        { path: "/operator", type: "webhook.test" },
      ]),
    );
    const deliveries = (await operator("deliveries", webhook.id)).rows();
    expect(deliveries.map(({ type, state }) => [type, state]).sort()).toEqual([
      ["wallet.halted", "delivered"],
      ["webhook.test", "delivered"],
    ]);
    const shown = await run("endpoints", "show", theirs.webhook.id);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      ...{ state: "unverified", verificationTry: { fault: "address_refused" } },
    });
    expect(receiver.challenged).toEqual([]);
    expect((await operator("delete", webhook.id)).code).toBe(0);
    expect((await operator("list")).stdout).toBe("");
  } finally {
    stop.abort();
    await running;
  }
});
