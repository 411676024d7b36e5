// `npm run -s mintyard -- dev bench visitors`: the mint page on a slow CPU, and many visitors of one API process while
// tokens are minted; then consoles of one account with many collections.
// Options: --visitors 500 --tokens 200 --seconds 60 --loads 5 --collections 50 --consoles 20
// The last line is JSON with every figure. Exits with 1 when a bound of docs/measurements/pages.md is missed.
import { Agent, request } from "node:http";
import { json } from "node:stream/consumers";
import { parseArgs } from "node:util";
import type { Address } from "viem";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { startStackProcess } from "../../test/setup/stack.ts";
import { buildPages, deploySale } from "../../test/web/web-fixture.ts";
import { Figures } from "./figures.ts";
import { timeToInteractive } from "./time-to-interactive.ts";

const { values: options } = parseArgs({
  options: {
    visitors: { type: "string", default: "500" },
    tokens: { type: "string", default: "200" },
    seconds: { type: "string", default: "60" },
    loads: { type: "string", default: "5" },
    collections: { type: "string", default: "50" },
    consoles: { type: "string", default: "20" },
  },
});
const visitors = Number(options.visitors);
const tokens = Number(options.tokens);
const figures = new Figures();
/** The page's interval on a local chain (web/mint/use-sale.ts). */
const pollMs = 1_000;
/** The console's interval for the figures of all its collections (web/console/collections.ts). */
const consolePollMs = 4_000;

/** The contract's supply by time, oldest first. */
const supplies: { at: number; minted: number }[] = [{ at: 0, minted: 0 }];
/** Milliseconds of each read. */
const latencies: number[] = [];
let stalest = 0;
let wrong = 0;
let failed = 0;

await buildPages();
const stack = await startStackProcess();
try {
  const { createWallet, node } = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
  const owner = await createWallet();
  const collection = await deploySale(stack, owner.account.address, { supply: tokens + 100, perMint: 5 });
  const origin = new URL(stack.ready.rest).origin;
  const page = `${origin}/mint/goerli/${collection}`;

  const loads: number[] = [];
  for (let load = 0; load < Number(options.loads); load += 1) loads.push(await timeToInteractive(page, 4));
  figures.check("interactive_ms_median", median(loads), 1_000);
  figures.note("interactive_ms_most", Math.max(...loads));

  const wallets = await Promise.all(Array.from({ length: 4 }, createWallet));
  const end = performance.now() + Number(options.seconds) * 1_000;
  const agent = new Agent({ keepAlive: true, maxSockets: visitors });
  const watching = Promise.all(Array.from({ length: visitors }, (_, at) => visit(`${page}/sale`, agent, at, end)));
  await mintEvenly(node, wallets, collection, end - 5_000);
  await watching;
  agent.destroy();

  figures.note("visitors", visitors);
  figures.note("tokens_minted", supplies.at(-1)?.minted ?? 0);
  figures.note("reads", latencies.length);
  figures.note("reads_per_second", latencies.length / Number(options.seconds));
  figures.check("read_ms_p99", quantile(latencies, 0.99), 500);
  figures.note("read_ms_median", median(latencies));
  figures.check("counter_behind_ms_most", stalest, 2_000);
  figures.check("counters_ahead_of_the_chain", wrong, 0);
  figures.check("failed_reads", failed, 0);
  await watchConsoles(stack, owner.account.address, origin);
} finally {
  await stack.remove();
}
figures.print();

/** One visitor's page: reads the sale, shows it, and repeats a second later. */
async function visit(url: string, agent: Agent, at: number, until: number): Promise<void> {
  await pause((pollMs * at) / visitors);
  let shown: number | null = null;
  while (performance.now() < until) {
    const asked = performance.now();
    const minted = await readMinted(url, agent).catch(() => null);
    const now = performance.now();
    latencies.push(now - asked);
    if (minted === null) failed += 1;
    else {
      // Until now the page showed the earlier number, which was stale from the next token's mint on.
      const before = shown ?? minted;
      const next = supplies.find(({ minted: supply }) => supply > before);
      if (next) stalest = Math.max(stalest, now - next.at);
      if (minted > (supplies.at(-1)?.minted ?? 0) + 1) wrong += 1;
      shown = minted;
    }
    await pause(pollMs);
  }
}

async function readMinted(url: string, agent: Agent): Promise<number> {
  return Number(((await ask(url, agent)) as { minted: string }).minted);
}

function ask(url: string, agent: Agent, headers: Record<string, string> = {}): Promise<unknown> {
  return new Promise((done, fail) => {
    request(url, { agent, headers }, (response) => {
      void json(response).then((body) => {
        if (response.statusCode !== 200) return fail(new Error(String(response.statusCode)));
        done(body);
      }, fail);
    })
      .once("error", fail)
      .end();
  });
}

/** Consoles open in parallel, each showing every collection of the account. */
async function watchConsoles(
  stack: Awaited<ReturnType<typeof startStackProcess>>,
  owner: Address,
  origin: string,
): Promise<void> {
  const [count, consoles] = [Number(options.collections), Number(options.consoles)];
  const addresses: Address[] = [];
  while (addresses.length < count)
    addresses.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(10, count - addresses.length) }, (_, at) =>
          deploySale(stack, owner, { name: `Console ${addresses.length + at}` }),
        ),
      )),
    );
  const url = `${origin}/console/figures?${addresses.map((address) => `of=goerli:${address}`).join("&")}`;
  const agent = new Agent({ keepAlive: true, maxSockets: consoles });
  const times: number[] = [];
  let incomplete = 0;
  const until = performance.now() + Number(options.seconds) * 1_000;
  await Promise.all(
    Array.from({ length: consoles }, async (_, at) => {
      await pause((consolePollMs * at) / consoles);
      for (let next = performance.now(); next < until; next += consolePollMs) {
        await pause(next - performance.now());
        const asked = performance.now();
        const body = (await ask(url, agent, { Authorization: stack.ready.apiKey }).catch(() => null)) as {
          figures: { sale: unknown }[];
        } | null;
        times.push(performance.now() - asked);
        if (body?.figures.filter(({ sale }) => sale !== null).length !== count) incomplete += 1;
      }
    }),
  );
  agent.destroy();
  figures.note("consoles", consoles);
  figures.note("collections_of_a_console", count);
  figures.note("requests_a_second_of_a_console", 1_000 / consolePollMs);
  figures.note("figures_ms_median", median(times));
  figures.check("figures_ms_p99", quantile(times, 0.99), 500);
  figures.check("incomplete_figures", incomplete, 0);
}

/** Mints tokens one after another at even intervals until `end`, and records each once its block exists. */
async function mintEvenly(
  node: ReturnType<typeof connect>["node"],
  wallets: readonly Wallet[],
  to: Address,
  end: number,
): Promise<void> {
  const began = performance.now();
  const data = `0xa0712d68${"1".padStart(64, "0")}` as const;
  for (let token = 0; token < tokens; token += 1) {
    await pause(began + ((end - began) * token) / tokens - performance.now());
    const wallet = wallets[token % wallets.length];
    const hash = await wallet?.sendTransaction({ to, data, value: 10n ** 16n });
    if (!hash) continue;
    // The local chain makes the block before it answers with the hash.
    const at = performance.now();
    await node.waitForTransactionReceipt({ hash });
    supplies.push({ at, minted: token + 1 });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, Math.max(0, ms)));
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
