/** For how long the nodes have to serve another chain, and nothing else. One lie is no reason. */
const patienceMs = 10_000;
/** On a busy machine a single look can last as long. */
const fewestLooks = 3;

/** Notices nodes that came back as another chain. Looks that got no answer at all count for nothing. */
export class ForeignChainWatch {
  #since: number | null = null;
  #looks = 0;

  /** The nodes served the chain that is indexed. */
  noteOwn(): void {
    this.#since = null;
    this.#looks = 0;
  }

  /** The nodes served another one. @returns true when they have done so for ten seconds. */
  isLasting(now = performance.now()): boolean {
    this.#since ??= now;
    this.#looks += 1;
    return this.#looks >= fewestLooks && now - this.#since >= patienceMs;
  }
}
