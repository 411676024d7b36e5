// `npm run fuzz:http`: the long run of test/fuzz/http.test.ts. FUZZ_REQUESTS and FUZZ_SEED change and repeat it.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const vitest = join(root, "node_modules/vitest/vitest.mjs");
const { status } = spawnSync(process.execPath, [vitest, "run", "test/fuzz/http.test.ts"], {
  cwd: root,
  stdio: "inherit",
  env: { FUZZ_REQUESTS: "100000", ...process.env },
});
process.exitCode = status ?? 1;
