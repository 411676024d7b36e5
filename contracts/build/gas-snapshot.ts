// Writes test/contracts/gas-snapshot.json, which a test compares exactly.
//   node contracts/build/gas-snapshot.ts
import { writeFileSync } from "node:fs";
import { measureGas } from "../../test/contracts/gas-scenario.ts";

const report = await measureGas("edr");
const path = new URL("../../test/contracts/gas-snapshot.json", import.meta.url);
writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
console.table(report);
process.exit(0);
