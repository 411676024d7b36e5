import { createServer } from "node:net";

/**
 * Ports of 127.0.0.1 that nobody listens on now, all different.
 *
 * Whoever binds one later may still lose it to a stranger: take them right before use.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((done, failed) => server.once("error", failed).listen(0, "127.0.0.1", done));
      return server;
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no TCP port was given");
    return address.port;
  });
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
