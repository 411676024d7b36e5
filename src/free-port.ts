import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/*
 * Below the range of ephemeral ports (from 32768 on Linux, from 49152 elsewhere). Otherwise a client that keeps trying
 * to reach a server that is down would sooner or later get the server's port as its own, connect to itself, and keep
 * the server from coming back.
 */
const lowest = 12_000;
const highest = 32_767;

/**
 * Different ports of 127.0.0.1 that are free now.
 *
 * Another program may take one before it is bound: ask right before use.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries > 1_000 * count) throw new Error(`no ${count} free ports from ${lowest} to ${highest}`);
    const port = randomInt(lowest, highest + 1);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

/** Whether nothing listens on the port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = await new Promise<boolean>((done) =>
    server.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true)),
  );
  if (listening) await new Promise((done) => server.close(done));
  return listening;
}
