import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { measureGas } from "./gas-scenario.ts";

/** contracts.md section 6, for a clone. */
const targets = {
  deploy: 160_000,
  mint1: 76_200,
  mint5: 84_000,
  mint20: 113_000,
  presale1k: 84_700,
  presale5k: 86_700,
  transferFirst: 59_700,
  transferNext: 67_000,
  reserve20: 118_500,
  reveal: 113_000,
  withdraw: 37_000,
} as const;

for (const network of ["edr", "osaka"] as const) {
  test(`no call of a collection costs more gas than committed (${network})`, async () => {
    const report = await measureGas(network);
    const committed = JSON.parse(readFileSync(new URL("gas-snapshot.json", import.meta.url), "utf8"));
    expect(report, "changed on purpose? node contracts/build/gas-snapshot.ts").toEqual(committed);
    for (const [name, target] of Object.entries(targets)) {
      expect(report.clone[name], name).toBeLessThanOrEqual(target);
    }
  });
}
