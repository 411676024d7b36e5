import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { MintyardError } from "../../../client/src/error.ts";
import { formatCost } from "../../shared/amounts.ts";
import { isRejection, type Wallet } from "../../shared/wallets.ts";
import { Address } from "../address.tsx";
import { api, mayHaveArrived, patiently } from "../api.ts";
import { useInstallation, useWallets } from "../installation.ts";
import { ErrorNotice } from "../notices.tsx";
import { DeploymentWay } from "./deployment-way.tsx";
import { requestOf } from "./draft.ts";
import type { StepProps } from "./fields.tsx";
import { deployWithWallet } from "./own-wallet.ts";
import { Review } from "./review.tsx";

/** The choices, the dry run, a confirmation to type on real networks, the button, and the deployment's progress. */
export function DeployStep({ draft, change, clear }: StepProps & { clear: () => void }) {
  const chain = useInstallation()?.chains.find(({ name }) => name === draft.chain);
  const wallets = useWallets().filter(({ local, id }) => !local || id === `local-${chain?.id}`);
  const plan = useMutation({
    mutationFn: async () => {
      const { idempotencyKey } = draft;
      const body = requestOf(draft);
      const made = await api.post("/v0/contracts/collections", { query: { dry_run: true }, body, idempotencyKey });
      // With the plan's key, the collection gets the plan's address, and a request that is sent twice is one.
      change({ idempotencyKey: made.idempotency_key ?? idempotencyKey });
      const { predicted_address = "", gas = 0, cost = 0, max_cost = 0, warnings = [] } = made;
      return { predicted_address, gas, cost, max_cost, warnings };
    },
  });
  const [waits, setWaits] = useState<string | null>(null);
  const [typed, setTyped] = useState("");
  const abort = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    abort.current = controller;
    return () => controller.abort();
  }, []);
  const deploy = useMutation({
    mutationFn: async () => {
      const { idempotencyKey } = draft;
      // The client would generate a key that a closed tab loses, and the launch would be deployed a second time.
      if (!idempotencyKey) throw new Error("The launch has changed since it was checked: press Check again.");
      change({ deploying: true });
      const asked = { body: requestOf(draft), idempotencyKey };
      const repeat = patiently(abort.current.signal, setWaits);
      const { transaction_hash } = await api.transact("post", "/v0/contracts/collections", asked, repeat);
      change({ transactionHash: transaction_hash, deploying: false, byWallet: false });
    },
    onError: (error) => {
      // A refused request was not accepted; after any other failure it may have been.
      if (mayHaveArrived(error) || !(error instanceof MintyardError)) return;
      // The request under this key has ended without a collection: a new deployment, once asked for, gets another key.
      const isOver = error.problems.some(({ field }) => field === "Idempotency-Key");
      change(isOver ? { deploying: false, idempotencyKey: "" } : { deploying: false });
      if (isOver) plan.reset();
    },
  });
  const [asked, setAsked] = useState<string | null>(null);
  const byWallet = useMutation({
    onMutate: () => setAsked(null),
    mutationFn: async (wallet: Wallet) => {
      if (!chain) throw new Error("Choose a network first.");
      try {
        const sent = (transactionHash: string) => change({ transactionHash, byWallet: true });
        await deployWithWallet(draft, wallet, chain, setAsked, sent);
      } catch (error) {
        throw isRejection(error) ? new Error("You declined in your wallet. Nothing was sent.") : error;
      }
    },
  });
  const { mutate: check, isIdle } = plan;
  const { mutate: sendAgain, isIdle: notBegun } = deploy;
  const sent = draft.transactionHash !== "";
  const { deploying } = draft;
  useEffect(() => {
    if (!sent && !deploying && isIdle) check();
    // The tab was closed before the answer came.
    if (!sent && deploying && notBegun) sendAgain();
  }, [sent, deploying, isIdle, notBegun, check, sendAgain]);
  if (sent) return <DeploymentWay draft={draft} change={change} clear={clear} />;
  if (deploying)
    return (
      <div className="stack" aria-live="polite">
        <p className="notice">{waits ?? "The deployment is on its way to the server."}</p>
        <ErrorNotice error={deploy.error} />
        {deploy.isError && (
          <p>
            <button type="button" onClick={() => sendAgain()}>
              Send it again
            </button>
          </p>
        )}
      </div>
    );
  const { data } = plan;
  const isMeant = chain?.local === true || (typed.trim() !== "" && typed.trim() === draft.symbol.trim());
  const isBusy = plan.isPending || deploy.isPending || byWallet.isPending;
  return (
    <div className="stack">
      {chain && <Review draft={draft} chain={chain} />}
      <section className="stack" aria-label="Deployment" aria-live="polite">
        <h3>Deployment</h3>
        {plan.isPending && <p role="status">Checking the launch against the chain…</p>}
        <ErrorNotice error={plan.error ?? deploy.error ?? byWallet.error} />
        {data && (
          <>
            <dl className="facts">
              <dt>Address</dt>
              <dd>
                <Address address={data.predicted_address} chain={draft.chain} of="the collection" full />
              </dd>
              <dt>Gas</dt>
              <dd>{data.gas.toLocaleString()}</dd>
              <dt>Cost of the deployment</dt>
              <dd>
                {formatCost(data.cost)} {chain?.coin} now, at most {formatCost(data.max_cost)} {chain?.coin} (this
                installation pays)
              </dd>
            </dl>
            {data.warnings.map((text) => (
              <p key={text} className="notice warn">
                {text}
              </p>
            ))}
          </>
        )}
      </section>
      {chain && !chain.local && (
        <label className="confirm">
          Type the collection's symbol, {draft.symbol.trim()}
          <span className="hint">This deploys on {chain.name}, with real money, and cannot be undone.</span>
          <input
            value={typed}
            spellCheck="false"
            autoComplete="off"
            onChange={(event) => setTyped(event.target.value)}
          />
        </label>
      )}
      <div className="row">
        <button type="button" disabled={plan.isPending} onClick={() => check()}>
          Check again
        </button>
        <button type="button" className="main" disabled={!data || !isMeant || isBusy} onClick={() => deploy.mutate()}>
          Deploy
        </button>
      </div>
      {data && (
        <details>
          <summary>Deploy from your own wallet instead</summary>
          <p className="quiet">
            Your wallet pays the network's fee and becomes the admin of a contract of its own: this service can then not
            change or reveal the collection for you. Its address is known once your wallet has sent the transaction.
          </p>
          <div className="row">
            {wallets.map((wallet) => (
              <button
                type="button"
                key={wallet.id}
                disabled={!isMeant || isBusy}
                onClick={() => byWallet.mutate(wallet)}
              >
                Deploy with {wallet.name}
              </button>
            ))}
          </div>
          {byWallet.isPending && <p role="status">{asked ?? "Your wallet is asked…"}</p>}
        </details>
      )}
    </div>
  );
}
