// The attackers, in a process of their own: connections that send as fast as they are answered. Started by
// run-attacks.ts, which sends them the requests over IPC; each message is answered with the outcomes so far.
import { Agent, request } from "node:http";

export interface Attack {
  name: string;
  connections: number;
  /** Sent in rotation. */
  requests: AttackRequest[];
}

export interface AttackRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** In a short body, `#` is replaced by a number that was never sent before. */
  body?: string;
}

export type Outcomes = Record<string, Record<string, number>>;

/** The attackers' final report. */
export interface Attacked {
  outcomes: Outcomes;
  /** CPU time of their own process, in milliseconds. */
  cpuMs: number;
}

let [stopped, number] = [false, 0];
const outcomes: Outcomes = {};

function send(port: number, agent: Agent, { requests }: Attack): Promise<string> {
  number += 1;
  const one = requests[number % requests.length] as AttackRequest;
  const text = one.body ?? "";
  const body = text.length < 50_000 ? text.replaceAll("#", String(number)) : text;
  return new Promise((done) => {
    const headers = { ...one.headers, "Content-Length": Buffer.byteLength(body) };
    const outgoing = request(
      { port, host: "127.0.0.1", path: one.path, method: one.method, agent, headers },
      (answer) => {
        let answered = "";
        answer.setEncoding("latin1").on("data", (chunk: string) => {
          if (answered.length < 10_000) answered += chunk;
        });
        answer.on("end", () => done(`${answer.statusCode} ${/"code":"(\w+)"/.exec(answered)?.[1] ?? ""}`.trim()));
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
