import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ResultOf } from "gql.tada";
import { useState } from "react";
import { graphql } from "../../client/src/graphql.ts";
import { counted, shortAddress } from "../shared/amounts.ts";
import { tokenPreviews } from "../shared/previews.ts";
import { api, isUnknown } from "./api.ts";
import { ErrorNotice, Loading } from "./notices.tsx";
import { filterOf, type Trait, type TraitChoice, TraitFilters } from "./trait-filters.tsx";

const token = graphql(`fragment TokenCard on Nft { tokenId name fileUrl thumbnailUrl contractAddress metadata }`);
const ofContract = graphql(
  `query ($chain: ChainName!, $address: Address!, $after: String, $traits: TraitFilter) {
    contract(chain: $chain, address: $address) { nfts(first: 24, after: $after, traits: $traits) {
      nodes { ...TokenCard } totalCount pageInfo { hasNextPage endCursor } } }
  }`,
  [token],
);
const ofAccount = graphql(
  `query ($chain: ChainName!, $address: Address!, $after: String) {
    account(address: $address) { nfts(chain: $chain, first: 24, after: $after) {
      nodes { ...TokenCard } totalCount pageInfo { hasNextPage endCursor } } }
  }`,
  [token],
);
const traitQuery =
  graphql(`query ($chain: ChainName!, $address: Address!) { contract(chain: $chain, address: $address) {
  statistics { tokenCount } traits { name tokenCount values { value tokenCount } } } }`);

type TokenPage = NonNullable<NonNullable<ResultOf<typeof ofContract>["contract"]>["nfts"]>;
type Token = TokenPage["nodes"][number];
/** Members of a document, which may have any type. */
const membersOf = ({ metadata }: Token) => (metadata ?? {}) as { attributes?: unknown };

const none: TokenPage = { nodes: [], totalCount: 0, pageInfo: { hasNextPage: false, endCursor: null } };

interface Attribute {
  name: string;
  value: string;
}

function attributesOf(token: Token): Attribute[] {
  const { attributes } = membersOf(token);
  const list: unknown[] = Array.isArray(attributes) ? attributes : [];
  return list.flatMap((item) => {
    const { trait_type, value } = (item ?? {}) as { trait_type?: unknown; value?: unknown };
    return typeof trait_type === "string" && value !== undefined ? [{ name: trait_type, value: String(value) }] : [];
  });
}

interface GridProps {
  chain: string;
  address: string;
  /** Whether to show an account's tokens; otherwise a contract's. */
  holder?: boolean;
}

/** Tokens with their pictures; a contract's tokens also with traits, the rarity of each, and a filter by them. */
export function TokenGrid({ chain, address, holder = false }: GridProps) {
  const [chosen, setChosen] = useState<TraitChoice>({});
  const traits = useQuery({
    queryKey: ["traits", chain, address],
    enabled: !holder,
    queryFn: () => api.graphql(traitQuery, { chain, address }),
    refetchInterval: 60_000,
  });
  const filter = filterOf(chosen);
  const { data, error, isPending, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["tokens", chain, address, holder, filter],
    queryFn: async ({ pageParam }) => {
      const place = { chain, address, after: pageParam };
      const found = holder
        ? (await api.graphql(ofAccount, place)).account
        : (await api.graphql(ofContract, { ...place, traits: filter })).contract;
      return found?.nfts ?? none;
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ pageInfo }) => (pageInfo.hasNextPage ? pageInfo.endCursor : undefined),
    refetchInterval: 15_000,
  });
  const tokens = data?.pages.flatMap(({ nodes }) => nodes) ?? [];
  const known = traits.data?.contract?.traits ?? [];
  const all = traits.data?.contract?.statistics?.tokenCount ?? 0;
  if (isPending) return <Loading what="tokens" />;
  const trouble = error && !isUnknown(error) ? error : null;
  if (trouble && !data) return <ErrorNotice error={trouble} />;
  const total = data?.pages[0]?.totalCount ?? tokens.length;
  return (
    <div className="stack">
      <ErrorNotice error={trouble} />
      {known.length > 0 && <TraitFilters traits={known} chosen={chosen} choose={setChosen} />}
      {tokens.length === 0 ? (
        <p className="quiet">{filter ? "No token has these traits." : "No tokens yet."}</p>
      ) : (
        <p className="small quiet" role="status">
          {counted(total, "token")}
        </p>
      )}
      <ul className="cards small-cards">
        {tokens.map((token) => (
          <TokenCard key={`${token.contractAddress} ${token.tokenId}`} token={token} traits={known} all={all} />
        ))}
      </ul>
      {hasNextPage && (
        <button type="button" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          More tokens
        </button>
      )}
      {traits.error && !isUnknown(traits.error) && <ErrorNotice error={traits.error} />}
    </div>
  );
}

function TokenCard({ token, traits, all }: { token: Token; traits: readonly Trait[]; all: number }) {
  const [isPictured, setPictured] = useState(true);
  const picture = isPictured ? tokenPreviews(token, 200, () => setPictured(false)) : null;
  const attributes = attributesOf(token);
  return (
    <li className="card">
      {picture ? (
        <img {...picture} alt="" width="200" height="200" loading="lazy" />
      ) : (
        <div className="no-picture">#{shortId(token.tokenId)}</div>
      )}
      <p>{token.name ?? `#${shortId(token.tokenId)}`}</p>
      <p className="small quiet" title={token.tokenId}>
        Token {shortId(token.tokenId)}
      </p>
      {attributes.length > 0 && (
        <details className="small">
          <summary>
            {counted(attributes.length, "trait")}
            <span className="hidden"> of token {token.tokenId}</span>
          </summary>
          <dl className="traits">
            {attributes.map(({ name, value }) => (
              <div key={`${name} ${value}`}>
                <dt>{name}</dt>
                <dd>
                  {value}
                  {rarity(traits, all, { name, value })}
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </li>
  );
}

/** The share of tokens that have the value. */
function rarity(traits: readonly Trait[], all: number, { name, value }: Attribute) {
  const found = traits.find((trait) => trait.name === name)?.values.find((one) => one.value === value);
  if (!found || all === 0) return null;
  const share = (100 * found.tokenCount) / all;
  return (
    <span className="quiet" title={`${found.tokenCount} of ${all} tokens`}>
      {" "}
      {share < 1 ? share.toFixed(2) : Math.round(share)} %
    </span>
  );
}

const shortId = (id: string) => (id.length > 12 ? shortAddress(id) : id);
