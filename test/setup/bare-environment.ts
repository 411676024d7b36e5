const cache = process.env["NODE_COMPILE_CACHE"];

/**
 * What a process that a test starts has of its environment: where programs lie, and where the runner keeps what V8 makes of
 * modules. A program of the service loads with it in a third of the processor time.
 */
export const bareEnvironment: Record<string, string> = {
  PATH: process.env["PATH"] ?? "",
  ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }),
};
