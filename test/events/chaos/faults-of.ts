import type { ChaosResult } from "../../indexing/chaos/run-chaos.ts";

type ByName<T> = Record<string, T>;

/** What `startListeners` says in the end. */
export interface ListenerResult {
  wrong: ByName<string[]>;
  retractions: ByName<number>;
  missed: ByName<number>;
  disorder: ByName<number>;
  expired: ByName<number>;
}

/** Each promise that a run found broken, in words. */
export function faultsOf({ differing, wrong, beside }: ChaosResult): string[] {
  const found = Object.keys(differing).map((table) => `the index differs in ${table}`);
  if (wrong > 0) found.push(`${wrong} owners or balances are not those of the contracts`);
  const heard = beside as ListenerResult | undefined;
  if (!heard) return [...found, "nobody listened"];
  for (const [name, lines] of Object.entries(heard.wrong))
    if (lines.length > 0) found.push(`${name} does not know the chain's owners: ${lines.join(", ")}`);
  for (const [name, count] of Object.entries(heard.retractions))
    if (name.endsWith("finalized") && count > 0) found.push(`${name} was told ${count} retractions`);
  for (const what of ["missed", "disorder", "expired"] as const)
    for (const [name, count] of Object.entries(heard[what]))
      if (count > 0) found.push(`stream ${name}: ${count} ${what}`);
  return found;
}
