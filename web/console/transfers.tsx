import { useInfiniteQuery } from "@tanstack/react-query";
import { Address } from "./address.tsx";
import { api, isUnknown } from "./api.ts";
import { ErrorNotice, Loading } from "./notices.tsx";
import { Table } from "./table.tsx";
import { Time } from "./time.tsx";

/**
 * Transfers, newest first.
 *
 * @param account shows an account's transfers; otherwise a contract's.
 */
export function TransferTable({
  chain,
  address,
  account = false,
}: {
  chain: string;
  address: string;
  account?: boolean;
}) {
  const { data, error, isPending, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ["transfers", chain, address, account],
    queryFn: ({ pageParam }) => {
      const query = { chain, page_size: 20, ...(pageParam ? { continuation: pageParam } : {}) };
      return account
        ? api.get("/v0/transactions/accounts/{account_address}", { path: { account_address: address }, query })
        : api.get("/v0/transactions/nfts/{contract_address}", { path: { contract_address: address }, query });
    },
    initialPageParam: "",
    getNextPageParam: ({ continuation }) => continuation || undefined,
    refetchInterval: 15_000,
  });
  const items = data?.pages.flatMap((page) => page.transactions) ?? [];
  if (isPending) return <Loading what="transfers" />;
  const trouble = error && !isUnknown(error) ? error : null;
  if (trouble && !data) return <ErrorNotice error={trouble} />;
  if (items.length === 0) return <p className="quiet">Nothing has moved yet.</p>;
  return (
    <div className="stack">
      <ErrorNotice error={trouble} />
      <Table label="Table of transfers" heads={["What", "Token", "From", "To", "Block", "When"]}>
        {items.map((item) => (
          <tr key={`${item.transaction_hash} ${item.token_id} ${item.type}`}>
            <td>{item.type}</td>
            <td>{item.token_id}</td>
            <td>
              <Party
                address={item.transfer_from ?? (item.type === "burn" ? item.owner_address : undefined)}
                {...{ chain, of: `the sender of token ${item.token_id}` }}
              />
            </td>
            <td>
              <Party
                address={item.transfer_to ?? (item.type === "mint" ? item.owner_address : undefined)}
                {...{ chain, of: `the receiver of token ${item.token_id}` }}
              />
            </td>
            <td>{item.block_number}</td>
            <td>
              <Time at={`${item.transaction_date}Z`} />
            </td>
          </tr>
        ))}
      </Table>
      {hasNextPage && (
        <button type="button" onClick={() => void fetchNextPage()}>
          More transfers
        </button>
      )}
    </div>
  );
}

/** The sender or recipient of a token; mints and burns lack one of them. */
function Party({ address, chain, of }: { address: string | undefined; chain: string; of: string }) {
  return address ? <Address address={address} chain={chain} of={of} /> : "–";
}
