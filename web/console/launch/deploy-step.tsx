import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { ApiError, get, send } from "../api.ts";
import { ErrorNotice } from "../notices.tsx";
import { requestOf } from "./draft.ts";
import type { StepProps } from "./fields.tsx";

interface Plan {
  predicted_address: string;
  idempotency_key: string;
  gas: number;
  cost: number;
  max_cost: number;
  warnings: string[];
}

/** The dry run's words, the button, and the deployment's way until it stands. */
export function DeployStep({ draft, change, clear }: StepProps & { clear: () => void }) {
  const client = useQueryClient();
  const plan = useMutation({
    mutationFn: async () => {
      const headers: Record<string, string> = draft.idempotencyKey ? { "Idempotency-Key": draft.idempotencyKey } : {};
      const made = await send<Plan>("POST", "/v0/contracts/collections?dry_run=true", requestOf(draft), headers);
      // With the plan's key the collection gets the plan's address, and a request that is sent twice is one.
      change({ idempotencyKey: made.idempotency_key });
      return made;
    },
  });
  const deploy = useMutation({
    mutationFn: async () => {
      const headers = { "Idempotency-Key": draft.idempotencyKey };
      const path = "/v0/contracts/collections";
      const { transaction_hash } = await send<{ transaction_hash: string }>("POST", path, requestOf(draft), headers);
      change({ transactionHash: transaction_hash });
    },
  });
  const { mutate: check, isIdle } = plan;
  const sent = draft.transactionHash !== "";
  useEffect(() => {
    if (!sent && isIdle) check();
  }, [sent, isIdle, check]);
  const way = useQuery({
    queryKey: ["deployment", draft.chain, draft.transactionHash],
    enabled: sent,
    queryFn: () => deploymentOf(draft.chain, draft.transactionHash),
    refetchInterval: ({ state }) => (state.data?.address || state.data?.failed ? false : 1_000),
  });
  const address = way.data?.address;
  useEffect(() => {
    if (!address) return;
    if (draft.hidden) localStorage.setItem(`mintyard-reveal ${address.toLowerCase()}`, draft.baseUri);
    void client.invalidateQueries({ queryKey: ["collections"] });
  }, [address, draft.hidden, draft.baseUri, client]);
  if (sent)
    return (
      <div className="stack" aria-live="polite">
        {address ? (
          <>
            <p className="notice">
              The collection stands at <code>{address}</code>.
            </p>
            <div className="row">
              <Link className="button main" to="/collections/$chain/$address" params={{ chain: draft.chain, address }}>
                Open the collection
              </Link>
              <a className="button" href={`/mint/${draft.chain}/${address}`}>
                See the mint page
              </a>
              <button type="button" onClick={clear}>
                Launch another one
              </button>
            </div>
          </>
        ) : (
          <p className={`notice ${way.data?.failed ? "wrong" : ""}`}>
            {way.data?.text ?? "The deployment is signed and stored."}
          </p>
        )}
        <p className="small quiet">
          Transaction <code>{draft.transactionHash}</code>
        </p>
        {way.data?.failed && (
          <button type="button" onClick={() => change({ transactionHash: "", idempotencyKey: "" })}>
            Back to the check
          </button>
        )}
        <ErrorNotice error={way.error} />
      </div>
    );
  const { data } = plan;
  return (
    <div className="stack" aria-live="polite">
      {plan.isPending && <p role="status">Checking the launch against the chain…</p>}
      <ErrorNotice error={plan.error ?? deploy.error} />
      {data && (
        <>
          <dl className="facts">
            <dt>Address</dt>
            <dd>
              <code>{data.predicted_address}</code>
            </dd>
            <dt>Gas</dt>
            <dd>{data.gas.toLocaleString()}</dd>
            <dt>Cost of the deployment</dt>
            <dd>
              {data.cost} now, at most {data.max_cost} (this installation pays)
            </dd>
          </dl>
          {data.warnings.map((text) => (
            <p key={text} className="notice warn">
              {text}
            </p>
          ))}
        </>
      )}
      <div className="row">
        <button type="button" disabled={plan.isPending} onClick={() => check()}>
          Check again
        </button>
        <button
          type="button"
          className="main"
          disabled={!data || plan.isPending || deploy.isPending}
          onClick={() => deploy.mutate()}
        >
          Deploy
        </button>
      </div>
    </div>
  );
}

interface Way {
  address: string | null;
  text: string;
  failed: boolean;
}

/** The lookup answers 404 with what it waits for until the collection stands. */
async function deploymentOf(chain: string, hash: string): Promise<Way> {
  try {
    const { contract_address } = await get<{ contract_address: string }>(`/v0/contracts/${hash}?chain=${chain}`);
    return { address: contract_address, text: "", failed: false };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    return { address: null, text: error.message, failed: error.code !== "transaction_pending" };
  }
}
