import { Amount } from "./balance.tsx";
import type { Collection, SaleBody } from "./collections.ts";

/** Wei; both are the same where it is known exactly. */
interface Range {
  least: bigint;
  most: bigint;
}

/**
 * What a collection took in, in wei. Prices never change and what is paid beyond them goes back, so what buyers paid follows
 * from the number of tokens that were sold: those minted, without those of the reserve. The contract does not say how many of
 * them went at the presale's price: with two prices it lies between two amounts.
 *
 * @param sale as it was at one block.
 * @returns `waits`: what is still in the contract.
 */
export function revenueOf(
  { team_reserve }: Collection,
  sale: SaleBody,
): { paid: Range; withdrawn: Range; waits: bigint } {
  const waits = BigInt(sale.balance_wei);
  const sold = BigInt(sale.minted) - (BigInt(team_reserve) - BigInt(sale.reserved));
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
