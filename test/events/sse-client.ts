import { request } from "node:http";

/** One server-sent event as a client reads it. */
interface SentEvent {
  id: string | null;
  event: string;
  // What a test expects of it is said by its assertions.
  data: ReturnType<typeof JSON.parse>;
}

export interface SseClient {
  status: number;
  events(): SentEvent[];
  text(): string;
  ended(): boolean;
  pause(): void;
  resume(): void;
  destroy(): void;
}

/** Opens a stream over a connection of its own; resolves with the headers of the answer. */
export async function openSse(url: string, headers: Record<string, string>): Promise<SseClient> {
  return await new Promise((done, failed) => {
    const asked = request(url, { headers: { accept: "text/event-stream", ...headers }, agent: false }, (response) => {
      let text = "";
      let ended = false;
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("error", () => undefined);
      response.once("close", () => {
        ended = true;
      });
      done({
        status: response.statusCode ?? 0,
        text: () => text,
        events: () => parse(text),
        ended: () => ended,
        pause: () => void response.pause(),
        resume: () => void response.resume(),
        destroy: () => response.socket.destroy(),
      });
    });
    asked.once("error", failed);
    asked.end();
  });
}

function parse(text: string): SentEvent[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .flatMap((block) => {
      const lines = block.split("\n").filter((line) => !line.startsWith(":"));
      const fieldOf = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? null;
      const data = fieldOf("data");
      return data === null ? [] : [{ id: fieldOf("id"), event: fieldOf("event") ?? "message", data: JSON.parse(data) }];
    });
}
