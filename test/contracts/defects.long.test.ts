import { expect, test } from "vitest";
import { defects } from "../../contracts/build/defects.ts";
import { runWithDefect } from "../../contracts/build/run-defect.ts";

for (const defect of defects) {
  test(`the differential test sees that ${defect.name}`, { timeout: 600_000 }, () => {
    expect(runWithDefect(defect, 64).passed).toBe(false);
  });
}
