import { useMutation } from "@tanstack/react-query";
import type { ResultOf, VariablesOf } from "gql.tada";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { graphql } from "../../client/src/graphql.ts";
import { repeatWhileUnavailable } from "../../client/src/repeat.ts";
import { counted } from "../shared/amounts.ts";
import { api, patiently } from "./api.ts";
import { ErrorNotice } from "./notices.tsx";

const query = graphql(`query ($chain: ChainName!, $contract: Address!, $block: Uint256, $after: String) {
  contract(chain: $chain, address: $contract) { holders(atBlock: $block, first: 100, after: $after) {
    nodes { tokenId address amount } pageInfo { hasNextPage endCursor }
  } }
}`);

type Holders = NonNullable<NonNullable<ResultOf<typeof query>["contract"]>["holders"]>;

interface Wanted {
  chain: string;
  contract: string;
  /** Null: the current state. */
  block: string | null;
}

/** The owners of all tokens as CSV, with a header. */
async function readSnapshot(wanted: Wanted, signal: AbortSignal, report: (rows: number) => void): Promise<string[]> {
  const lines = ["token_id,address,amount\n"];
  for (let after: string | null = null; ; ) {
    const variables: VariablesOf<typeof query> = { ...wanted, after };
    const answer: ResultOf<typeof query> = await repeatWhileUnavailable(
      () => api.graphql(query, variables),
      patiently(signal),
    );
    const holders: Holders | null | undefined = answer.contract?.holders;
    if (!holders) throw new Error("The index has no contract at this address.");
    const { nodes, pageInfo } = holders;
    for (const { tokenId, address, amount } of nodes) lines.push(`${tokenId},${address},${amount}\n`);
    report(lines.length - 1);
    if (!pageInfo.hasNextPage) return lines;
    after = pageInfo.endCursor;
    signal.throwIfAborted();
  }
}

/** A contract's holders as a file, now or as of a block. */
export function Snapshot({ chain, address }: { chain: string; address: string }) {
  const [block, setBlock] = useState("");
  const [rows, setRows] = useState(0);
  const [file, setFile] = useState<{ url: string; name: string } | null>(null);
  const abort = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    abort.current = controller;
    return () => controller.abort();
  }, []);
  useEffect(() => () => (file ? URL.revokeObjectURL(file.url) : undefined), [file]);
  const make = useMutation({
    mutationFn: async () => {
      setFile(null);
      setRows(0);
      const wanted = { chain, contract: address, block: block.trim() === "" ? null : block.trim() };
      const lines = await readSnapshot(wanted, abort.current.signal, setRows);
      const url = URL.createObjectURL(new Blob(lines, { type: "text/csv" }));
      setFile({ url, name: `holders-${chain}-${address.toLowerCase()}${wanted.block ? `-${wanted.block}` : ""}.csv` });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    make.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <div className="fields">
        <label>
          As of block
          <span className="hint">With everything that happened in it; empty: now</span>
          <input
            inputMode="numeric"
            pattern="\s*\d*\s*"
            value={block}
            autoComplete="off"
            onChange={(event) => setBlock(event.target.value)}
          />
        </label>
      </div>
      <div className="row">
        <button type="submit" disabled={make.isPending}>
          Make a snapshot of the holders
        </button>
        {file && (
          <a className="button main" href={file.url} download={file.name}>
            Download {counted(rows, "row")}
          </a>
        )}
      </div>
      {make.isPending && <p role="status">{rows.toLocaleString()} rows read…</p>}
      <ErrorNotice error={make.error} />
    </form>
  );
}
