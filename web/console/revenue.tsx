import { useQuery } from "@tanstack/react-query";
import { ask } from "./api.ts";
import { Amount } from "./balance.tsx";
import type { Collection, SaleBody } from "./collections.ts";

/** Wei; both are the same where it is known exactly. */
export interface Range {
  least: bigint;
  most: bigint;
}

export interface Revenue {
  paid: Range;
  withdrawn: Range;
  /** Wei that are still in the contract. */
  waits: bigint;
}

interface TakingsBody {
  balance_wei: string;
  minted: string;
  reserved: string;
}

/** What a collection of this installation took in; undefined until it is known. */
export function useRevenue(collection: Collection, sale: SaleBody | undefined): Revenue | undefined {
  const { chain, address } = collection;
  const { data } = useQuery({
    queryKey: ["takings", chain, address.toLowerCase()],
    queryFn: () => ask<TakingsBody>(`/console/takings/${chain}/${address}`),
    refetchInterval: 8_000,
  });
  return data && sale && revenueOf(collection, sale, data);
}

/**
 * Prices never change and what is paid beyond them goes back, so what buyers paid follows from the number of tokens that
 * were sold: those minted, without those of the reserve. The contract does not say how many of them went at the presale's
 * price: with two prices it lies between two amounts.
 *
 * @param takings of one block.
 */
function revenueOf({ team_reserve }: Collection, sale: SaleBody, takings: TakingsBody): Revenue {
  const waits = BigInt(takings.balance_wei);
  const sold = BigInt(takings.minted) - (BigInt(team_reserve) - BigInt(takings.reserved));
  const price = BigInt(sale.public_price_wei);
  const presale = sale.presale_start === null ? price : BigInt(sale.presale_price_wei);
  const [low, high] = price < presale ? [price, presale] : [presale, price];
  const atLeastThat = (wei: bigint) => (wei > waits ? wei : waits);
  const paid = { least: atLeastThat(sold * low), most: atLeastThat(sold * high) };
  return { paid, withdrawn: { least: paid.least - waits, most: paid.most - waits }, waits };
}

export function AmountRange({ range: { least, most }, chain }: { range: Range; chain: string }) {
  if (least === most) return <Amount wei={least} chain={chain} />;
  return (
    <>
      <Amount wei={least} chain={chain} /> to <Amount wei={most} chain={chain} />
    </>
  );
}
