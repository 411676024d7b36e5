// A receiver of webhooks: node receive-events.ts, with WEBHOOK_SECRET (whsec_…) and PORT. GET /owners shows what it has.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";

interface Movement {
  id: string;
  contract: string;
  tokenId: string;
  to: string;
  blockNumber: string;
  logIndex: number;
  batchIndex: number;
  retracts: string | null;
}

const key = Buffer.from((process.env["WEBHOOK_SECRET"] ?? "").replace(/^whsec_/, ""), "base64");
const toleranceSeconds = 300;

/** All three live in one database in a real receiver, and change in one transaction. */
const seen = new Set<string>();
const retracted = new Set<string>();
const movements = new Map<string, Movement>();

function isGenuine(headers: IncomingHttpHeaders, body: string): boolean {
  const [id, seconds, given] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    String(headers[name]),
  );
  // An old message that somebody kept is not taken again.
  if (!(Math.abs(Date.now() / 1_000 - Number(seconds)) <= toleranceSeconds)) return false;
  const own = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest();
  return (given ?? "")
    .split(" ")
    .filter((part) => part.startsWith("v1,"))
    .map((part) => Buffer.from(part.slice(3), "base64"))
    .some((signature) => signature.length === own.length && timingSafeEqual(signature, own));
}

function take(event: { type: string; data: Movement }): void {
  // The same message may come more than once.
  if (seen.has(event.data.id)) return;
  seen.add(event.data.id);
  if (event.type === "nft.transfer.retracted" && event.data.retracts) {
    movements.delete(event.data.retracts);
    retracted.add(event.data.retracts);
  }
  // A movement whose delivery had failed may come after the retraction that takes it back.
  if (event.type === "nft.transfer" && !retracted.has(event.data.id)) movements.set(event.data.id, event.data);
}

/** The receiver of a token's last movement owns it, whatever order the messages came in. */
function owners(): Record<string, string> {
  const inOrder = [...movements.values()].sort(
    (a, b) =>
      Number(BigInt(a.blockNumber) - BigInt(b.blockNumber)) || a.logIndex - b.logIndex || a.batchIndex - b.batchIndex,
  );
  return Object.fromEntries(inOrder.map(({ contract, tokenId, to }) => [`${contract}/${tokenId}`, to]));
}

createServer((request, response) => {
  if (request.method === "GET") return response.end(JSON.stringify(owners()));
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    // The signature is of these bytes: parse after the check, and never write the JSON anew.
    const body = Buffer.concat(parts).toString();
    if (!isGenuine(request.headers, body)) return response.writeHead(401).end();
    const event = JSON.parse(body);
    // The service asks once whether this receiver wants its messages, and sends no others before it has the answer.
    if (event.type === "webhook.verification") return response.end(event.data.challenge);
    take(event);
    response.writeHead(204).end();
  });
}).listen(Number(process.env["PORT"]), "127.0.0.1");
