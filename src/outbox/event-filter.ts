import type { EventRow, Finality } from "./event-row.ts";
import { isBelow } from "./event-types.ts";

/** Which events somebody wants; an empty list does not narrow. Addresses are bytes. */
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

/** Longest lists of a filter. */
export const filterBounds = { types: 20, chains: 20, contracts: 100, accounts: 100, tokenIds: 100 } as const;

/**
 * What decides about one event. It is made once per listener, since it is asked for every event.
 *
 * What is told of a whole chain (`chain.finalized`) is not narrowed by contracts, accounts or tokens. Everything else that
 * does not have what the filter names is left out.
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
 * The same as a condition on `service.event e`.
 *
 * @param values gets what the condition refers to; its length tells the numbers of the parameters.
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

/** Contracts that one listener has written beside those of its chain; more count as the whole chain. */
const mostContracts = 20;

/** Chains and contracts whose movements a filter needs: what `service.want_events` is told. */
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
