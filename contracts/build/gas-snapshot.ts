// Writes test/contracts/gas-snapshot.json and product-gas-snapshot.json, which tests compare exactly.
//   node contracts/build/gas-snapshot.ts
import { writeFileSync } from "node:fs";
import { measureGas } from "../../test/contracts/gas-scenario.ts";
import { measureProductGas } from "../../test/contracts/product-gas-scenario.ts";

for (const [file, report] of Object.entries({
  "gas-snapshot": await measureGas("edr"),
  "product-gas-snapshot": await measureProductGas("edr"),
})) {
  const path = new URL(`../../test/contracts/${file}.json`, import.meta.url);
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`);
  console.table(report);
}
process.exit(0);
