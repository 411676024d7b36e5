import { CID } from "multiformats/cid";
// Not Node 24's built-in fetch: kubo answers before it has read the whole body, which may crash the process then.
import { FormData, fetch } from "undici";
import { z } from "zod";
import type { Config } from "../config/config.ts";
import type { PinDriver } from "./context.ts";

/** One line of the answer. Lines of other kinds (statistics) have no `Root`. */
const line = z.object({
  Root: z.object({ Cid: z.object({ "/": z.string() }), PinErrorMsg: z.string().default("") }).optional(),
});

/**
 * A kubo node through its RPC interface: `POST /api/v0/dag/import`, which pins the root of the CAR.
 * The node answers 200 before it has read the CAR, so only its line about the root counts. Without that line, or with
 * an error in it, nothing was pinned. None of its errors is final (a full disk, a wrong address in our settings), so
 * each is tried again.
 */
export function createKubo({ url, authorization }: NonNullable<Config["ipfs"]["kubo"]>): PinDriver {
  return {
    name: "kubo",
    async pin(root, car) {
      const form = new FormData();
      form.append("file", car, `${root}.car`);
      const answer = await fetch(`${url}/api/v0/dag/import?pin-roots=true&allow-big-block=false`, {
        method: "POST",
        body: form,
        headers: authorization === null ? {} : { Authorization: authorization },
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`kubo answered ${answer.status}: ${text.slice(0, 300)}`);
      const roots = text
        .split("\n")
        .filter(Boolean)
        .map(parseLine)
        .filter((item) => item !== undefined);
      const [pinned] = roots;
      if (!pinned || roots.length > 1) throw new Error(`kubo named ${roots.length} roots instead of one`);
      if (pinned.PinErrorMsg !== "") throw new Error(`kubo could not pin: ${pinned.PinErrorMsg}`);
      return CID.parse(pinned.Cid["/"]).toV1().toString();
    },
  };
}

function parseLine(text: string) {
  return line.parse(JSON.parse(text)).Root;
}
