// How this product, viem's `fallback` and Ponder's RPC layer cope with test/zoo (docs/measurements/providers.md).
//   node bench/providers/bench-providers.ts [--only PATTERN] [--write]
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { RelayHarness } from "../../test/transactions/harness.ts";
import { askOurs } from "../../test/zoo/ask-ours.ts";
import { askPonder } from "../../test/zoo/ask-ponder.ts";
import { askViem } from "../../test/zoo/ask-viem.ts";
import { deployOurs } from "../../test/zoo/deploy-ours.ts";
import { deployViem } from "../../test/zoo/deploy-viem.ts";
import { startEndpoints } from "../../test/zoo/endpoints.ts";
import type { Fault, ReadFault, WriteFault } from "../../test/zoo/fault.ts";
import { HonestNode } from "../../test/zoo/honest-node.ts";
import { loadFaults, readFaults, writeFaults } from "../../test/zoo/load-faults.ts";
import { boundedBy, type Outcome } from "../../test/zoo/outcome.ts";
import { mintTokens } from "../../test/zoo/tokens.ts";
import { startOwnDatabase } from "./own-database.ts";
import { page, type Row } from "./page.ts";

const { values } = parseArgs({
  options: { only: { type: "string", default: "" }, write: { type: "boolean", default: false } },
});
const mostMs = 60_000;
/** Concurrent reads, which mostly wait. */
const atOnce = 4;

// Ponder chooses the endpoint of one call in ten at random; here it always starts with the first, as the others do.
Math.random = () => 0.5;
const h = await RelayHarness.start(startOwnDatabase);
try {
  const caller = await h.caller();
  const node = new HonestNode(h.node.url);
  const tokens = await mintTokens(node);
  const faults = new Map([...(await loadFaults())].filter(([name]) => new RegExp(values.only).test(name)));

  /** Each contestant gets endpoints of its own, because some faults end after a while. */
  const against = async (fault: Fault, run: (urls: string[]) => Promise<Outcome>): Promise<Outcome> => {
    const endpoints = await startEndpoints(node, fault);
    const outcome = await boundedBy(mostMs, () => run(endpoints.urls));
    await endpoints.stop();
    return outcome;
  };

  const read = async (fault: ReadFault): Promise<Row> => {
    const { question } = fault;
    const ours = (mode: "proofs" | "logs") => {
      const end = fault.ends[mode];
      if (end === undefined) return null;
      const cause = end instanceof RegExp ? end : undefined;
      return against(fault, (urls) => askOurs(urls, mode, question, tokens, { log: [], cause }));
    };
    const [proofs, logs, viem, ponder] = await Promise.all([
      ours("proofs"),
      ours("logs"),
      against(fault, (urls) => askViem(urls, question, tokens)),
      against(fault, (urls) => askPonder(urls, question, tokens)),
    ]);
    return { fault, ours: { proofs, logs }, viem, ponder };
  };

  const write = async (fault: WriteFault): Promise<Row> => {
    const cause = fault.end === "one" ? undefined : fault.end;
    const [one, viem] = await Promise.all([
      against(fault, (urls) => deployOurs(h, caller, urls, cause)),
      against(fault, (urls) => deployViem(urls, node)),
    ]);
    return { fault, ours: { one }, viem, ponder: null };
  };

  const rows: Row[] = [];
  const queue = readFaults(faults);
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      rows.push(await read(next[1]));
      console.error(`${rows.length}/${faults.size} ${next[0]}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  // Sequential, because they share the relayer's wallet.
  for (const [name, fault] of writeFaults(faults)) {
    rows.push(await write(fault));
    console.error(`${rows.length}/${faults.size} ${name}`);
  }
  const text = page(rows);
  if (values.write) writeFileSync(join(import.meta.dirname, "../../docs/measurements/providers.md"), text);
  else console.log(text);
} finally {
  await h.stop();
}
process.exit(0);
