import { useState } from "react";
import { isAddress } from "viem/utils";
import { counted } from "../../shared/amounts.ts";
import type { Collection } from "../collections.ts";
import { OwnerTransaction } from "./owner-transaction.tsx";
import { useOwnerTransaction } from "./use-owner-transaction.ts";

/** Selector of `reserveMint(address,uint256)`. */
const reserveMint = "0xb0ea1802";
const word = (value: bigint) => value.toString(16).padStart(64, "0");

/** Mints from the reserve, free, to any address that the owner chooses. @param left unminted tokens of the reserve. */
export function ReserveMint({ collection, left }: { collection: Collection; left: number }) {
  const [to, setTo] = useState(collection.owner_address);
  const [amount, setAmount] = useState("1");
  const count = Math.floor(Number(amount));
  const isComplete = isAddress(to.trim(), { strict: false }) && count >= 1 && count <= left;
  const transaction = useOwnerTransaction(collection, async () => ({
    data: `${reserveMint}${word(BigInt(to.trim()))}${word(BigInt(count))}`,
    confirm: (fee) => `Confirm in your wallet: ${counted(count, "token")} of the reserve; it costs ${fee}.`,
    done: `${counted(count, "token")} of the reserve ${count === 1 ? "is" : "are"} minted.`,
    unchanged: "nothing was minted",
  }));
  return (
    <section className="card stack" aria-labelledby="reserve">
      <h2 id="reserve">Reserve</h2>
      <p className="quiet">
        {left === 0
          ? "All of it is minted."
          : `${counted(left, "token")} that only you mint, free of charge. The owner's wallet sends the transaction.`}
      </p>
      {left > 0 && (
        <div className="fields">
          <label>
            Receiver
            <input value={to} spellCheck="false" autoComplete="off" onChange={(event) => setTo(event.target.value)} />
          </label>
          <label>
            How many
            <input
              type="number"
              min={1}
              max={left}
              value={amount}
              onChange={(event) => setAmount(event.target.value)}
            />
          </label>
        </div>
      )}
      <OwnerTransaction transaction={transaction} word="Mint" disabled={!isComplete} isOver={left === 0} />
    </section>
  );
}
