import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { slowness } from "../setup/wait.ts";

const run = promisify(execFile);

/** Why no network namespace can be made here; null when it can. */
async function obstacle(): Promise<string | null> {
  try {
    await run("unshare", ["-rn", "sh", "-c", "ip link set lo up && ip route add local 0.0.0.0/0 dev lo"]);
    return null;
  } catch (error) {
    return String((error as { stderr?: string }).stderr || error).trim();
  }
}

const missing = await obstacle();
if (missing !== null)
  process.stderr.write(
    `\nNOT RUN: the kernel's count of packets to private addresses. It needs a network namespace (unshare, iproute2): ${missing}\n` +
      "The same cases are checked at the guard by address-guard.test.ts.\n",
  );

test.skipIf(missing !== null)(
  "the kernel counts no packet to a private address, and counts those that are sent",
  async () => {
    const { stdout } = await run("unshare", ["-rn", process.execPath, "test/metadata/ssrf-namespace.ts"], {
      timeout: 110_000 * slowness,
    });
    const seen = JSON.parse(stdout);
    expect(seen.cases).toBeGreaterThanOrEqual(200);
    expect(seen.wrong).toEqual([]);
    expect(seen.direct).toEqual({ packets: 0, opened: 0, datagrams: 0 });
    // Each redirect was asked for; the connections to the gateway are all that were opened.
    expect(seen.redirectedCases).toBeGreaterThan(150);
    expect(seen.redirected.toGateway).toBeGreaterThan(0);
    expect(seen.redirected).toMatchObject({ opened: seen.redirected.toGateway, datagrams: 0, reached: [] });
    // Endpoints of webhooks: none is dialled, and of those that redirect nothing else is.
    expect(seen.posts).toEqual({ packets: 0, opened: 0, datagrams: 0 });
    expect(seen.redirectedPosts.answers).toBe(seen.redirectedCases);
    expect(seen.redirectedPosts.toEndpoint).toBeGreaterThan(0);
    expect(seen.redirectedPosts).toMatchObject({ opened: seen.redirectedPosts.toEndpoint, datagrams: 0, reached: [] });
    // The first answer, a public one, is dialled as it was checked; the second is refused.
    expect(seen.rebound).toEqual(Array(5).fill("true address_refused 1/1"));
    expect(seen.control.opened).toBeGreaterThanOrEqual(3);
    expect(seen.control.dialled.slice(0, 3)).toEqual(["127.0.0.1", "10.0.0.1", "169.254.169.254"]);
    expect(seen.control.packets).toBeGreaterThanOrEqual(seen.control.opened * 6);
  },
  120_000,
);
