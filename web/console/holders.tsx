import { useInfiniteQuery } from "@tanstack/react-query";
import { graphql } from "../../client/src/graphql.ts";
import { counted } from "../shared/amounts.ts";
import { Address } from "./address.tsx";
import { api } from "./api.ts";
import { ErrorNotice, Loading } from "./notices.tsx";
import { Table } from "./table.tsx";

const query = graphql(`query ($chain: ChainName!, $address: Address!, $after: String) {
  contract(chain: $chain, address: $address) {
    statistics { ownerCount tokenCount totalMinted transferCount }
    owners(first: 50, after: $after) { nodes { address tokenCount } pageInfo { hasNextPage endCursor } }
  }
}`);

/** A contract's current holders, and the distribution of its tokens among them. */
export function Holders({ chain, address }: { chain: string; address: string }) {
  const { data, error, isPending, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ["owners", chain, address.toLowerCase()],
    queryFn: ({ pageParam }) => api.graphql(query, { chain, address, after: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ contract }) =>
      contract?.owners?.pageInfo.hasNextPage ? contract.owners.pageInfo.endCursor : undefined,
    refetchInterval: 15_000,
  });
  if (isPending) return <Loading what="holders" />;
  if (!data) return <ErrorNotice error={error} />;
  const statistics = data.pages[0]?.contract?.statistics;
  const owners = data.pages.flatMap(({ contract }) => contract?.owners?.nodes ?? []);
  if (!statistics || owners.length === 0) return <p className="quiet">Nobody holds a token yet.</p>;
  const most = Math.max(...owners.map(({ tokenCount }) => tokenCount));
  return (
    <div className="stack">
      <ErrorNotice error={error} />
      <p className="small quiet">
        {counted(statistics.ownerCount, "holder")} of {counted(statistics.tokenCount, "token")},{" "}
        {(statistics.tokenCount / Math.max(statistics.ownerCount, 1)).toFixed(1)} each on average
      </p>
      <Table
        label="Table of holders"
        heads={[
          "Holder",
          "Tokens",
          <span key="hidden" className="hidden">
            Share
          </span>,
        ]}
      >
        {owners.map(({ address: owner, tokenCount }) => (
          <tr key={owner}>
            <td>
              <Address address={owner} chain={chain} of={`the holder ${owner.slice(0, 8)}`} />
            </td>
            <td>{tokenCount.toLocaleString()}</td>
            <td className="share">
              <progress value={tokenCount} max={most} aria-label={`Tokens of ${owner}`} />
            </td>
          </tr>
        ))}
      </Table>
      {hasNextPage && (
        <button type="button" onClick={() => void fetchNextPage()}>
          More holders
        </button>
      )}
    </div>
  );
}
