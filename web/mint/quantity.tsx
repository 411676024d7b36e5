/** @jsxImportSource preact */

interface QuantityProps {
  count: number;
  most: number;
  busy: boolean;
  /** Whether the wallet has only this one mint. */
  once: boolean;
  change: (count: number) => void;
}

/** The number of tokens, by keyboard or with two buttons large enough for a thumb. */
export function Quantity({ count, most, busy, once, change }: QuantityProps) {
  return (
    <div class="quantity">
      <label for="how-many">
        How many
        <span class="hint">
          up to {most} in one mint{once ? "; a wallet has one presale mint" : ""}
        </span>
      </label>
      <span class="stepper">
        <button type="button" aria-label="One less" disabled={busy || count <= 1} onClick={() => change(count - 1)}>
          −
        </button>
        <input
          id="how-many"
          type="number"
          inputMode="numeric"
          min={1}
          max={most}
          value={count}
          disabled={busy}
          onInput={(event) => change(Math.max(1, Math.floor(Number(event.currentTarget.value)) || 1))}
        />
        <button type="button" aria-label="One more" disabled={busy || count >= most} onClick={() => change(count + 1)}>
          +
        </button>
      </span>
    </div>
  );
}
