// `npm run -s mintyard -- dev bench launch`: a folder of many pictures through the command and through the browser,
// each interrupted once and resumed. Options: --files 10000 --megabytes 2000 --only command,browser
// The last line is JSON with every figure. Exits with 1 when a bound of docs/measurements/pages.md is missed.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { startStackProcess } from "../../test/setup/stack.ts";
import { buildPages } from "../../test/web/web-fixture.ts";
import { Figures } from "./figures.ts";
import { launchInBrowser } from "./launch-in-browser.ts";
import { launchWithCommand } from "./launch-with-command.ts";
import { makeFolder } from "./make-folder.ts";

const { values: options } = parseArgs({
  options: {
    files: { type: "string", default: "10000" },
    megabytes: { type: "string", default: "2000" },
    only: { type: "string", default: "command,browser" },
  },
});
const count = Number(options.files);
const bytesEach = Math.round((Number(options.megabytes) * 1_000_000) / count);
const wanted = new Set(options.only.split(","));
const figures = new Figures();

const dir = await mkdtemp(join(tmpdir(), "mintyard-bench-launch-"));
await buildPages();
const stack = await startStackProcess();
const database = new pg.Client({ connectionString: stack.ready.databaseUrl });
await database.connect();
try {
  const { code, output } = await stack.command(["keys", "create", "--tier", "scale", "--name", "bench"]);
  const key = /"secret":"([^"]+)"/.exec(output)?.[1];
  if (code !== 0 || !key) throw new Error(`no key: ${output}`);
  const stored = async (): Promise<number> => {
    const { rows } = await database.query<{ count: string }>("SELECT count(*) FROM service.upload WHERE kind = 'file'");
    return Number(rows[0]?.count);
  };
  for (const [name, run] of [
    ["command", launchWithCommand],
    ["browser", launchInBrowser],
  ] as const) {
    if (!wanted.has(name)) continue;
    const folder = join(dir, name);
    figures.say(`${name}: making ${count} files of ${bytesEach} bytes`);
    await makeFolder(folder, count, bytesEach);
    const before = await stored();
    await run({ stack, key, folder, count, bytesEach, figures, stored: async () => (await stored()) - before });
    await rm(folder, { recursive: true });
  }
} finally {
  await database.end();
  await stack.remove();
  await rm(dir, { recursive: true, force: true });
}
figures.print();
