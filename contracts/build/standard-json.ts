// Source verification material: the standard-JSON input of each published contract, below artifacts/standard-json.
//   node contracts/build/standard-json.ts
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { buildPublished, published } from "./artifacts.ts";

type Source = { content: string };
type BuildInfo = { input: { language: string; settings: object; sources: Record<string, Source> } };
type Compiled = {
  errors?: { severity: string; formattedMessage: string }[];
  contracts: Record<string, Record<string, { metadata: string; evm: { bytecode: { object: string } } }>>;
};
const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };

const artifacts = await buildPublished();
const folder = new URL("../../artifacts/standard-json/", import.meta.url);
mkdirSync(folder, { recursive: true });
for (const name of Object.values(published)) {
  const { sourceName, buildInfoId, inputSourceName, bytecode } = await artifacts.readArtifact(name);
  const path = buildInfoId && (await artifacts.getBuildInfoPath(buildInfoId));
  if (!path || !inputSourceName) throw new Error(`no build info of ${name}`);
  const { input } = JSON.parse(readFileSync(path, "utf8")) as BuildInfo;
  const outputSelection = { [inputSourceName]: { [name]: ["metadata", "evm.bytecode.object"] } };
  const text = JSON.stringify({ ...input, settings: { ...input.settings, outputSelection } }, null, 2);
  // What a block explorer will do with it: compile, and compare.
  const compiled = JSON.parse(solc.compile(text)) as Compiled;
  const again = compiled.contracts[inputSourceName]?.[name]?.evm.bytecode.object;
  if (`0x${again}` !== bytecode) throw new Error(`${sourceName} does not compile to its artifact`);
  writeFileSync(new URL(`${name}.json`, folder), `${text}\n`);
  console.log(`artifacts/standard-json/${name}.json`);
}
