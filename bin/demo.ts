import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readyLine } from "../src/embedded/ready-info.ts";
import { startStack } from "../src/embedded/stack.ts";
import { freePorts } from "../src/free-port.ts";
import { launchCollection } from "./demo-launch.ts";
import { mintForClient } from "./demo-mint.ts";
import { untilStopAsked } from "./start.ts";

/**
 * `npm run demo`: the whole service in a temporary folder, one launch from images to withdrawal and one mint on a
 * client's behalf over its public interfaces. Every step is printed with its result and its duration.
 */
export async function runDemo(options: { keep?: boolean }): Promise<number> {
  const stopAsked = untilStopAsked();
  const dir = await mkdtemp(join(tmpdir(), "mintyard-demo-"));
  const children: string[] = [];
  const remember = (line: string) => {
    children.push(line);
    if (children.length > 200) children.shift();
  };
  const started = performance.now();
  process.stdout.write(
    "Mintyard demo: PostgreSQL, an Ethereum node, IPFS, indexer, worker and API, all on this machine.\n\n",
  );
  try {
    const [port = 0] = await freePorts(1);
    const stack = await startStack(
      { ...process.env, ...withoutNetworks(), PORT: String(port), MINTYARD_DATA_DIR: dir, LOG_LEVEL: "warn" },
      remember,
    );
    try {
      process.stdout.write(
        `  stack ready  ${((performance.now() - started) / 1000).toFixed(1)} s  ${stack.ready.graphql}\n`,
      );
      const interrupted = stopAsked.then(() => {
        throw new Error("stopped before the end");
      });
      const collection = await Promise.race([launchCollection(stack.ready), interrupted]);
      await Promise.race([mintForClient(stack.ready), interrupted]);
      process.stdout.write(`\nDone in ${((performance.now() - started) / 1000).toFixed(1)} s.\n`);
      if (!options.keep) process.stdout.write("`npm run demo -- --keep` leaves its console and its mint page open.\n");
      if (options.keep) {
        const { console, chains } = stack.ready;
        const mint = console.replace(/console$/, `mint/${chains[0]?.name}/${collection}`);
        process.stdout.write(`\n${readyLine(stack.ready)}`);
        process.stdout.write(`\n  console    ${console}\n  mint page  ${mint}\n\nStill running; Ctrl-C ends it.\n`);
        await stopAsked;
      }
    } finally {
      await stack.stop();
    }
    return 0;
  } catch (error) {
    process.stderr.write(`\nWhat the processes said last:\n${children.join("\n")}\n`);
    throw error;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** The demo never touches a real network or account, whatever the shell's environment configures. */
function withoutNetworks(): Record<string, undefined> {
  const names = Object.keys(process.env).filter((name) =>
    /^(RPC_URL_|DATABASE_URL$|PINATA_|MINTYARD_LOCAL_CHAINS$)/.test(name),
  );
  return Object.fromEntries(names.map((name) => [name, undefined]));
}
