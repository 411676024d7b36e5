import { ErrorNotice } from "../notices.tsx";
import type { useOwnerTransaction } from "./use-owner-transaction.ts";

interface OwnerTransactionProps {
  transaction: ReturnType<typeof useOwnerTransaction>;
  /** Verb on the buttons, such as `Withdraw`; the wallet's name follows. */
  word: string;
  disabled: boolean;
  /** Whether there is nothing left to send; the last transaction's result stays. */
  isOver?: boolean;
}

/** A button for each wallet that can send the transaction, and the result. */
export function OwnerTransaction({ transaction, word, disabled, isOver = false }: OwnerTransactionProps) {
  const { wallets, send, isPending, error, said, isDone, leave } = transaction;
  return (
    <div className="stack tight">
      {!isOver && (
        <div className="row">
          {wallets.map((wallet) => (
            <button type="button" key={wallet.id} disabled={disabled || isPending} onClick={() => send(wallet)}>
              {word} with {wallet.name}
            </button>
          ))}
        </div>
      )}
      {said && (
        <p role="status" className={isDone ? "notice good" : ""}>
          {said}
        </p>
      )}
      {leave && (
        <p>
          <button type="button" onClick={leave}>
            Stop waiting
          </button>
        </p>
      )}
      <ErrorNotice error={error} />
    </div>
  );
}
