import { formatCost } from "../../shared/amounts.ts";
import type { Collection } from "../collections.ts";
import { useCoin } from "../installation.ts";
import { ErrorNotice } from "../notices.tsx";
import { type Changes, useUpdate } from "./use-update.ts";

interface CheckedUpdateProps {
  collection: Collection;
  /** Null while there is nothing to send. */
  changes: Changes | null;
  /** Label of the button that sends the changes. */
  label: string;
  /** Label of the button that checks the changes. */
  check?: string;
  /** Label of the button while there are no changes. */
  idle?: string;
  /** Whether the change cannot be undone. */
  danger?: boolean;
}

/** First a dry run and its results, then a button that sends exactly that, then the transaction's progress. */
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
