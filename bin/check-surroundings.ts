// Checks of `mintyard doctor` that compare settings with the world around the service: clocks, blocks, factories.
import type pg from "pg";
import { zeroAddress } from "viem";
import type { Chain } from "../src/chains.ts";
import type { Config } from "../src/config/config.ts";
import { clockAction, clockToleranceSeconds, clockTrouble, readClockLead } from "../src/db/pool/clock.ts";
import type { Finding } from "../src/indexing/invariants.ts";
import { sendRpc } from "../src/indexing/json-rpc.ts";
import { NodeFault } from "../src/rpc/endpoint.ts";
import { openNodes } from "../src/rpc/nodes.ts";
import { calls, parseQuantity } from "../src/rpc/reads.ts";
import { askMarket } from "../src/transactions/chain/market.ts";

const limits = { timeoutMs: 10_000, maxAnswerBytes: 10_000_000 };

/** T1: this machine's clock agrees with the database's. */
export async function clocksAgree(client: pg.ClientBase): Promise<Finding> {
  const lead = await readClockLead(client);
  const trouble = clockTrouble(lead);
  return {
    id: "T1",
    title: trouble ?? "this machine's clock is the database's",
    fix: clockAction,
    faults: trouble ? 1 : 0,
    samples: [],
  };
}

/** T2: no endpoint's newest block is later than the database's clock. If that clock is ahead, T1 shows it. */
export async function blocksAreOfThePast(config: Config, client: pg.ClientBase): Promise<Finding> {
  const { rows } = await client.query<{ now: number }>("SELECT extract(epoch FROM clock_timestamp())::float8 AS now");
  const now = rows[0]?.now ?? 0;
  const wrong: string[] = [];
  // A local chain's time is moved on purpose.
  for (const chain of config.chains.filter(({ local }) => !local)) {
    for (const url of endpoints(chain)) {
      const block = (await ask(url, "eth_getBlockByNumber", ["latest", false])) as { timestamp?: string } | null;
      const ahead = Math.round(Number(block?.timestamp ?? Number.NaN) - now);
      if (ahead > clockToleranceSeconds) wrong.push(`${new URL(url).host} (${chain.name}): ${ahead} s ahead`);
    }
  }
  return {
    id: "T2",
    title:
      wrong.length === 0
        ? "no endpoint's newest block is from the future"
        : "the newest block of an endpoint is later than the database's clock",
    fix: "set the clock of PostgreSQL's machine by NTP (timedatectl set-ntp true), or name another endpoint in RPC_URL_<CHAIN>",
    faults: wrong.length,
    samples: wrong,
  };
}

/** F1: there is a contract at the address in FACTORY_<CHAIN>. */
export async function factoriesStand({ chains }: Config): Promise<Finding> {
  const wrong: string[] = [];
  const named = chains.filter(({ factory }) => factory !== null);
  for (const chain of named) {
    const [url] = endpoints(chain);
    const code = url ? await ask(url, "eth_getCode", [chain.factory?.address, "latest"]) : null;
    if (code === "0x") wrong.push(`${chain.factory?.address} on ${chain.name}`);
  }
  return {
    id: "F1",
    title: wrong.length === 0 ? "the factories are contracts" : "FACTORY_<CHAIN> names an address without a contract",
    fix: "name what `mintyard factory deploy` printed (not RELAYER_ADDRESS_<CHAIN>, not another chain's factory)",
    faults: named.length === 0 ? null : wrong.length,
    samples: wrong,
  };
}

/** E1: each endpoint answers the relay's calls, in the form in which the relay makes them. */
export async function endpointsAnswer({ chains }: Config): Promise<Finding> {
  const nodes = chains.flatMap((chain) => openNodes(chain).every.map((node) => ({ chain, node })));
  const wrong: string[] = [];
  for (const { chain, node } of nodes) {
    try {
      const balances = Array.from({ length: 16 }, () => calls.balance(zeroAddress));
      const { answers } = await askMarket(node, chain, balances);
      for (const answer of answers) parseQuantity(answer, "a balance");
    } catch (error) {
      if (!(error instanceof NodeFault)) throw error;
      wrong.push(`${node.name}: ${error.message}`);
    }
  }
  const short = nodes.map(({ node }) => node).filter(({ mostCalls }) => Number.isFinite(mostCalls));
  const notes = short.map(
    ({ name, mostCalls }) => `; ${name} takes ${mostCalls} calls in a request, so it is asked more often`,
  );
  return {
    id: "E1",
    title:
      (wrong.length === 0 ? "the endpoints answer what the relay asks" : "an endpoint does not answer the relay") +
      notes.join(""),
    fix: "name another endpoint in RPC_URL_<CHAIN>, or ask its provider for what is named here",
    faults: nodes.length === 0 ? null : wrong.length,
    samples: wrong,
  };
}

const endpoints = ({ rpcUrls }: Chain) => rpcUrls.filter((url) => url.startsWith("http"));

/** @returns null for an endpoint that does not answer, which other checks report. */
async function ask(url: string, method: string, params: unknown[]): Promise<unknown> {
  try {
    return (await sendRpc(url, method, params, limits)).result;
  } catch {
    return null;
  }
}
