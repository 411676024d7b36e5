import { execFile, execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cp, rm, symlink } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { basename, join, resolve } from "node:path";
import { promisify } from "node:util";
import ipaddr from "ipaddr.js";
import { pino } from "pino";
import { expect, test } from "vitest";
import { fewArenas } from "../src/compact-heap.ts";
import { readRanges } from "../src/config/values.ts";
import { nodeFlags } from "../src/embedded/supervisor.ts";
import { guideOf } from "../src/errors/error-guide.ts";
import { errorTable, isErrorCode } from "../src/errors/errors.ts";
import { clientAddress, defaultGateways, warnOfTrustedGateway } from "../src/http/client-address.ts";
import { makeCertificate, nginxVersion, writeConfiguration } from "./setup/nginx.ts";
import { temporaryFolder } from "./setup/temporary-folder.ts";
import { slowness } from "./setup/wait.ts";

const root = resolve(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const compose = read("deploy/compose.yaml");
const units = readdirSync(join(root, "deploy/systemd")).map((name) => ({ name, text: read(`deploy/systemd/${name}`) }));
/** `.env.example` names exactly what is read, which test/drift.test.ts proves; a chain's variables once, for one chain. */
const named = [...read(".env.example").matchAll(/^(?:# )?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name ?? "");
const perChain = named.flatMap((name) => (name.endsWith("_POLYGON") ? [name.slice(0, -"POLYGON".length)] : []));
const isKnown = (name: string) =>
  named.includes(name) ||
  perChain.some((prefix) => name.startsWith(prefix) && /^[A-Z]+$/.test(name.slice(prefix.length)));

test("every variable of the compose file and the units is one that the service reads", () => {
  const own =
    /^(POSTGRES_(USER|ADMIN_PASSWORD|PASSWORD)|SERVICE_PASSWORD|RELAYER_KEY_FILE|PROXY_(PORT|LISTEN|TLS)|SETTINGS_FILE|API_SERVERS|NODE_OPTIONS|MALLOC_ARENA_MAX)$/;
  const names = [
    ...[...compose.matchAll(/\$\{(\w+)/g)].map(([, name]) => name ?? ""),
    ...[...compose.matchAll(/\b([A-Z][A-Z0-9_]{3,}): /g)].map(([, name]) => name ?? ""),
    ...units.flatMap(({ text }) =>
      [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(([, list]) =>
        (list ?? "").split(" ").map((pair) => pair.split("=")[0] ?? ""),
      ),
    ),
  ];
  expect(names.length).toBeGreaterThan(20);
  expect([...new Set(names)].filter((name) => !isKnown(name) && !own.test(name))).toEqual([]);
});

test("settings that the compose file does not name reach every process from settings.env, but for the signer", () => {
  const named = composeBlocks();
  expect(compose.slice(0, compose.indexOf("x-environment"))).toMatch(
    /^ {2}env_file: \[\{ path: "\$\{SETTINGS_FILE:-\.\.\/settings\.env\}", required: false \}\]$/m,
  );
  for (const name of ["api", "worker", "indexer-polygon"]) expect(named.get(name)).toMatch(/^ {4}<<: \*service$/m);
  expect(named.get("signer")).not.toMatch(/\*service|env_file/);
  // A name that is set to nothing there would win over the file.
  for (const name of ["IPFS_STORE", "AWS_SECRET_ACCESS_KEY", "IPFS_CACHE_BYTES"]) expect(compose).not.toContain(name);
});

test("processes beside the database are started with the memory settings of `npm start`", () => {
  const [semiSpace] = nodeFlags.filter((flag) => flag.startsWith("--max-semi-space-size"));
  const settings = [`NODE_OPTIONS=${semiSpace}`, `MALLOC_ARENA_MAX=${fewArenas.MALLOC_ARENA_MAX}`];
  const texts = units.filter(({ name }) => name !== "mintyard-signer.service").map(({ text }) => text);
  expect(texts).toHaveLength(3);
  for (const text of [read("deploy/Dockerfile"), ...texts])
    for (const setting of settings) expect(text.replaceAll("Environment=", " ").split(/\s+/)).toContain(setting);
});

test("what the image, the compose file and the units start and copy is there", () => {
  const texts = [compose, read("deploy/Dockerfile"), ...units.map(({ text }) => text)];
  const programs = texts.flatMap((text) =>
    [...text.matchAll(/\b((?:src|bin)\/[\w/-]+\.ts)\b/g)].map(([, path]) => path),
  );
  expect(new Set(programs).size).toBeGreaterThanOrEqual(4);
  const copied = [...read("deploy/Dockerfile").matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list]) =>
    (list ?? "").split(" "),
  );
  const mounted = [...compose.matchAll(/[" ]\.\/([\w.-]+):/g)].map(([, path]) => `deploy/${path}`);
  expect([...programs, ...copied, ...mounted].filter((path) => !existsSync(join(root, path ?? "")))).toEqual([]);
});

test(
  "the image's stage for the pages has all that they are built from",
  async () => {
    const [, stage = ""] = /^FROM \S+ AS pages\n([\s\S]*?)^FROM /m.exec(read("deploy/Dockerfile")) ?? [];
    const folder = temporaryFolder();
    for (const [, list = "", to = ""] of stage.matchAll(/^COPY (.+) (\S+)$/gm))
      for (const path of list.split(" ")) {
        const target = join(folder, to, to.endsWith("/") ? basename(path) : "");
        await cp(join(root, path), target, { recursive: true, filter: (file) => !file.endsWith("/dist") });
      }
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    const [, command = ""] = /^RUN node (\S+)$/m.exec(stage) ?? [];
    const { stdout } = await promisify(execFile)(process.execPath, [command], { cwd: folder });
    expect(stdout).toContain("web pages: built");
    expect(existsSync(join(folder, "web/dist/manifest.json"))).toBe(true);
  },
  120_000 * slowness,
);

/** The compose file's services and anchors with their text. */
function composeBlocks(): Map<string, string> {
  const services = compose.slice(0, compose.indexOf("\nnetworks:"));
  return new Map(
    [...services.matchAll(/^(?: {2})?([a-z][\w-]*):.*\n((?: {4}.*\n| {2}[A-Za-z<][\w<]*: .*\n)*)/gm)].map(
      ([, name = "", text = ""]) => [name, text] as const,
    ),
  );
}

test("the worker alone may ask the signer: nobody else has its token, its address or its socket", () => {
  const reaches = /SIGNER_(TOKEN|URL)|signer:\/run/;
  expect([...composeBlocks()].filter(([, text]) => reaches.test(text)).map(([name]) => name)).toEqual([
    "signer",
    "worker",
  ]);
  const settings = /^EnvironmentFile=\/etc\/mintyard\/worker\.env$/m;
  expect(units.filter(({ text }) => settings.test(text)).map(({ name }) => name)).toEqual(["mintyard-worker.service"]);
});

test("only the signer gets the relayer's key: a user of its own, no network, no database", () => {
  const blocks = composeBlocks();
  const withKey = [...blocks].filter(([, text]) => /RELAYER_KEY|relayer-key/.test(text)).map(([name]) => name);
  expect(withKey).toEqual(["signer"]);
  const signer = blocks.get("signer") ?? "";
  expect(signer).toMatch(/^ {4}network_mode: none$/m);
  expect(signer).toMatch(/^ {4}user: "1001:1000"$/m);
  expect(signer).not.toMatch(/DATABASE_URL|RPC_URL|\*environment|data:/);
  const unit = units.find(({ name }) => name === "mintyard-signer.service")?.text ?? "";
  for (const line of ["User=mintyard-signer", "PrivateNetwork=true", "RestrictAddressFamilies=AF_UNIX"])
    expect(unit.split("\n")).toContain(line);
  expect(units.filter(({ text }) => /RELAYER_KEY|relayer-key/.test(text)).map(({ name }) => name)).toEqual([
    "mintyard-signer.service",
  ]);
});

test("a process that is stopped has the time that it takes to drain", () => {
  const number = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1]);
  const api = units.find(({ name }) => name.startsWith("mintyard-api"))?.text ?? "";
  for (const [text, stop] of [
    [compose, number(compose, /stop_grace_period: (45)s/)],
    [api, number(api, /TimeoutStopSec=(\d+)/)],
  ] as const) {
    const drain = number(text, /SHUTDOWN_DELAY_MS[:=] ?"?(\d+)/) + number(text, /SHUTDOWN_GRACE_MS[:=] ?"?(\d+)/);
    expect(drain).toBeGreaterThan(5_000);
    expect(stop * 1_000).toBeGreaterThan(drain + 1_500);
  }
});

test("the proxy repeats no request that would do something twice", () => {
  const template = read("deploy/nginx.conf.template");
  const [, path = ""] = /location ~ (\S+) \{\s+proxy_next_upstream error timeout non_idempotent/.exec(template) ?? [];
  const repeats = new RegExp(path);
  for (const safe of ["/v0/contracts/collections", "/v0/files", "/v0/metadata/directory"])
    expect(repeats.test(safe)).toBe(true);
  for (const unsafe of ["/graphql", "/v0/signup", "/v0/me/keys", "/v0/contracts/collectionsx"])
    expect(repeats.test(unsafe)).toBe(false);
  expect(template.match(/non_idempotent/g)).toHaveLength(1);
});

/** What the API makes of a request that nginx passes on, as the template tells it to. */
function addressBehindProxy(trusted: string, proxy: string, seenByProxy: string, sent: string): string | null {
  expect(read("deploy/nginx.conf.template")).toContain("X-Forwarded-For $proxy_add_x_forwarded_for;");
  const headers = { "x-forwarded-for": `${sent}, ${seenByProxy}` };
  const request = { headers, socket: { remoteAddress: `::ffff:${proxy}` } } as unknown as IncomingMessage;
  return clientAddress(request, readRanges({ TRUSTED_PROXIES: trusted }, "TRUSTED_PROXIES"));
}

test("with the compose file no client chooses its address, whether it comes from outside or by the gateway", async () => {
  const trusted = /TRUSTED_PROXIES: (?:\$\{TRUSTED_PROXIES:-)?([\d./,]+)/.exec(compose)?.[1] ?? "";
  const proxy = /ipv4_address: ([\d.]+)/.exec(compose)?.[1] ?? "172.30.77.7";
  const gateway = "172.30.77.1";
  expect(addressBehindProxy(trusted, proxy, "203.0.113.9", "198.51.100.1")).toBe("203.0.113.9");
  expect(addressBehindProxy(trusted, proxy, gateway, "198.51.100.1")).toBe(gateway);
  // No other container gets the proxy's address.
  const [network, bits] = ipaddr.parseCIDR(/ip_range: ([\d./]+)/.exec(compose)?.[1] ?? "0.0.0.0/0");
  expect(ipaddr.parse(proxy).match(network, bits)).toBe(false);
});

test("a trusted range that covers the network's gateway is named at start", async () => {
  const table = `Iface\tDestination\tGateway\neth0\t00000000\t014D1EAC\t0003\neth0\t004D1EAC\t00000000\t0001\n`;
  expect(defaultGateways(table)).toEqual(["172.30.77.1"]);
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => lines.push(line) });
  await warnOfTrustedGateway([], log);
  await warnOfTrustedGateway(["0.0.0.0/0"], log);
  const own = defaultGateways(existsSync("/proc/net/route") ? readFileSync("/proc/net/route", "latin1") : "");
  expect(lines.map((line) => JSON.parse(line).gateway)).toEqual(own);
});

test("nginx accepts the template, where one is installed, with TLS and without", async (context) => {
  if (nginxVersion === null) return context.skip("there is no nginx on this machine");
  const dir = temporaryFolder();
  const servers = "server 127.0.0.1:3001 max_fails=0; server 127.0.0.1:3002 max_fails=0;";
  const values = { API_SERVERS: servers, PROXY_LISTEN: "127.0.0.1:8080", PROXY_TLS: "" };
  for (const change of [{}, { PROXY_LISTEN: "127.0.0.1:8443 ssl http2", PROXY_TLS: makeCertificate(dir) }]) {
    const path = await writeConfiguration(dir, { ...values, ...change });
    const { status, stderr } = spawnSync("nginx", ["-t", "-p", dir, "-c", path], { encoding: "utf8" });
    expect(stderr).toContain("test is successful");
    expect(status).toBe(0);
  }
  await rm(dir, { recursive: true });
});

test("what nginx itself answers has the codes and texts of the API", () => {
  const template = read("deploy/nginx.conf.template");
  const mapOf = (name: string) =>
    new Map(
      [...(template.split(`$mintyard_${name} {`)[1]?.split("\n}")[0] ?? "").matchAll(/^ {2}(\S+) +"?(.*?)"?;$/gm)].map(
        ([, status = "", text = ""]) => [status, text] as const,
      ),
    );
  const [codes, fixes] = [mapOf("code"), mapOf("fix")];
  expect([...codes.keys()]).toEqual(["404", "408", "413", '"~^4"', "default"]);
  for (const [status, code] of codes) {
    if (!isErrorCode(code)) throw new Error(`${code} is no code of the API`);
    expect(fixes.get(status)).toBe(guideOf(code).fix);
    if (/^\d+$/.test(status)) expect(errorTable[code].status).toBe(Number(status));
  }
  // Every status that nginx gives by itself comes in this form.
  const named = /error_page ([\d ]+) @error;/.exec(template)?.[1]?.split(" ");
  for (const status of ["400", "404", "408", "413", "414", "502", "503", "504"]) expect(named).toContain(status);
});

test("package.json, the lockfile, the launcher, the image, the units and the guides name the same Node", () => {
  const major = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, number]) => number);
  const { engines, bin } = JSON.parse(read("package.json")) as { engines: { node: string }; bin: object };
  const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, object> };
  expect(lock.packages[""]).toMatchObject({ engines, bin });
  const named = {
    engines: major(engines.node, /^>=(\d+)$/g),
    launcher: major(read("bin/bootstrap.mjs"), /nodeVersion = "(\d+)\./g),
    launcherMajor: major(read("bin/bootstrap.mjs"), /nodeMajor = (\d+);/g),
    image: major(read("deploy/Dockerfile"), /^FROM node:(\d+)-/gm),
    units: units.flatMap(({ text }) => major(text, /^ExecStartPre=.* bin\/require-node\.mjs (\d+)$/gm)),
    readme: major(read("README.md"), /\(Node (\d+)\)/g),
    contributing: major(read("CONTRIBUTING.md"), /installs Node (\d+)/g),
    operations: major(read("docs/operations.md"), /Node (\d+) or newer/g),
  };
  expect(units.length).toBe(named.units.length);
  for (const [where, numbers] of Object.entries(named)) {
    expect(numbers.length, where).toBeGreaterThan(0);
    expect(new Set(numbers), where).toEqual(new Set(["24"]));
  }
});

const hasCompose = (() => {
  try {
    execFileSync("docker", ["compose", "version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!hasCompose)("docker compose accepts the file", () => {
  const values = {
    ...{ POSTGRES_PASSWORD: "a", KEY_PEPPER: "b", PUBLIC_URL: "http://x", RPC_URL_POLYGON: "http://x" },
    ...{ POSTGRES_ADMIN_PASSWORD: "c", SIGNER_TOKEN: "d", RELAYER_KEY_FILE: "/dev/null" },
    RELAYER_ADDRESS_POLYGON: `0x${"1".repeat(40)}`,
  };
  execFileSync("docker", ["compose", "-f", join(root, "deploy/compose.yaml"), "config", "-q"], {
    env: { ...process.env, ...values },
  });
});
