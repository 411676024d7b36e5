import { usualReadLimits } from "../../src/config/read-limits.ts";
import { slowness } from "./wait.ts";

const cache = process.env["NODE_COMPILE_CACHE"];
const scaled = (milliseconds: number) => String(milliseconds * slowness);

/**
 * What a process that a test starts has of its environment: where programs lie, where the runner keeps what V8 makes of
 * modules, and limits of reads that grow as the machine is slower, so that a busy one refuses no read for its time. A
 * program of the service loads with the cache in a third of the processor time.
 */
export const bareEnvironment: Record<string, string> = {
  PATH: process.env["PATH"] ?? "",
  READ_TIMEOUT_MS: scaled(usualReadLimits.read),
  REPORT_TIMEOUT_MS: scaled(usualReadLimits.report),
  READ_WAIT_MS: scaled(usualReadLimits.wait),
  ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }),
};
