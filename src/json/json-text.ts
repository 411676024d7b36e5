/**
 * JSON text in pieces. What PostgreSQL wrote stays the bytes that came from it, which may be cut anywhere, and
 * is decoded only where it is read: decoding a page and encoding it again costs more than to send it.
 */
export class JsonText {
  readonly #pieces: (string | Buffer)[] = [];
  /** What gives back the memory of pieces. */
  #lent: (() => void)[] | null = null;

  /** @param pieces bytes are UTF-8. @param giveBack their memory. */
  constructor(pieces: readonly Buffer[] = [], giveBack?: () => void) {
    for (const piece of pieces) this.#pieces.push(piece);
    if (giveBack) this.#lent = [giveBack];
  }

  /** Puts something behind. A string is text already, not a value to be quoted. */
  add(part: string | JsonText): this {
    if (typeof part !== "string") {
      for (const piece of part.#pieces) this.#push(piece);
      // From here on it is this text's.
      if (part.#lent) this.#lent = this.#lent ? this.#lent.concat(part.#lent) : part.#lent;
      part.#lent = null;
    } else if (part !== "") this.#push(part);
    return this;
  }

  /** For a writer that sends one after the other; strings as UTF-8. */
  get pieces(): readonly (string | Buffer)[] {
    return this.#pieces;
  }

  /** Gives back the memory of the pieces: nothing may read them any more. Who never calls it leaves that to the collector. */
  release(): void {
    const lent = this.#lent ?? [];
    this.#lent = null;
    for (const giveBack of lent) giveBack();
  }

  get byteLength(): number {
    let length = 0;
    for (const piece of this.#pieces) length += typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
    return length;
  }

  /** With one character for each byte, for a small text that goes out with its headers. */
  latin1(): string {
    let text = "";
    for (const piece of this.#pieces) {
      if (typeof piece !== "string") text += piece.toString("latin1");
      else text += Buffer.byteLength(piece) === piece.length ? piece : Buffer.from(piece).toString("latin1");
    }
    return text;
  }

  toString(): string {
    return Buffer.concat(
      this.#pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)),
    ).toString();
  }

  /** The text; the memory of its pieces goes back. */
  take(): string {
    const text = this.toString();
    this.release();
    return text;
  }

  #push(piece: string | Buffer): void {
    const last = this.#pieces.length - 1;
    const before = this.#pieces[last];
    if (typeof piece === "string" && typeof before === "string") this.#pieces[last] = before + piece;
    else this.#pieces.push(piece);
  }
}
