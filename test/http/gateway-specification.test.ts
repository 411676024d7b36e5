import { readFile } from "node:fs/promises";
import { CarReader } from "@ipld/car/reader";
import { decode as decodeCbor } from "@ipld/dag-cbor";
import { decode as decodeJson } from "@ipld/dag-json";
import { sha256 } from "multiformats/hashes/sha2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { type Check, gatewayChecks } from "./gateway-checks.ts";
import { storeFixtures } from "./gateway-fixtures.ts";

// The gateway by its specifications, through the whole server: docs/gateway.md has the table of what is held.
let server: ApiServer;
let checks: Check[];
beforeAll(async () => {
  server = await ApiServer.start();
  checks = gatewayChecks(await storeFixtures(server.services));
});
afterAll(() => server?.close());

const ask = async ({ path, method = "GET", headers = {} }: Pick<Check, "path" | "method" | "headers">) =>
  await fetch(`${server.url}/ipfs/${path}`, { method, headers, redirect: "manual" });

/** What of a check is not so. */
async function faultsOf(check: Check): Promise<string[]> {
  const answer = await ask(check);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const faults: string[] = [];
  if (check.status !== undefined && ![check.status].flat().includes(answer.status)) faults.push(`is ${answer.status}`);
  for (const [name, wanted] of Object.entries(check.shows ?? {})) {
    const shown = answer.headers.get(name);
    const fits = wanted instanceof RegExp ? wanted.test(shown ?? "") : shown === wanted;
    if (!fits) faults.push(`${name} is ${shown}, not ${wanted}`);
  }
  if (check.otherTag !== undefined) {
    const other = await ask({ path: check.otherTag });
    await other.body?.cancel();
    if (answer.headers.get("etag") === other.headers.get("etag")) faults.push("has the tag of another answer");
  }
  return [...faults, ...(await bodyFaults(check.body, bytes))];
}

async function bodyFaults(wanted: Check["body"], bytes: Uint8Array): Promise<string[]> {
  if (wanted === undefined) return [];
  if (wanted instanceof Uint8Array) {
    return Buffer.compare(bytes, wanted) === 0
      ? []
      : [`has other bytes: ${Buffer.from(bytes).toString().slice(0, 80)}`];
  }
  if (wanted instanceof RegExp) return wanted.test(Buffer.from(bytes).toString()) ? [] : [`its text is not ${wanted}`];
  if ("car" in wanted) return await carFaults(wanted, bytes);
  const data = "json" in wanted ? decodeJson(bytes) : decodeCbor(bytes);
  return plainText(data) === plainText("json" in wanted ? wanted.json : wanted.cbor) ? [] : ["has other data"];
}

/** Names in order: codecs sort them in different ways. */
function plainText(data: unknown): string {
  return JSON.stringify(data, (_name, value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

async function carFaults(wanted: Extract<Check["body"], { car: unknown }>, bytes: Uint8Array): Promise<string[]> {
  const reader = await CarReader.fromBytes(bytes);
  const cids: string[] = [];
  for await (const { cid, bytes } of reader.blocks()) {
    if (Buffer.compare((await sha256.digest(bytes)).bytes, cid.multihash.bytes) !== 0)
      return [`${cid} has another hash`];
    cids.push(`${cid}`);
  }
  const roots = (await reader.getRoots()).map(String);
  if (wanted.roots && wanted.roots.join() !== roots.join()) return [`has the roots ${roots}`];
  const list = (items: readonly unknown[]) => (wanted.anyOrder ? items.map(String).sort() : items).join();
  return list(cids) === list(wanted.car) ? [] : [`has the blocks ${cids}`];
}

test("every check of the specifications holds, but for those that have a reason", async () => {
  const wrong: string[] = [];
  for (const check of checks) {
    const faults = await faultsOf(check).catch((error: unknown) => [`${error}`]);
    const name = `${check.section}: ${check.what} (/ipfs/${check.path})`;
    if (check.not === undefined && faults.length > 0) wrong.push(`${name} ${faults.join("; ")}`);
    if (check.not !== undefined && faults.length === 0) wrong.push(`${name} holds, so its reason is out of date`);
  }
  expect(wrong).toEqual([]);
});

test("docs/gateway.md counts the checks by section and has each reason", async () => {
  const page = await readFile("docs/gateway.md", "utf8");
  const sections = Map.groupBy(checks, ({ section }) => section);
  const rows = [...sections].map(([section, of]) => {
    const left = of.filter(({ not }) => not !== undefined).length;
    return `| ${section} | ${of.length - left} | ${left || ""} |`.replace("|  |", "| |");
  });
  const held = checks.filter(({ not }) => not === undefined).length;
  expect(held).toBeGreaterThanOrEqual(220);
  for (const row of [...rows, `| **together** | ${held} | ${checks.length - held} |`]) expect(page).toContain(row);
});
