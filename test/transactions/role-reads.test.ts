import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Address, zeroHash } from "viem";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Chain, defaultRelayPolicy } from "../../src/chains.ts";
import { openNodes } from "../../src/rpc/nodes.ts";
import { WalletRoles } from "../../src/transactions/chain/roles.ts";
import { patient } from "../setup/wait.ts";

const factory: Address = `0x${"11".repeat(20)}`;
const wallet: Address = `0x${"22".repeat(20)}`;
const block = { number: "0x0", hash: zeroHash, parentHash: zeroHash, timestamp: "0x1", gasLimit: "0x1c9c380" };

let server: Server;
/** What the endpoint says of the wallet, and its answers about roles that wait to be let go. */
let hasRole: boolean;
let holdBack: boolean;
let held: (() => void)[];
let asked: number;
let roles: WalletRoles;
let chain: Chain;
beforeEach(async () => {
  [hasRole, holdBack, held, asked] = [true, false, [], 0];
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const calls = JSON.parse(Buffer.concat(chunks).toString()) as { id: number; method: string }[];
    const said: Record<string, unknown> = {
      eth_chainId: "0x7a69",
      eth_getBlockByNumber: block,
      eth_call: `0x${(hasRole ? "1" : "0").padStart(64, "0")}`,
    };
    const answer = () =>
      response.end(JSON.stringify(calls.map(({ id, method }) => ({ jsonrpc: "2.0", id, result: said[method] }))));
    if (!calls.some(({ method }) => method === "eth_call")) return answer();
    asked += 1;
    if (holdBack) held.push(answer);
    else answer();
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const relay = defaultRelayPolicy(31337, true);
  chain = { id: 31337, name: "goerli", local: true, rpcUrls: [url], relay } as unknown as Chain;
  const nodes = openNodes(chain);
  roles = new WalletRoles(() => nodes);
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(async () => {
  vi.useRealTimers();
  for (const answer of held) answer();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const holders = () => roles.holders(chain, factory, [wallet]);

test("a role is read anew beside the requests before its answer is too old, and no request waits for that", async () => {
  expect(await holders()).toEqual([wallet]);
  [hasRole, holdBack] = [false, true];
  vi.advanceTimersByTime(100);
  expect(await holders()).toEqual([wallet]);
  expect(asked).toBe(1);
  vi.advanceTimersByTime(50);
  // Answered from what is still valid, while the endpoint keeps its answer back; asked for once.
  expect([await holders(), await holders()]).toEqual([[wallet], [wallet]]);
  await expect.poll(() => held.length, patient).toBe(1);
  expect(asked).toBe(2);
  holdBack = false;
  held.pop()?.();
  await expect.poll(holders, patient).toEqual([]);
});

test("an answer that is a block old is not given, however long the next one takes", async () => {
  expect(await holders()).toEqual([wallet]);
  [hasRole, holdBack] = [false, true];
  vi.advanceTimersByTime(150);
  await holders();
  await expect.poll(() => held.length, patient).toBe(1);
  vi.advanceTimersByTime(60);
  holdBack = false;
  expect(await holders()).toEqual([]);
});

test("what was forgotten stays forgotten when an earlier question is answered", async () => {
  expect(await holders()).toEqual([wallet]);
  holdBack = true;
  vi.advanceTimersByTime(150);
  await holders();
  await expect.poll(() => held.length, patient).toBe(1);
  roles.forget(chain);
  holdBack = false;
  held.pop()?.();
  hasRole = false;
  expect(await holders()).toEqual([]);
});
