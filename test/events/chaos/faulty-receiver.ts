import { type Answer, type Received, WebhookReceiver } from "../receiver.ts";
import { type EventBody, MovementBook } from "./movement-book.ts";

/** Messages that one program receives at several paths: it breaks in every way at random, before or after it has taken one. */
export class FaultyReceiver {
  readonly books = new Map<string, MovementBook>();
  readonly answers = new Map<string, number>();
  readonly #receiver: WebhookReceiver;
  readonly #random: (below: number) => number;
  /** One answer in so many is a fault; 0: none. */
  faultOneIn = 4;

  private constructor(receiver: WebhookReceiver, random: (below: number) => number) {
    this.#receiver = receiver;
    this.#random = random;
    receiver.answer = (message) => this.#answer(message);
  }

  static async start(random: (below: number) => number): Promise<FaultyReceiver> {
    return new FaultyReceiver(await WebhookReceiver.start(), random);
  }

  get url(): string {
    return this.#receiver.url;
  }

  bookOf(path: string): MovementBook {
    const book = this.books.get(path) ?? new MovementBook();
    this.books.set(path, book);
    return book;
  }

  async close(): Promise<void> {
    await this.#receiver.close();
  }

  #answer({ path, body }: Received): Answer {
    this.#receiver.received.length = 0;
    const taken = (answer: Answer): Answer => {
      this.bookOf(path).take(JSON.parse(body) as EventBody);
      return answer;
    };
    const faults: [string, () => Answer][] = [
      ["500", () => ({ status: 500 })],
      ["503 with a pause", () => ({ status: 503, headers: { "retry-after": "1" } })],
      ["redirect", () => ({ status: 302, headers: { location: "http://127.0.0.1:1/" } })],
      ["reset", () => "reset"],
      ["slow", () => taken({ status: 200, afterMs: 1_500 })],
      // It has taken the message, and the sender does not hear of it: the message comes again.
      ["taken and reset", () => taken("reset")],
      ["taken and 500", () => taken({ status: 500 })],
    ];
    // It lasts fifteen seconds: one fault of two dozen.
    if (this.#random(3) === 0) faults.push(["hang", () => "hang"]);
    const isFaulty = this.faultOneIn > 0 && this.#random(this.faultOneIn) === 0;
    const [name, answer] = (isFaulty ? faults[this.#random(faults.length)] : null) ?? [
      "taken",
      () => taken({ status: 204 }),
    ];
    this.answers.set(name, (this.answers.get(name) ?? 0) + 1);
    return answer();
  }
}
