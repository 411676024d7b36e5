import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { MintyardError } from "../../../client/src/error.ts";
import { keep } from "../../shared/kept.ts";
import { api } from "../api.ts";
import { ErrorNotice } from "../notices.tsx";
import type { Draft } from "./draft.ts";
import type { StepProps } from "./fields.tsx";
import { reportOwnDeployment } from "./own-wallet.ts";

interface Way {
  address: string | null;
  text: string;
  failed: boolean;
}

/** The progress of a deployment that was sent, until the collection exists. */
export function DeploymentWay({ draft, change, clear }: StepProps & { clear: () => void }) {
  const client = useQueryClient();
  const way = useQuery({
    queryKey: ["deployment", draft.chain, draft.transactionHash],
    queryFn: () => (draft.byWallet ? ownDeployment(draft) : deploymentOf(draft)),
    refetchInterval: ({ state }) => (state.data?.address || state.data?.failed ? false : 1_000),
  });
  const address = way.data?.address;
  useEffect(() => {
    if (!address) return;
    if (draft.hidden) keep(`mintyard-reveal ${address.toLowerCase()}`, draft.baseUri);
    void client.invalidateQueries({ queryKey: ["collections"] });
  }, [address, draft.hidden, draft.baseUri, client]);
  return (
    <div className="stack" aria-live="polite">
      {address ? (
        <>
          <p className="notice good">
            The collection stands at <code>{address}</code>.
          </p>
          <div className="row">
            <Link
              className="button main"
              to="/collections/$chain/$address"
              params={{ chain: draft.chain, address }}
              onClick={clear}
            >
              Open the collection
            </Link>
            <a className="button" href={`/mint/${draft.chain}/${address}`} onClick={clear}>
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
        <button type="button" onClick={() => change({ transactionHash: "", idempotencyKey: "", byWallet: false })}>
          Back to the check
        </button>
      )}
      <ErrorNotice error={way.error} />
    </div>
  );
}

/** Until the collection exists, the lookup answers 404 with what it is waiting for. */
async function deploymentOf({ chain, transactionHash: hash }: Draft): Promise<Way> {
  try {
    const { contract_address } = await api.get("/v0/contracts/{transaction_hash}", {
      ...{ path: { transaction_hash: hash }, query: { chain } },
    });
    return { address: contract_address, text: "", failed: false };
  } catch (error) {
    if (!(error instanceof MintyardError) || error.status !== 404) throw error;
    return { address: null, text: error.message, failed: error.code !== "transaction_pending" };
  }
}

/** Since when none of the server's nodes has known a wallet's transaction. */
const unknownSince = new Map<string, number>();
/** After so long, the wallet has replaced the transaction, or the network has dropped it. */
const droppedMs = 60_000;

/** The server looks for a wallet's transaction once it was reported; until it has it, the report is repeated. */
async function ownDeployment(draft: Draft): Promise<Way> {
  const { chain, transactionHash: hash } = draft;
  const found = await deploymentOf(draft);
  if (found.address) return found;
  const refused = await reportOwnDeployment(chain, hash);
  if (refused && refused.code !== "not_found") return { address: null, text: `${refused.message}.`, failed: true };
  if (!refused) unknownSince.delete(hash);
  else if (!unknownSince.has(hash)) unknownSince.set(hash, Date.now());
  if (Date.now() - (unknownSince.get(hash) ?? Date.now()) > droppedMs)
    return {
      ...{ address: null, failed: true },
      text: "The network does not know this transaction any more. If your wallet sped it up, the collection appears among your collections; look there before you deploy again.",
    };
  const waits = refused?.message ?? "Your wallet has sent it; it waits for its confirmation.";
  return { address: null, text: waits, failed: false };
}
