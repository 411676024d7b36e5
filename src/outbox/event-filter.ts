import type { EventRow, Finality } from "./event-row.ts";
import { isBelow } from "./event-types.ts";

/** Which events to deliver; an empty list does not restrict. Addresses are bytes. */
export interface EventFilter {
  /** Names or beginnings of names: see `isBelow`. */
  types: readonly string[];
  chains: readonly number[];
  contracts: readonly Buffer[];
  /** Sender or receiver of a movement. */
  accounts: readonly Buffer[];
  /** Decimal. */
  tokenIds: readonly string[];
  finality: Finality;
}

/** Maximum lengths of a filter's lists. */
export const filterBounds = { types: 20, chains: 20, contracts: 100, accounts: 100, tokenIds: 100 } as const;

/**
 * Compiles a filter to a function. It is compiled once per listener, since it is called for every event. Events of a
 * whole chain (`chain.finalized`) are not restricted by contracts, accounts or tokens. All other events must have what
 * the filter names.
 */
export function filterOf(filter: EventFilter): (row: EventRow) => boolean {
  const chains = new Set(filter.chains);
  const [contracts, accounts] = [filter.contracts, filter.accounts].map(
    (list) => new Set(list.map((bytes) => bytes.toString("latin1"))),
  ) as [Set<string>, Set<string>];
  const tokens = new Set(filter.tokenIds);
  const has = (set: Set<string>, bytes: Buffer | null) => bytes !== null && set.has(bytes.toString("latin1"));
  return (row) => {
    if (row.finality !== null && row.finality !== filter.finality) return false;
    if (chains.size > 0 && (row.chain_id === null || !chains.has(row.chain_id))) return false;
    if (filter.types.length > 0 && !filter.types.some((name) => isBelow(row.type, name))) return false;
    if (row.type.startsWith("chain.")) return true;
    if (contracts.size > 0 && !has(contracts, row.contract)) return false;
    if (tokens.size > 0 && (row.token_id === null || !tokens.has(row.token_id))) return false;
    return accounts.size === 0 || has(accounts, row.from_address) || has(accounts, row.to_address);
  };
}

/**
 * The same as an SQL condition on `service.event e`.
 *
 * @param values the condition's parameters are appended to it; its length determines their numbers.
 */
export function filterCondition(filter: EventFilter, values: unknown[]): string {
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const narrowed: string[] = [];
  if (filter.contracts.length > 0) narrowed.push(`e.contract = ANY (${parameter(filter.contracts)}::bytea[])`);
  if (filter.tokenIds.length > 0) narrowed.push(`e.token_id = ANY (${parameter(filter.tokenIds)}::numeric[])`);
  if (filter.accounts.length > 0) {
    const accounts = `ANY (${parameter(filter.accounts)}::bytea[])`;
    narrowed.push(`(e.from_address = ${accounts} OR e.to_address = ${accounts})`);
  }
  const types =
    filter.types.length > 0
      ? [
          `EXISTS (SELECT FROM unnest(${parameter(filter.types)}::text[]) t WHERE e.type = t OR starts_with(e.type, t || '.'))`,
        ]
      : [];
  const chains = filter.chains.length > 0 ? [`e.chain_id = ANY (${parameter(filter.chains)}::integer[])`] : [];
  return [
    `(e.finality IS NULL OR e.finality = ${parameter(filter.finality)})`,
    ...chains,
    ...types,
    ...(narrowed.length > 0 ? [`(starts_with(e.type, 'chain.') OR (${narrowed.join(" AND ")}))`] : []),
  ].join(" AND ");
}

/** The most contracts that one listener has recorded one by one; with more, the whole chain is recorded. */
const mostContracts = 20;

/** Chains and contracts whose movements a filter needs: the arguments of `service.want_events`. */
export function interestOf(
  filter: EventFilter,
  allChains: readonly number[],
): { chain: number; contracts: readonly Buffer[] }[] {
  const needsLedger =
    filter.types.length === 0 || filter.types.some((name) => /^(nft|chain|metadata)(\.|$)/.test(name));
  if (!needsLedger) return [];
  const chains = filter.chains.length > 0 ? filter.chains : allChains;
  const contracts = filter.contracts.length <= mostContracts ? filter.contracts : [];
  return chains.map((chain) => ({ chain, contracts }));
}
