import { formatCost } from "../../shared/amounts.ts";
import type { Collection } from "../collections.ts";
import { useCoin } from "../installation.ts";
import { ErrorNotice } from "../notices.tsx";
import { type Changes, useUpdate } from "./use-update.ts";

interface CheckedUpdateProps {
  collection: Collection;
  /** Null while there is nothing that could be sent. */
  changes: Changes | null;
  /** What the button says that sends them. */
  label: string;
  /** What the button says that checks them. */
  check?: string;
  /** What the button says without changes. */
  idle?: string;
  /** It cannot be undone. */
  danger?: boolean;
}

/** First a dry run and its words, then the button that sends just that, then the transaction's way. */
export function CheckedUpdate({ collection, changes, label, idle = label, ...more }: CheckedUpdateProps) {
  const { check = "Check the change", danger = false } = more;
  const update = useUpdate(collection);
  const plan = changes && update.planOf(changes);
  const coin = useCoin(collection.chain);
  return (
    <div className="stack" aria-live="polite">
      {changes && plan && (
        <>
          <p className="notice good">
            The chain would take this. It needs {plan.gas.toLocaleString()} gas: {formatCost(plan.cost)} {coin} now, at
            most {formatCost(plan.max_cost)} {coin} (this installation pays).
          </p>
          {plan.warnings.map((text) => (
            <p key={text} className="notice warn">
              {text}
            </p>
          ))}
        </>
      )}
      <div className="row">
        {changes && plan ? (
          <button
            type="button"
            className={danger ? "danger" : "main"}
            disabled={update.isPending}
            onClick={() => update.send(changes)}
          >
            {label}
          </button>
        ) : (
          <button
            type="button"
            className={danger ? "" : "main"}
            disabled={!changes || update.isPending}
            onClick={() => changes && update.check(changes)}
          >
            {changes ? check : idle}
          </button>
        )}
      </div>
      {update.said && <p>{update.said}</p>}
      {update.leave && (
        <p>
          <button type="button" onClick={update.leave}>
            Stop waiting
          </button>
        </p>
      )}
      <ErrorNotice error={update.error} />
    </div>
  );
}
