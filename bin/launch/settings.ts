import { join } from "node:path";
import { z } from "zod";
import { CommandError } from "../command-error.ts";
import { readText } from "./read-text.ts";

export const settingsFile = "launch.json";

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/, "an address is 0x and 40 hex digits");
/** An amount in ether as decimal text; a JSON number would lose digits. */
export const etherPattern = /^\d{1,9}(\.\d{1,18})?$/;
const ether = z.string().regex(etherPattern, 'an amount in the chain\'s currency as text, such as "0.05"');
const time = z.iso.datetime({ offset: true, error: "a time with its zone, such as 2026-01-31T18:00:00Z" });
const whole = z.int().min(0);

const schema = z.strictObject({
  chain: z.string().min(1),
  name: z.string().min(1),
  symbol: z.string().min(1),
  owner: address,
  treasury: address,
  price: ether,
  presalePrice: ether.optional(),
  tokensPerMint: z.int().min(1).default(5),
  /** Tokens that only the owner can mint. */
  reserve: whole.default(0),
  /** Checked against the number of metadata files before anything is paid. */
  maxSupply: z.int().min(1).optional(),
  royaltiesBps: whole.max(10_000).default(0),
  royaltiesAddress: address.optional(),
  publicMintStart: time,
  presaleMintStart: time.optional(),
  /** A file in the folder with one wallet per line. */
  allowlist: z.string().min(1).optional(),
  /** `later` shows the placeholder until `mintyard launch reveal`. */
  reveal: z.enum(["now", "later"]).default("now"),
  placeholder: z
    .strictObject({ name: z.string().min(1), description: z.string().default(""), image: z.string().optional() })
    .optional(),
  /** Whether the service may update the collection: reveal, sale times, allowlist. */
  serviceAdmin: z.boolean().default(true),
  metadataUpdatable: z.boolean().default(true),
});

/** The content of `launch.json`. Prices are decimal text in the chain's currency, royalties hundredths of a percent. */
export type Settings = z.output<typeof schema>;
export type SettingsInput = z.input<typeof schema>;

/** @throws CommandError with every fault in the file. */
export async function readSettings(folder: string): Promise<Settings> {
  const path = join(folder, settingsFile);
  const text = await readText(folder, settingsFile).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT")
      throw new CommandError(`${path} is missing: \`mintyard launch init ${folder}\` asks for what belongs into it`);
    throw error;
  });
  return parseSettings(parseJson(text, path), path);
}

export function parseSettings(value: unknown, path: string): Settings {
  const result = schema.safeParse(value);
  const faults = result.success ? faultsOf(result.data) : result.error.issues.map(describeIssue);
  if (faults.length > 0) throw new CommandError(`${path}:\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
  return result.data as Settings;
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${path} is no JSON: ${(error as Error).message}`);
  }
}

function describeIssue({ path, message, ...rest }: z.core.$ZodIssue): string {
  if ("keys" in rest && path.length === 0) return `unknown: ${(rest.keys as string[]).join(", ")}`;
  return `${path.join(".") || "launch.json"}: ${message}`;
}

/** Faults that only a combination of members shows. */
function faultsOf(settings: Settings): string[] {
  const { reveal, placeholder, serviceAdmin, metadataUpdatable, allowlist, presaleMintStart } = settings;
  return [
    ...(reveal === "later" && !placeholder ? ["placeholder: a collection that is revealed later needs one"] : []),
    ...(reveal === "later" && !metadataUpdatable ? ["metadataUpdatable: false, so it could never be revealed"] : []),
    ...(reveal === "later" && !serviceAdmin ? ["serviceAdmin: false, so `launch reveal` could not reveal it"] : []),
    ...(allowlist && !presaleMintStart ? ["presaleMintStart: missing, so the allowlist would never be used"] : []),
  ];
}
