// Run by bombs.test.ts: reads each URL of the arguments through the real fetcher and parser, and
// reports what came of it, how long it took and how far the process grew.

import { parseDocument } from "../../src/metadata/read/parse-document.ts";
import { inspect } from "../../src/metadata/read/probe-media.ts";
import { createFetcher } from "../../src/outbound/fetcher.ts";

const fetcher = createFetcher({ allowPrivate: true });
const [warmUp = "", ...urls] = process.argv.slice(2);
for (let at = 0; at < 5; at += 1) await read(warmUp);

const results = [];
for (const url of urls) {
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 10);
  const started = performance.now();
  const fault = await read(url);
  const ms = performance.now() - started;
  clearInterval(timer);
  most = Math.max(most, process.memoryUsage().rss);
  results.push({ url, fault, ms: Math.round(ms), grownMb: Math.round((most - before) / 2 ** 20) });
}
process.stdout.write(JSON.stringify(results));
await fetcher.close();

async function read(url: string): Promise<string> {
  if (url.endsWith("?head")) {
    const head = await fetcher.fetchHead(url, 65_536);
    if ("fault" in head) return head.fault;
    const { width } = inspect(head.bytes, head.totalBytes);
    return `head of ${head.bytes.byteLength}, width ${width}`;
  }
  const answer = await fetcher.fetch(url);
  if ("fault" in answer) return answer.fault;
  const document = parseDocument(answer.bytes);
  return "fault" in document ? document.fault : "read";
}
