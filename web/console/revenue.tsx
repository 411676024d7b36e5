import { Amount } from "./balance.tsx";
import type { Collection, SaleBody } from "./collections.ts";

/** Wei; both are the same if the amount is known exactly. */
interface Range {
  least: bigint;
  most: bigint;
}

/**
 * A collection's revenue, in wei. Prices never change and overpayments are returned, so it follows from the number of
 * tokens sold: those minted, without those of the reserve. The contract does not count presale mints separately, so
 * with two prices the amount is only known to be between two bounds.
 *
 * @param sale at one block.
 * @returns `waits`: the amount still in the contract.
 */
export function revenueOf(
  { team_reserve }: Collection,
  sale: SaleBody,
): { paid: Range; withdrawn: Range; waits: bigint } {
  const waits = BigInt(sale.balance_wei);
  const sold = BigInt(sale.minted) - (BigInt(team_reserve) - BigInt(sale.reserved));
  const [price, presale] = [BigInt(sale.public_price_wei), BigInt(sale.presale_price_wei)];
  const mostInPresale = sale.presale_start === null ? 0n : sold;
  const paidWith = (inPresale: bigint) => (sold - inPresale) * price + inPresale * presale;
  const amounts = [paidWith(0n), paidWith(mostInPresale)].map((wei) => (wei > waits ? wei : waits));
  const [least = waits, most = waits] = amounts.sort((a, b) => (a < b ? -1 : 1));
  const paid = { least, most };
  return { paid, withdrawn: { least: least - waits, most: most - waits }, waits };
}

export function AmountRange({ range: { least, most }, chain }: { range: Range; chain: string }) {
  if (least === most) return <Amount wei={least} chain={chain} />;
  return (
    <span title="The contract does not count how many tokens went at the presale's price.">
      between <Amount wei={least} chain={chain} /> and <Amount wei={most} chain={chain} />
    </span>
  );
}
