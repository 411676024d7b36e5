import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { measureGas } from "./gas-scenario.ts";
import { measureProductGas } from "./product-gas-scenario.ts";

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

/** Of a clone, called directly; a batch is measured against as many single calls through the operator. */
const productTargets = { deploy721: 200_000, deploy1155: 200_000, mint721: 104_500, mint1155: 105_000 } as const;
const batchOfSingle = 0.7;

for (const network of ["edr", "osaka"] as const) {
  test(`no call of a product costs more gas than committed (${network})`, async () => {
    const report = await measureProductGas(network);
    const committed = JSON.parse(readFileSync(new URL("product-gas-snapshot.json", import.meta.url), "utf8"));
    expect(report, "changed on purpose? node contracts/build/gas-snapshot.ts").toEqual(committed);
    for (const [name, target] of Object.entries(productTargets))
      expect(report.clone[name], name).toBeLessThanOrEqual(target);
    const { batch20Of721 = Number.NaN, mint721 = Number.NaN } = report.operator;
    expect(batch20Of721 / (20 * mint721)).toBeLessThanOrEqual(batchOfSingle);
  });
}
