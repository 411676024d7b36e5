import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { appendFile, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Address, createPublicClient, http } from "viem";
import { beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { Client } from "../setup/client.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { makeArtwork, wallet } from "./artwork.ts";
import { deployedCollections } from "./deployed-collections.ts";
import { eventsOf, runLaunchCommand } from "./launch-process.ts";

// One folder, from its faults to its reveal; each test needs those above it.
const stack = leaseStack();
const dir = temporaryFolder();
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = join(dir, "art");
  // The stack was given its key, so it is nowhere in its folder.
  env = { MINTYARD_DATA_DIR: stack.dir, MINTYARD_KEY: stack.ready.apiKey };
  const placeholder = { name: "Not yet", image: "placeholder.png" };
  const settings = { reveal: "later", placeholder, presaleMintStart: "2035-01-01T00:00:00Z" } as const;
  await makeArtwork(folder, { count: 3, seed: Date.now(), settings });
  await writeFile(join(folder, "placeholder.png"), readFileSync(join(folder, "images/0.png")));
});

const launch = (...args: string[]) => runLaunchCommand(args, env);

function chain() {
  return createPublicClient({ transport: http(stack.ready.rpcUrl ?? "") });
}

const deployedFrom = (block: bigint) => deployedCollections(stack.ready, block);

test("faults of the folder are named before anything is uploaded", async () => {
  const broken = join(dir, "broken");
  await makeArtwork(broken, { count: 4, seed: 1, settings: { maxSupply: 9 } });
  await unlink(join(broken, "metadata/1.json"));
  await writeFile(join(broken, "images/2.png"), "no picture");
  const { code, stderr } = await launch(broken, "--yes");
  expect(code).toBe(1);
  expect(stderr).toContain("documents are missing: 1.json");
  expect(stderr).toContain("maxSupply is 9, but there are 3 documents");
  expect(stderr).toContain("pictures that cannot be read: images/2.png");
  expect(readdirSync(dir)).not.toContain("broken.launch.jsonl");
});

test("without a terminal nothing is paid unless --yes says so", async () => {
  const first = await chain().getBlockNumber();
  const { code, stderr } = await launch(folder);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("repeat the command with --yes") });
  expect(await deployedFrom(first + 1n)).toEqual([]);
});

test("a folder becomes one collection, whatever is repeated, and the chain has what was asked for", async () => {
  const first = await chain().getBlockNumber();
  const runs = [await launch(folder, "--yes", "--json"), await launch("resume", folder, "--yes", "--json")];
  expect(runs.map(({ code, stderr }) => ({ code, stderr }))).toEqual(runs.map(() => ({ code: 0, stderr: "" })));
  const addresses = runs.map((run) => eventsOf(run).find(({ event }) => event === "links")?.["address"]);
  expect(await deployedFrom(first + 1n)).toEqual([addresses[0]]);
  expect(addresses[1]).toBe(addresses[0]);
  const { deploymentConfig, runtimeConfig } = (await chain().readContract({
    address: addresses[0] as Address,
    abi: collectionAbi,
    functionName: "getInfo",
  })) as { deploymentConfig: { maxSupply: bigint }; runtimeConfig: { prerevealTokenURI: string; baseURI: string } };
  expect(deploymentConfig.maxSupply).toBe(3n);
  expect(runtimeConfig.baseURI).toBe("");
  const document = await fetch(`${stack.ready.gateway}/${runtimeConfig.prerevealTokenURI.slice(7)}`);
  expect(await document.json()).toMatchObject({ name: "Not yet", image: expect.stringMatching(/^ipfs:\/\/bafkrei/) });
  expect(readdirSync(folder).sort()).toEqual(["images", "launch.json", "metadata", "placeholder.png"]);
});

test("the documents on IPFS link the pictures byte for byte", async () => {
  const status = eventsOf(await launch("status", folder, "--json"));
  const uri = String(status.find(({ event }) => event === "files")?.["uri"]);
  const document = await fetch(`${stack.ready.gateway}/${uri.slice(7)}2`);
  const { image } = (await document.json()) as { image: string };
  const picture = await fetch(`${stack.ready.gateway}/${image.slice(7)}`);
  expect(Buffer.from(await picture.arrayBuffer())).toEqual(readFileSync(join(folder, "images/2.png")));
});

test("an allowlist is replaced, and its bad rows are named with their lines", async () => {
  const file = join(dir, "list.csv");
  await writeFile(file, `wallet,note\n${wallet},me\n0x12,short\n`);
  const refused = await launch("allowlist", "set", file, folder);
  expect(refused.stderr).toContain('line 3 "0x12"');
  await writeFile(file, `wallet,note\n${wallet},me\n${wallet.toLowerCase()},again\n`);
  const set = await launch("allowlist", "set", file, folder);
  expect(set).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("1 wallets, 1 repeats dropped") });
  const address = eventsOf(await launch("resume", folder, "--json")).find(({ event }) => event === "links")?.[
    "address"
  ];
  const query = `query ($collection: Address!, $wallet: Address!) {
    eligibility(chain: "goerli", collection: $collection, wallet: $wallet) { proof }
  }`;
  const { body } = await new Client(stack.ready).graphql(query, { collection: address, wallet });
  expect(body["data"]).toEqual({ eligibility: { proof: [] } });
});

test("a reveal sets the base URI once, and the withdrawal is printed for the owner", async () => {
  const revealed = [await launch("reveal", folder, "--json"), await launch("withdraw", folder, "--json")];
  expect(revealed.map(({ code }) => code)).toEqual([0, 0]);
  const { transaction } = eventsOf(revealed[1] ?? { code: 0, stdout: "", stderr: "" })[0] as {
    transaction: { to: Address; data: string };
  };
  expect(transaction.data).toBe("0x476343ee");
  const { runtimeConfig } = (await chain().readContract({
    address: transaction.to,
    abi: collectionAbi,
    functionName: "getInfo",
  })) as { runtimeConfig: { baseURI: string } };
  expect(runtimeConfig.baseURI).toMatch(/^ipfs:\/\/bafybei\w+\/$/);
});

test("a file that changed after its upload is an error that names it", async () => {
  await appendFile(join(folder, "images/1.png"), "!");
  const { code, stderr } = await launch(folder, "--yes");
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining("changed after the upload: images/1.png"),
  });
});

test("the key of the local service goes to no other host", async () => {
  const own = { MINTYARD_DATA_DIR: stack.dir };
  const { code, stderr } = await runLaunchCommand(["status", folder, "--url", "https://example.org"], own);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: "mintyard launch: MINTYARD_KEY is missing: it has the API key of https://example.org\n",
  });
});

test("every command of docs/launch.md works in its order", async () => {
  const page = readFileSync(new URL("../../docs/launch.md", import.meta.url), "utf8");
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
  expect(blocks.length).toBeGreaterThan(6);
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
    REST: stack.ready.rest,
    GRAPHQL: stack.ready.graphql,
    API_KEY: stack.ready.apiKey,
    OWNER: wallet,
  };
  const script = ["set -eu -o pipefail", ...blocks].join("\n");
  const { stdout, stderr } = await promisify(execFile)("bash", ["--norc", "-c", script], {
    cwd: temporaryFolder(),
    env,
  });
  const lines = stdout.trim().split("\n");
  expect(lines[0], stderr).toBe("1");
  expect(lines).toContainEqual(expect.stringMatching(/^ipfs:\/\/bafybei\w+\/$/));
  expect(lines.at(-1)).toMatch(/^0x[0-9a-f]{40}$/);
});

/** How many uploads the account has, and the files among them. */
async function uploads(): Promise<number> {
  const { body } = await new Client(stack.ready).graphql("{ viewer { uploads(first: 100) { nodes { cid } } } }");
  return (body as { data: { viewer: { uploads: { nodes: unknown[] } } } }).data.viewer.uploads.nodes.length;
}

test("a dry run says the cost and the address of the launch, and uploads nothing", async () => {
  const planned = join(dir, "planned");
  const settings = { reveal: "later", placeholder: { name: "Not yet", image: "images/0.png" } } as const;
  await makeArtwork(planned, { count: 3, seed: Date.now() + 1, settings });
  const before = await uploads();
  const dry = await launch(planned, "--dry-run", "--json");
  expect({ code: dry.code, stderr: dry.stderr }).toEqual({ code: 0, stderr: "" });
  expect(await uploads()).toBe(before);
  const plan = (run: typeof dry) => eventsOf(run).find(({ event }) => event === "dry_run");
  const done = await launch(planned, "--yes", "--json");
  expect(done.code, done.stderr).toBe(0);
  expect(plan(dry)?.["predictedAddress"]).toBe(plan(done)?.["predictedAddress"]);
  expect(eventsOf(done).find(({ event }) => event === "links")?.["address"]).toBe(plan(dry)?.["predictedAddress"]);
  // Once it is deployed, it only says so.
  const again = await launch(planned, "--dry-run", "--json");
  expect(eventsOf(again).map(({ event }) => event)).not.toContain("sent");
});

test("a folder from anywhere publishes nothing of this machine, and its journal pays for nothing, without being asked about", async () => {
  const hostile = join(dir, "hostile");
  await writeFile(join(dir, "secret.png"), readFileSync(join(folder, "images/0.png")));
  const settings = { reveal: "later", placeholder: { name: "Not yet", image: "../secret.png" } } as const;
  await makeArtwork(hostile, { count: 3, seed: Date.now() + 2, settings });
  const before = await uploads();
  for (const option of ["--dry-run", "--yes"]) {
    const { code, stderr } = await launch(hostile, option);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`--files-from "${dir}"`) });
  }
  expect(await uploads()).toBe(before);

  // A journal with a request of its own: of another user here, who had it asked about.
  const first = await chain().getBlockNumber();
  const cut = await launch(hostile, "--files-from", dir);
  expect(cut.stderr).toContain("repeat the command with --yes");
  const journal = join(dir, "hostile.launch.jsonl");
  const steps = readFileSync(journal, "utf8").trim().split("\n");
  const input = { chain: "goerli", name: "Not mine", owner: wallet, treasury: wallet, idempotencyKey: "x" };
  const intent = { step: "deploy_intent", at: "", input, predictedAddress: wallet };
  await writeFile(journal, `${steps.join("\n")}\n${JSON.stringify(intent)}\n`);
  const asked = await launch(hostile, "--files-from", dir, "--yes");
  expect(asked).toMatchObject({ code: 1, stderr: expect.stringMatching(/"Not mine".*--trust-journal/s) });
  expect((await launch("reveal", hostile)).stderr).toContain("not written by you");
  // Even where it is trusted, the request has to be the folder's own.
  const trusted = await launch(hostile, "--files-from", dir, "--yes", "--trust-journal");
  expect(trusted).toMatchObject({ code: 1, stderr: expect.stringContaining("is not what launch.json asks for") });
  expect(await deployedFrom(first + 1n)).toEqual([]);
});
