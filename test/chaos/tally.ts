/** What a run met and did, by name. */
export class Tally {
  readonly #counts = new Map<string, number>();

  count(what: string, by = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + by);
  }

  of(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  fault(kind: string, times = 1): void {
    this.count(`fault ${kind}`, times);
  }

  get faults(): string[] {
    return [...this.#counts.keys()].filter((name) => name.startsWith("fault ")).map((name) => name.slice(6));
  }

  get sorted(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort());
  }
}
