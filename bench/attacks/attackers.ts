// The attackers, in a process of their own: connections that send as fast as they are answered. Started by
// run-attacks.ts, which says what to send over IPC; each message is answered by what came back until then.
import { Agent, request } from "node:http";

export interface Attack {
  name: string;
  connections: number;
  key: string | null;
  /** Bodies of POST /graphql. `#` is replaced by a number that nobody has sent before. */
  bodies: string[];
}

export type Outcomes = Record<string, Record<string, number>>;

/** What they say at their end. */
export interface Attacked {
  outcomes: Outcomes;
  /** Of their own process, in milliseconds of one core. */
  cpuMs: number;
}

let [stopped, number] = [false, 0];
const outcomes: Outcomes = {};

function send(port: number, agent: Agent, { key, bodies }: Attack): Promise<string> {
  number += 1;
  const body = (bodies[number % bodies.length] ?? "").replaceAll("#", String(number));
  return new Promise((done) => {
    const headers = {
      ...{ "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) },
      ...(key === null ? {} : { Authorization: key }),
    };
    const outgoing = request(
      { port, host: "127.0.0.1", path: "/graphql", method: "POST", agent, headers },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (chunk: string) => {
          if (text.length < 10_000) text += chunk;
        });
        answer.on("end", () => done(`${answer.statusCode} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ""}`.trim()));
        answer.on("error", () => done("broken"));
      },
    );
    outgoing.on("error", () => done("broken"));
    outgoing.end(body);
  });
}

async function attack(port: number, one: Attack): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const seen = outcomes[one.name] ?? {};
  outcomes[one.name] = seen;
  while (!stopped) {
    const outcome = await send(port, agent, one);
    seen[outcome] = (seen[outcome] ?? 0) + 1;
  }
  agent.destroy();
}

process.on("message", ({ port, attacks }: { port: number; attacks: Attack[] | null }) => {
  if (attacks === null) {
    stopped = true;
    const { user, system } = process.cpuUsage();
    process.send?.({ outcomes, cpuMs: (user + system) / 1_000 } satisfies Attacked, () => process.exit(0));
    return;
  }
  for (const one of attacks) for (let at = 0; at < one.connections; at += 1) void attack(port, one);
});
process.on("disconnect", () => process.exit(0));
process.send?.({ type: "ready" });
