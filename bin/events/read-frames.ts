/** One server-sent event (HTML, 9.2.6). */
export interface Frame {
  /** The position to resume from after it. */
  id: string | null;
  /** `message` when the stream gives none. */
  event: string;
  /** Empty: the frame only has an id. */
  data: string;
}

/** The longest event that is accepted; the service's are below 20 KB. */
const mostCharacters = 4_194_304;

/**
 * Reads the events of a `text/event-stream`.
 *
 * @throws Error for an event without an end: the server is not this service.
 */
export async function* readFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<Frame, void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of body) {
    text += decoder.decode(part, { stream: true });
    const blocks = text.split(/\r\n\r\n|\n\n|\r\r/);
    text = blocks.pop() ?? "";
    if (text.length > mostCharacters) throw new Error("the stream has an event without an end");
    for (const block of blocks) {
      const frame = parse(block);
      if (frame) yield frame;
    }
  }
}

/** @returns null for a comment. */
function parse(block: string): Frame | null {
  const lines = block.split(/\r\n|\n|\r/).filter((line) => line !== "" && !line.startsWith(":"));
  if (lines.length === 0) return null;
  const valuesOf = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ""));
  return {
    id: valuesOf("id").at(-1) ?? null,
    event: valuesOf("event").at(-1) ?? "message",
    data: valuesOf("data").join("\n"),
  };
}
