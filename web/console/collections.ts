import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import type { Answer } from "../../client/src/rest.ts";
import { api, ask } from "./api.ts";
import { useInstallation } from "./installation.ts";

type CollectionList = Answer<"get", "/v0/me/contracts/collections">;
/** One of the account's collections. */
export type Collection = CollectionList["contracts"][number];

export interface SaleBody {
  chain: { name: string; id: number; local: boolean };
  max_supply: string;
  minted: string;
  reserved: string;
  /** The part of its revenue that is still in the contract. */
  balance_wei: string;
  public_price_wei: string;
  presale_price_wei: string;
  public_start: string | null;
  presale_start: string | null;
  block: string;
  block_time: string;
  preview: { name: string | null; description: string | null; image: string | null } | null;
}

/** The account's collections on all chains of the installation. */
export function useCollections() {
  const chains = useInstallation()?.chains.filter(({ deploys }) => deploys) ?? [];
  const queries = useQueries({
    queries: chains.map(({ name }) => ({
      queryKey: ["collections", name],
      queryFn: () => api.get("/v0/me/contracts/collections", { query: { chain: name } }),
      refetchInterval: 15_000,
    })),
  });
  return {
    isPending: chains.length === 0 || queries.some(({ isPending }) => isPending),
    error: queries.find(({ error }) => error)?.error ?? null,
    collections: queries.flatMap(({ data }) => data?.contracts ?? []),
  };
}

/** A collection's current figures. Without a sale, `error` says why. */
export interface Figures {
  chain: string;
  address: string;
  sale: SaleBody | null;
  /** One number for each hour from Unix second `from` on; null where nothing was counted. */
  mints_by_hour: { from: number; mints: number[] } | null;
  error: { code: string; message: string } | null;
}

type Place = Pick<Collection, "chain" | "address">;

const nameOf = ({ chain, address }: Place) => `${chain}:${address.toLowerCase()}`;
/** Collections per request (`/console/figures`). */
const mostAtOnce = 100;
/** Blocks that figures have to include, by collection: those of this browser's own transactions. */
const sinceBlock = new Map<string, bigint>();

/** By collection: when its node fails once, the page and a transaction that is being sent there stay as they are. */
const lastSales = new Map<string, SaleBody>();

function withLastSale(figures: Figures): Figures {
  const name = nameOf(figures);
  if (figures.sale) lastSales.set(name, figures.sale);
  return { ...figures, sale: figures.sale ?? lastSales.get(name) ?? null };
}

/** From now on, a collection's figures have to be of this block or a later one. */
export function requireBlock(place: Place, block: bigint): void {
  sinceBlock.set(nameOf(place), block);
}

function withBlock(name: string): string {
  const block = sinceBlock.get(name);
  return block === undefined ? name : `${name}:${block}`;
}

/** The figures of many collections, requested in batches and refreshed every four seconds. */
export function useFigures(places: readonly Place[]) {
  const names = places.map(nameOf);
  const { data, error } = useQuery({
    queryKey: ["figures", names.join(" ")],
    enabled: names.length > 0,
    queryFn: async () => {
      const parts = Array.from({ length: Math.ceil(names.length / mostAtOnce) }, (_, at) =>
        names.slice(at * mostAtOnce, (at + 1) * mostAtOnce),
      );
      const read = (part: readonly string[]) =>
        ask<{ figures: Figures[] }>(`/console/figures?${part.map((name) => `of=${withBlock(name)}`).join("&")}`);
      const answers = await Promise.all(parts.map(read));
      return new Map(answers.flatMap(({ figures }) => figures.map((one) => [nameOf(one), withLastSale(one)])));
    },
    refetchInterval: 4_000,
    placeholderData: keepPreviousData,
  });
  return { error, of: (place: Place): Figures | undefined => data?.get(nameOf(place)) };
}

/** The state of the sale in a word. */
export function saleWord(sale: SaleBody): "sold out" | "public sale" | "presale" | "not open" {
  if (BigInt(sale.minted) + BigInt(sale.reserved) >= BigInt(sale.max_supply)) return "sold out";
  const chainTime = Number(sale.block_time);
  const now = sale.chain.local ? chainTime : Math.max(chainTime, Math.floor(Date.now() / 1000));
  const open = (start: string | null) => start !== null && Number(start) < now;
  return open(sale.public_start) ? "public sale" : open(sale.presale_start) ? "presale" : "not open";
}

/** What needs the creator's attention, in words. */
export function attentionOf(collection: Collection, sale: SaleBody, balance: bigint): string[] {
  const word = saleWord(sale);
  const startsNever = sale.public_start === null && sale.presale_start === null;
  return [
    ...(word === "sold out" && balance > 0n ? ["Sold out; its revenue waits to be withdrawn."] : []),
    ...(word === "sold out" && collection.base_uri === "" ? ["Sold out and not revealed."] : []),
    ...(sale.preview?.image ? [] : ["Its picture cannot be shown: the metadata of the first token was not found."]),
    ...(startsNever ? ["No sale is set."] : []),
    ...(word === "presale" && collection.presale_whitelisted_addresses.length === 0
      ? ["The presale is open and its list is empty."]
      : []),
  ];
}
