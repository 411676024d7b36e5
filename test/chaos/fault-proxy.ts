import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { SeededGenerator } from "../setup/seeded-generator.ts";
import { type Answer, type Call, forcedFaults, rpcFaults } from "./rpc-faults.ts";

/** Faults of the way to the node and back, beside the wrong answers of a node (rpc-faults.ts). */
const transport = [
  "request-dropped",
  "answer-lost",
  "answer-slow",
  "request-doubled",
  "send-swallowed",
  "http-429",
  "http-503",
  "html-502",
  "json-cut",
  "body-empty",
  "not-utf8",
  "answers-shuffled",
  "answers-halved",
  "answers-doubled",
  "ids-wrong",
  "connection-reset",
  "other-chain",
  "receipts-of-dead-blocks",
] as const;

const proxyFaults: readonly string[] = [...transport, ...Object.keys(rpcFaults)];

/** Stands between the service and a node; one request in so many meets a seeded fault. */
export class FaultProxy {
  readonly #server: Server;
  readonly #target: string;
  readonly #random: SeededGenerator;
  /** Another chain under the same roof: some requests end up there. */
  readonly #other: string;
  readonly #receipts = new Map<string, unknown>();
  readonly #onSend: (raws: string[]) => Promise<void>;
  /** How often each fault was met. */
  readonly met = new Map<string, number>();
  /** Share of requests that meet a fault. */
  rate = 0;
  /** For a while everything goes to the other chain. */
  otherChain = false;
  /** Requests that another chain got without being asked which one it is: its answers were believed. */
  believed = 0;
  /** For a while transactions are taken and forgotten. */
  swallowSends = false;
  /** Every request meets this fault, as far as it can show it. */
  forced = "";
  /** So many of the next receipts that the node does not have any more are given all the same. */
  deadReceipts = 0;
  /** So many of the next answers come when nobody waits for them any more. */
  late = 0;

  private constructor(
    target: string,
    other: string,
    random: SeededGenerator,
    onSend: (raws: string[]) => Promise<void>,
  ) {
    this.#target = target;
    this.#other = other;
    this.#random = random;
    this.#onSend = onSend;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.#serve(Buffer.concat(chunks).toString("utf8"), response).catch(() => response.destroy());
      });
      request.on("error", () => response.destroy());
    });
  }

  /** @param onSend sees the bytes of transactions before the node does. */
  static async start(
    target: string,
    other: string,
    random: SeededGenerator,
    onSend: (raws: string[]) => Promise<void>,
  ): Promise<FaultProxy> {
    const proxy = new FaultProxy(target, other, random, onSend);
    await new Promise<void>((done) => proxy.#server.listen(0, "127.0.0.1", done));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  record(fault: string): void {
    this.met.set(fault, (this.met.get(fault) ?? 0) + 1);
  }

  async #serve(body: string, response: ServerResponse): Promise<void> {
    const parsed = JSON.parse(body) as Call | Call[];
    const calls = Array.isArray(parsed) ? parsed : [parsed];
    const raws = calls
      .filter(({ method }) => method === "eth_sendRawTransaction")
      .map(({ params }) => String(params[0]));
    if (raws.length > 0) await this.#onSend(raws);
    const swallow = this.swallowSends && raws.length > 0;
    const fault = swallow
      ? "send-swallowed"
      : this.forced || (this.#random.chance(this.rate) ? this.#chooseFault(calls) : "");
    if (fault) this.record(fault);
    const reply = (text: string | Buffer, status = 200, type = "application/json") =>
      void response.writeHead(status, { "content-type": type }).end(text);
    switch (fault) {
      case "request-dropped":
      case "connection-reset":
        return void response.destroy();
      case "http-429":
        return reply('{"error":"slow down"}', 429);
      case "http-503":
        return reply("", 503);
      case "html-502":
        return reply("<html><h1>502 Bad Gateway</h1></html>", 502, "text/html");
      case "body-empty":
        return reply("");
      case "send-swallowed": {
        if (raws.length === 0) break;
        const answers = calls.map(({ id }) => ({ jsonrpc: "2.0", id, result: `0x${"00".repeat(32)}` }));
        return reply(JSON.stringify(answers));
      }
      case "answer-slow":
        await sleep(this.#random.between(200, 1_500));
        break;
      case "request-doubled":
        await this.#forward(body);
        break;
    }
    const elsewhere = this.otherChain || fault === "other-chain";
    if (elsewhere && !calls.some(({ method }) => method === "eth_chainId")) this.believed += 1;
    const answers = await this.#forward(body, elsewhere ? this.#other : this.#target);
    if (fault === "answer-lost") return void response.destroy();
    if (this.late > 0) {
      this.late -= 1;
      this.record("answer too late");
      await sleep(10_500);
    }
    const list = this.#tamper(fault, calls, Array.isArray(answers) ? answers : [answers]);
    const text = JSON.stringify(Array.isArray(parsed) ? list : list[0]);
    if (fault === "json-cut") return reply(text.slice(0, text.length >> 1));
    if (fault === "not-utf8") return reply(Buffer.concat([Buffer.from([0xff, 0xfe, 0x00]), Buffer.from(text)]));
    reply(text);
  }

  /** A fault that this request can show: a fault of receipts needs somebody who asks for one. */
  #chooseFault(calls: readonly Call[]): string {
    const methods = new Set(calls.map(({ method }) => method));
    for (let tries = 0; tries < 20; tries += 1) {
      const fault = this.#random.pick(proxyFaults);
      if (fault === "send-swallowed" && !methods.has("eth_sendRawTransaction")) continue;
      if (fault === "receipts-of-dead-blocks" && !methods.has("eth_getTransactionReceipt")) continue;
      const change = rpcFaults[fault];
      if (!change) return fault;
      const probe = { jsonrpc: "2.0", id: 0, result: "0x5" } as const;
      if (calls.some((call) => change(call, probe, this.#random) !== probe) || /receipt|block|head/.test(fault))
        return fault;
    }
    return "answer-slow";
  }

  #tamper(fault: string, calls: readonly Call[], answers: Answer[]): Answer[] {
    for (const [index, call] of calls.entries()) {
      if (call.method !== "eth_getTransactionReceipt") continue;
      const hash = String(call.params[0]);
      const answer = answers[index];
      const dead = this.#receipts.get(hash);
      if (answer?.result) this.#receipts.set(hash, answer.result);
      else if (answer && dead && (fault === "receipts-of-dead-blocks" || this.deadReceipts > 0)) {
        this.deadReceipts = Math.max(0, this.deadReceipts - 1);
        answer.result = dead;
        this.record("dead receipt given");
      }
    }
    const change = rpcFaults[fault] ?? forcedFaults[fault];
    if (change)
      return answers.map((answer, index) => {
        const call = calls[index];
        return call ? change(call, answer, this.#random) : answer;
      });
    switch (fault) {
      case "answers-shuffled":
        return [...answers].reverse();
      case "answers-halved":
        return answers.slice(0, answers.length >> 1);
      case "answers-doubled":
        return [...answers, ...answers];
      case "ids-wrong":
        return answers.map((answer) => ({ ...answer, id: answer.id + 1_000 }));
      default:
        return answers;
    }
  }

  async #forward(body: string, target = this.#target): Promise<Answer | Answer[]> {
    const answer = await fetch(target, { method: "POST", headers: { "content-type": "application/json" }, body });
    return (await answer.json()) as Answer | Answer[];
  }
}
