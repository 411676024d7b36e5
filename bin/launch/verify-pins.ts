import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../src/backoff.ts";
import { CommandError } from "../command-error.ts";
import type { ServiceClient } from "../service-client.ts";
import type { Journal } from "./journal.ts";
import { listed } from "./read-folder.ts";
import type { Reporter } from "./reporter.ts";

const query = `query ($from: DateTime, $after: String) {
  viewer { uploads(from: $from, first: 100, after: $after) {
    nodes { cid pinState } pageInfo { hasNextPage endCursor }
  } }
}`;

const pauses = { firstMs: 500, mostMs: 10_000 };

type PinState = "LOCAL" | "QUEUED" | "PINNED" | "FAILED";
interface Page {
  viewer: {
    uploads: {
      nodes: { cid: string; pinState: PinState }[];
      pageInfo: { hasNextPage: boolean; endCursor: string | null };
    };
  };
}

/**
 * Waits until the service has pinned all uploads; if it uses no pinning service, until it lists them.
 *
 * @throws CommandError for content that is missing, was refused, or is not pinned in time.
 */
export async function verifyPins(
  wanted: readonly string[],
  parts: { client: ServiceClient; journal: Journal; reporter: Reporter },
  timeoutMs: number,
): Promise<void> {
  const from = new Date(Date.parse(parts.journal.last("begun")?.at ?? "") - 3_600_000).toISOString();
  const deadline = performance.now() + timeoutMs;
  for (let polled = 1; ; polled += 1) {
    const states = await readStates(parts.client, from);
    const missing = wanted.filter((cid) => !states.has(cid));
    if (missing.length > 0)
      throw new CommandError(`the service does not list what was uploaded: ${listed(missing, 3)}`);
    const failed = wanted.filter((cid) => states.get(cid) === "FAILED");
    if (failed.length > 0)
      throw new CommandError(`the pinning service refused ${listed(failed, 3)}; the operator of the service sees why`);
    const queued = wanted.filter((cid) => states.get(cid) === "QUEUED");
    if (queued.length === 0) return;
    if (performance.now() > deadline)
      throw new CommandError(`${queued.length} uploads are not pinned yet; the same command goes on from here later`);
    parts.reporter.step("pinning", `waiting until ${queued.length} uploads are pinned`, { queued: queued.length });
    await sleep(backoffMs(polled, pauses));
  }
}

/** The best state of each content, which may have been uploaded more than once. */
async function readStates(client: ServiceClient, from: string): Promise<Map<string, PinState>> {
  const states = new Map<string, PinState>();
  for (let after: string | null = null; ; ) {
    const { viewer }: Page = await client.graphql<Page>(query, { from, after });
    const { uploads }: Page["viewer"] = viewer;
    for (const { cid, pinState } of uploads.nodes) {
      const before = states.get(cid);
      if (before !== "PINNED" && before !== "LOCAL") states.set(cid, pinState);
    }
    if (!uploads.pageInfo.hasNextPage) return states;
    after = uploads.pageInfo.endCursor;
  }
}
