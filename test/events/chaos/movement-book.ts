interface Movement {
  id: string;
  sequence: string;
  contract: string;
  tokenId: string;
  amount: string;
  from: string;
  to: string;
  blockNumber: string;
  logIndex: number;
  batchIndex: number;
  retracts: string | null;
}

/** The body of a webhook, or of an event of a stream. */
export interface EventBody {
  type: string;
  data: Movement;
}

const nobody = `0x${"0".repeat(40)}`;

/** What somebody knows who applies each event once by its id, and takes back what a retraction names: docs/events.md. */
export class MovementBook {
  readonly #seen = new Set<string>();
  readonly #movements = new Map<string, Movement>();
  readonly #retracted = new Set<string>();
  retractions = 0;
  repeated = 0;

  take({ type, data }: EventBody): void {
    if (this.#seen.has(data.id)) {
      this.repeated += 1;
      return;
    }
    this.#seen.add(data.id);
    if (type === "nft.transfer.retracted" && data.retracts !== null) {
      this.retractions += 1;
      this.#movements.delete(data.retracts);
      this.#retracted.add(data.retracts);
    }
    if (type === "nft.transfer" && !this.#retracted.has(data.id)) this.#movements.set(data.id, data);
  }

  /** Who holds how much, by `contract/token/owner`; what is zero is left out. */
  holdings(): Map<string, bigint> {
    const held = new Map<string, bigint>();
    const add = (contract: string, tokenId: string, owner: string, amount: bigint) => {
      if (owner === nobody) return;
      const name = `${contract}/${tokenId}/${owner}`;
      const now = (held.get(name) ?? 0n) + amount;
      if (now === 0n) held.delete(name);
      else held.set(name, now);
    };
    for (const { contract, tokenId, from, to, amount } of this.#movements.values()) {
      add(contract, tokenId, from, -BigInt(amount));
      add(contract, tokenId, to, BigInt(amount));
    }
    return held;
  }
}

/** What differs, as text; at most ten. */
export function differences(one: ReadonlyMap<string, bigint>, other: ReadonlyMap<string, bigint>): string[] {
  const names = new Set([...one.keys(), ...other.keys()]);
  return [...names]
    .filter((name) => one.get(name) !== other.get(name))
    .slice(0, 10)
    .map((name) => `${name}: ${one.get(name) ?? 0n} and ${other.get(name) ?? 0n}`);
}
