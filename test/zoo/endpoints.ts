import type { Fault } from "./fault.ts";
import type { HonestNode } from "./honest-node.ts";
import { startProvider } from "./provider.ts";

export interface Endpoints {
  /** In the order in which they are configured. */
  urls: string[];
  /** How often the fault was met. */
  hits(): number;
  stop(): Promise<void>;
}

/** An endpoint with the fault, and behind it a healthy one where the fault's file says nothing else. */
export async function startEndpoints(node: HonestNode, fault: Fault): Promise<Endpoints> {
  const faulty = await startProvider(node, fault);
  const all = fault.alone ? [faulty] : [faulty, await startProvider(node)];
  return {
    urls: all.map(({ url }) => url),
    hits: () => faulty.hits,
    stop: async () => {
      await Promise.all(all.map((one) => one.stop()));
    },
  };
}
