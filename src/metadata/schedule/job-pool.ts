/** One contract never gets more than this part of the pool, and one chain of several no more than that. */
const contractShare = 0.05;
const chainShare = 0.75;

/**
 * The permits of one worker process to read tokens. A slow contract, or a chain whose node
 * hangs, fills its own part only.
 */
export class JobPool {
  readonly #size: number;
  readonly #perChain: number;
  readonly perContract: number;
  readonly #chains = new Map<number, number>();
  readonly #contracts = new Map<string, number>();
  #running = 0;

  constructor(size: number, chains: number) {
    this.#size = size;
    this.#perChain = chains > 1 ? Math.max(1, Math.floor(size * chainShare)) : size;
    this.perContract = Math.max(1, Math.floor(size * contractShare));
  }

  /** Whether a job of the contract may start now; `contract` names the chain too. */
  hasRoom(chainId: number, contract: string): boolean {
    return (
      this.#running < this.#size &&
      (this.#chains.get(chainId) ?? 0) < this.#perChain &&
      (this.#contracts.get(contract) ?? 0) < this.perContract
    );
  }

  /** Counts `work` until it ends. */
  async run(chainId: number, contract: string, work: () => Promise<void>): Promise<void> {
    this.#count(chainId, contract, 1);
    try {
      await work();
    } finally {
      this.#count(chainId, contract, -1);
    }
  }

  #count(chainId: number, contract: string, by: 1 | -1): void {
    this.#running += by;
    this.#chains.set(chainId, (this.#chains.get(chainId) ?? 0) + by);
    const count = (this.#contracts.get(contract) ?? 0) + by;
    if (count > 0) this.#contracts.set(contract, count);
    else this.#contracts.delete(contract);
  }
}
