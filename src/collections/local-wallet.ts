import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import type { RpcCall, RpcResult } from "../rpc/endpoint.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";

/** The methods that a page needs from a wallet and its node; no commands of the node itself, which change the chain. */
const methods: ReadonlySet<string> = new Set([
  ...["eth_accounts", "eth_blockNumber", "eth_call", "eth_chainId", "eth_estimateGas", "eth_feeHistory"],
  ...["eth_gasPrice", "eth_getBalance", "eth_getBlockByNumber", "eth_getCode", "eth_getTransactionByHash"],
  ...["eth_getTransactionCount", "eth_getTransactionReceipt", "eth_maxPriorityFeePerGas", "eth_sendTransaction"],
  "personal_sign",
]);

/** The node's first account pays for relayers and factories, so it is left out. */
const firstAccount = 1;
const accounts = 5;

/**
 * Answers a request of a page's wallet on a local chain through the chain's node, which has its test accounts' keys.
 *
 * @param text one JSON-RPC request: `method` and `params`.
 * @throws ServiceError `not_found` on a chain that is not local, `value_error`, `service_unavailable`.
 */
export async function askLocalWallet(services: Services, chain: Chain, text: string): Promise<RpcResult> {
  if (!chain.local) throw new ServiceError("not_found", `${chain.name} is no local chain; use a wallet of your own`);
  const { method, params } = parseCall(text);
  await checkSigner(services, chain, method, params);
  const answer = await ask(services, chain, { method, params });
  if (!answer) throw new ServiceError("service_unavailable", `the ${chain.name} node does not answer`);
  return method === "eth_accounts" && "result" in answer ? { result: shownOf(answer) } : answer;
}

async function ask(services: Services, chain: Chain, call: RpcCall): Promise<RpcResult | undefined> {
  const [answer] = await askNode(chain, () => services.relay.nodes(chain).first((node) => node.ask([call])));
  return answer;
}

function shownOf(answer: { result: unknown }): string[] {
  return (answer.result as string[]).slice(firstAccount, firstAccount + accounts);
}

/** Only accounts shown to the page may sign; the node would sign with any of its own. */
async function checkSigner(
  services: Services,
  chain: Chain,
  method: string,
  params: readonly unknown[],
): Promise<void> {
  if (method !== "eth_sendTransaction" && method !== "personal_sign") return;
  const signer = method === "personal_sign" ? params[1] : (params[0] as { from?: unknown } | null | undefined)?.from;
  const listed = await ask(services, chain, { method: "eth_accounts", params: [] });
  const shown = listed && "result" in listed ? shownOf(listed).map((address) => address.toLowerCase()) : [];
  if (typeof signer === "string" && shown.includes(signer.toLowerCase())) return;
  throw new ServiceError("value_error", "this wallet has no such account; eth_accounts lists them", {
    field: "params",
  });
}

function parseCall(text: string): { method: string; params: readonly unknown[] } {
  let call: { method?: unknown; params?: unknown } | null = null;
  try {
    call = JSON.parse(text);
  } catch {
    // Invalid JSON is treated like a missing method.
  }
  const { method, params = [] } = call ?? {};
  if (typeof method !== "string" || !methods.has(method) || !Array.isArray(params))
    throw new ServiceError("value_error", "this is no request that a page's wallet makes", { field: "method" });
  return { method, params };
}
