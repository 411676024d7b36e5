import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

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
  const own = /^(POSTGRES_(USER|DB|PASSWORD)|PROXY_PORT|API_UPSTREAM|NODE_OPTIONS)$/;
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

test("what the image, the compose file and the units start and copy is there", () => {
  const texts = [compose, read("deploy/Dockerfile"), ...units.map(({ text }) => text)];
  const programs = texts.flatMap((text) =>
    [...text.matchAll(/\b((?:src|bin)\/[\w-]+\.ts)\b/g)].map(([, path]) => path),
  );
  expect(new Set(programs).size).toBeGreaterThanOrEqual(3);
  const copied = [...read("deploy/Dockerfile").matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list]) =>
    (list ?? "").split(" "),
  );
  const mounted = [...compose.matchAll(/"\.\/([\w.-]+):/g)].map(([, path]) => `deploy/${path}`);
  expect([...programs, ...copied, ...mounted].filter((path) => !existsSync(join(root, path ?? "")))).toEqual([]);
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

const hasCompose = (() => {
  try {
    execFileSync("docker", ["compose", "version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!hasCompose)("docker compose accepts the file", () => {
  const values = { POSTGRES_PASSWORD: "a", KEY_PEPPER: "b", PUBLIC_URL: "http://x", RPC_URL_POLYGON: "http://x" };
  execFileSync("docker", ["compose", "-f", join(root, "deploy/compose.yaml"), "config", "-q"], {
    env: { ...process.env, ...values },
  });
});
