import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/*
 * Below the range that systems give outgoing connections (from 32768 on Linux, from 49152 elsewhere): a client
 * that keeps asking for a server that is away would sooner or later be given the very port as its own, be
 * connected to itself, and keep the server from coming back.
 */
const lowest = 12_000;
const highest = 32_767;

/**
 * Ports of 127.0.0.1 that are free now, all different.
 *
 * Another program may take one before it is bound: take them right before use.
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

/** True when nothing listens on the port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = await new Promise<boolean>((done) =>
    server.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true)),
  );
  if (listening) await new Promise((done) => server.close(done));
  return listening;
}
