import type { Chain } from "../chains.ts";

/** Link of a transaction; a chain that was asked for by an alias keeps the alias in it: `rinkeby.etherscan.io`. */
export function explorerUrl(chain: Chain, asked: string, hash: string): string {
  return `${chain.explorerTxUrl.replace(`//${chain.name}.`, `//${asked}.`)}/${hash}`;
}
