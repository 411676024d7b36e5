import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Address, createPublicClient, http } from "viem";
import { beforeAll, expect, test } from "vitest";
import { createClient } from "../../client/src/client.ts";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { deployedCollections } from "../launch/deployed-collections.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

// The tarball in an empty project, which has nothing of this repository but its compiler and what the README has installed beside.
const root = join(import.meta.dirname, "../..");
const dir = temporaryFolder();
const project = join(dir, "project");
const stack = leaseStack();
const compilers = ["typescript-native", "typescript"];
let files: string[];

const run = (program: string, args: readonly string[], cwd: string, env: Record<string, string> = {}) =>
  execFileSync(program, args, { cwd, encoding: "utf8", env: { ...process.env, ...env } });

beforeAll(() => {
  mkdirSync(project);
  const packed = run("npm", ["pack", "./client", "--json", "--pack-destination", dir], root);
  // A list, or an object by name, by the version of npm; scripts print their names first.
  const made = Object.values(JSON.parse(packed.slice(packed.search(/^[[{]/m))) as Record<string, { filename: string }>);
  const filename = made[0]?.filename ?? "";
  files = run("tar", ["tzf", join(dir, filename)], dir)
    .trim()
    .split("\n");
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(dir, filename)], project);
  symlinkSync(join(root, "node_modules/gql.tada"), join(project, "node_modules/gql.tada"));
  const compilerOptions = {
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true },
    ...{ target: "ES2022", module: "NodeNext", lib: ["ES2023", "DOM", "DOM.Iterable"], skipLibCheck: false },
    ...{ types: ["node"], typeRoots: [join(root, "node_modules/@types")] },
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
});

/** The program's exit code and what it said. */
function check(compiler: string): string {
  try {
    return run(process.execPath, [join(root, "node_modules", compiler, "bin/tsc"), "-p", project], project);
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

test("the tarball has code, types, licence and README, and needs no package", () => {
  const names = files.map((file) => file.replace("package/", ""));
  expect(names).toEqual(expect.arrayContaining(["dist/client.js", "dist/client.d.ts", "LICENSE", "README.md"]));
  expect(names.filter((name) => !/^(dist\/.*\.(js|d\.ts)|package\.json|LICENSE|README\.md)$/.test(name))).toEqual([]);
  const manifest = JSON.parse(readFileSync(join(project, "node_modules/@mintyard/client/package.json"), "utf8"));
  expect(manifest).toMatchObject({ name: "@mintyard/client", sideEffects: false });
  expect(manifest.dependencies).toBeUndefined();
  const types = readFileSync(join(project, "node_modules/@mintyard/client/dist/client.d.ts"), "utf8");
  expect(types).not.toMatch(/\.ts"/);
});

test("the README's examples have no fault of types, and the quick start deploys a collection on a real server", async () => {
  const readme = readFileSync(join(root, "client/README.md"), "utf8");
  const examples = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);
  expect(examples).toHaveLength(4);
  for (const [at, code] of examples.entries())
    writeFileSync(join(project, at === 0 ? "quick-start.ts" : `example-${at}.ts`), code);
  for (const compiler of compilers) expect(check(compiler), compiler).toBe("");
  writeFileSync(
    join(project, "wrong.ts"),
    `import { createClient } from "@mintyard/client";
import { graphql } from "@mintyard/client/graphql";
const mintyard = createClient({ url: "http://127.0.0.1" });
await mintyard.get("/v0/nfts", { query: { chain: 5 } });
(await mintyard.get("/v0/nfts", { query: { chain: "polygon" } })).tokens;
(await mintyard.graphql(graphql(\`{ chains { name } }\`))).chains?.[0]?.nothing;
`,
  );
  for (const compiler of compilers)
    expect([...check(compiler).matchAll(/^wrong\.ts\((\d+)/gm)].map(([, line]) => line)).toEqual(["4", "5", "6"]);

  const { rest, apiKey, rpcUrl } = stack.ready;
  const env = { MINTYARD_URL: new URL(rest).origin, MINTYARD_KEY: apiKey };
  const [address = "", name, supply] = run(process.execPath, ["quick-start.ts"], project, env).trim().split(" ");
  expect([name, supply]).toEqual(["Keys", "3"]);
  const chain = createPublicClient({ transport: http(rpcUrl ?? "") });
  const read = { address: address as Address, abi: collectionAbi } as const;
  expect(await chain.readContract({ ...read, functionName: "symbol" })).toBe("KEY");
  expect(await chain.readContract({ ...read, functionName: "baseURI" })).toMatch(/^ipfs:\/\/bafy/);
});

test("a deployment whose answers are lost is one collection", async () => {
  const { rest, apiKey } = stack.ready;
  const before = await deployedCollections(stack.ready);
  let lost = 0;
  const lossy: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    if (lost === 2) return response;
    lost += 1;
    await response.arrayBuffer();
    throw new TypeError("fetch failed");
  };
  const mintyard = createClient({ url: new URL(rest).origin, key: apiKey, fetch: lossy });
  const owner = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";
  const body = {
    ...{ chain: "goerli", name: "Lost", symbol: "LOST", max_supply: 3, tokens_per_mint: 1, mint_price: 0.01 },
    ...{ owner_address: owner, treasury_address: owner, public_mint_start: "2036-01-01T00:00:00+00:00" },
  };
  const soon = { pauseMs: 1 };
  const { transaction_hash } = await mintyard.transact("post", "/v0/contracts/collections", { body }, soon);
  const { contract_address } = await mintyard.waitUntilDeployed("goerli", transaction_hash);
  const after = await deployedCollections(stack.ready);
  expect(after.filter((address) => !before.includes(address))).toEqual([contract_address.toLowerCase()]);
  expect(lost).toBe(2);
});
