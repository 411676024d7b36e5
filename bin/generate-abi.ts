// Writes the modules of contracts/abi that are compiled from the Solidity sources.
//   node bin/generate-abi.ts
import { writeFileSync } from "node:fs";
import { abiModules } from "../contracts/build/artifacts.ts";

for (const [file, text] of Object.entries(await abiModules())) {
  const path = new URL(`../contracts/abi/${file}.ts`, import.meta.url);
  writeFileSync(path, text);
  console.log(`contracts/abi/${file}.ts`);
}
