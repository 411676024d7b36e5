/** A run's figures, printed as they come, with those that miss their bound. */
export class Figures {
  readonly #figures: Record<string, number> = {};
  readonly #missed: string[] = [];

  say(line: string): void {
    console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
  }

  note(name: string, value: number): void {
    this.#figures[name] = Math.round(value * 100) / 100;
    this.say(`${name}: ${this.#figures[name]}`);
  }

  /** @param most the bound; a larger figure misses it. */
  check(name: string, value: number, most: number): void {
    this.#figures[name] = Math.round(value * 100) / 100;
    if (!(value <= most)) this.#missed.push(name);
    this.say(`${name}: ${this.#figures[name]} (at most ${most})${value <= most ? "" : " MISSED"}`);
  }

  /** The last line: JSON with every figure. Sets the exit code. */
  print(): void {
    console.log(JSON.stringify({ ...this.#figures, missed: this.#missed }));
    process.exitCode = this.#missed.length > 0 ? 1 : 0;
  }
}
