import { join } from "node:path";
import { type Address, createPublicClient, http } from "viem";
import { expect, test, vi } from "vitest";
import { runLaunch } from "../../bin/launch/run-launch.ts";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { Client } from "../setup/client.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { type FolderCase, folderCases } from "./folder-cases.ts";
import { expectRefusal, type Follow, judgeTokens, writeFolder } from "./judge-launch.ts";
import { png } from "./made-files.ts";

// Every folder of the table, launched on a chain, and read through the gateway as a stranger would.
const stack = leaseStack();
const config = temporaryFolder();

/** What the launch reported, by event; warnings are texts. */
async function launch(folder: string) {
  vi.stubEnv("XDG_CONFIG_HOME", config);
  const events = new Map<string, Record<string, unknown>>();
  const warnings: string[] = [];
  const reporter = {
    step: (event: string, _text: string, fields: Record<string, unknown> = {}) => void events.set(event, fields),
    warn: (text: string) => void warnings.push(text),
    progress: () => undefined,
    end: () => undefined,
  };
  const url = new URL(stack.ready.rest).origin;
  await runLaunch(folder, { url, key: stack.ready.apiKey }, reporter, {
    ...{ strict: false, dryRun: false, pinTimeoutMs: 60_000 },
    confirm: async () => true,
  });
  return { events, warnings };
}

const follow: Follow = async (path) => {
  const answer = await fetch(`${stack.ready.gateway}/${path.split("/").map(encodeURIComponent).join("/")}`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  return answer.ok ? bytes : null;
};

test.each(folderCases)("a folder is deployed whole or refused by name: $name", async (one) => {
  const folder = join(temporaryFolder(), "art");
  await writeFolder(folder, one);
  if (one.refused) {
    const refusal = await launch(folder).catch((error: Error) => error);
    expect(refusal, "it was not refused").toBeInstanceOf(Error);
    expectRefusal(one, folder, (refusal as Error).message);
    return;
  }
  const { events, warnings } = await launch(folder);
  if (one.warns) expect(warnings.join("\n")).toMatch(one.warns);
  const chain = createPublicClient({ transport: http(stack.ready.rpcUrl ?? "") });
  const { deploymentConfig, runtimeConfig } = (await chain.readContract({
    address: events.get("deployed")?.["address"] as Address,
    abi: collectionAbi,
    functionName: "getInfo",
  })) as { deploymentConfig: { maxSupply: bigint }; runtimeConfig: { prerevealTokenURI: string; baseURI: string } };
  const wanted = one.deployed ?? [];
  expect(deploymentConfig.maxSupply).toBe(BigInt(wanted.length));
  const base = runtimeConfig.baseURI || String(events.get("uploaded")?.["baseUri"]);
  await judgeTokens(one, wanted, base, follow);
  const { placeholder, reveal } = one.settings ?? {};
  if (reveal !== "later") return;
  const bytes = await follow(runtimeConfig.prerevealTokenURI.slice("ipfs://".length));
  const { image } = JSON.parse(new TextDecoder().decode(bytes ?? undefined)) as { image: string };
  expect(await follow(image.slice("ipfs://".length))).toEqual(
    new Uint8Array(one.files[placeholder?.image ?? ""] as Buffer),
  );
});

/** Two documents that are counted from 1; the second one has more. */
const twoWith = (more: object): FolderCase => ({
  name: "counted from 1",
  files: {
    "images/1.png": png(),
    "images/2.png": png(),
    "metadata/1.json": { name: "a", image: "1.png", attributes: [] },
    "metadata/2.json": { name: "b", image: "2.png", attributes: [], ...more },
  },
});

test.each(["thumbnail", "image_preview", "properties"])(
  "a dead link into a directory of the service is refused: %s",
  async (member) => {
    const document = new Blob(['{"name":"a"}'], { type: "application/json" });
    const { body } = await new Client(stack.ready).form("/metadata/directory", [
      ["metadata_files", document, "0.json"],
    ]);
    const link = `${body["metadata_directory_ipfs_uri"]}7.png`;
    const folder = join(temporaryFolder(), "art");
    await writeFolder(folder, twoWith({ [member]: member === "properties" ? { deep: [link] } : link }));
    await expect(launch(folder)).rejects.toThrow(/leads into a directory.*metadata\/2\.json; nothing was paid/);
  },
);

test("what the service refuses is named as it is in the folder", async () => {
  const folder = join(temporaryFolder(), "art");
  await writeFolder(folder, twoWith({ story: "x".repeat(1_100_000) }));
  await expect(launch(folder)).rejects.toThrow(/metadata\/2\.json: .* is over \d+ bytes/);
});
