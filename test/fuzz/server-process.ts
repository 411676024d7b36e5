import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../../src/free-port.ts";
import { createIndexedDatabase } from "../setup/database.ts";
import { ServiceProcess } from "../setup/service-process.ts";

export interface ServerUnderFuzz {
  api: ServiceProcess;
  port: number;
  /** Key of an enterprise account. */
  key: string;
  /** Most memory that the server's process ever held, in bytes; NaN where the system does not tell. */
  peakBytes: () => number;
  stop: () => Promise<void>;
}

/**
 * The API as the program that operators run, alone in its process: what it holds is nobody else's.
 *
 * @param env settings beside those of the run.
 */
export async function startServer(env: Record<string, string>): Promise<ServerUnderFuzz> {
  const { database } = await createIndexedDatabase([31337, 31339]);
  const dir = await mkdtemp(join(tmpdir(), "mintyard-fuzz-"));
  const [port = 0] = await freePorts(1);
  const key = randomUUID();
  const api = await ServiceProcess.start("api", {
    ...{ DATABASE_URL: database.url, MINTYARD_DATA_DIR: dir, PORT: String(port), MINTYARD_API_KEY: key },
    ...{ RPC_URL_GOERLI: "http://127.0.0.1:9", CHAIN_ID_GOERLI: "31337", LOCAL_GOERLI: "true" },
    ...{ RPC_URL_ETHEREUM: "http://127.0.0.1:9", CHAIN_ID_ETHEREUM: "31339", LOCAL_ETHEREUM: "true" },
    LOG_LEVEL: "error",
    ...env,
  });
  return {
    api,
    port,
    key,
    peakBytes: () => peakOf(api.pid),
    stop: async () => {
      await api.end();
      await database.drop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
  } catch {
    return Number.NaN;
  }
}
