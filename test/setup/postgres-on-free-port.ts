import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";

const most = 3;

/**
 * A PostgreSQL on a port that was free. Its files are made first, which takes a second or two: another test may have taken
 * the port by then, and the next try takes no time before it is bound.
 *
 * @param more settings of the server.
 */
export async function startPostgresOnFreePort(
  dir: string,
  more: Readonly<Record<string, string>> = {},
): Promise<{ postgres: EmbeddedPostgres; port: number }> {
  for (let tries = 1; ; tries += 1) {
    const [port = 0] = await freePorts(1);
    try {
      return { postgres: await startPostgres(dir, port, more), port };
    } catch (error) {
      if (tries === most || !/Address already in use/i.test(String(error))) throw error;
    }
  }
}
