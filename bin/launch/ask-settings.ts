import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cancel, group, intro, outro, select, text } from "@clack/prompts";
import { CommandError } from "../command-error.ts";
import { etherPattern, parseSettings, type SettingsInput, settingsFile } from "./settings.ts";

const matches = (pattern: RegExp, message: string) => (value: string | undefined) =>
  pattern.test(value ?? "") ? undefined : message;
const addressIn = matches(/^0x[0-9a-fA-F]{40}$/, "an address is 0x and 40 hex digits");
const addressOrNone = matches(/^(0x[0-9a-fA-F]{40})?$/, "an address is 0x and 40 hex digits");
const present = matches(/\S/, "it cannot be empty");
const wholeNumber = matches(/^\d{1,7}$/, "a whole number");
const amount = matches(etherPattern, "an amount such as 0.05");
const isTime = (value: string | undefined) =>
  Number.isNaN(Date.parse(value ?? "")) ? "a time such as 2026-01-31T18:00:00Z" : undefined;
const timeOrNone = (value: string | undefined) => (value ? isTime(value) : undefined);

/** Asks for the settings and writes `launch.json`. @throws CommandError when nobody can answer, or it exists. */
export async function askSettings(folder: string): Promise<void> {
  const path = join(folder, settingsFile);
  if (!process.stdin.isTTY)
    throw new CommandError(`${path}: questions need a terminal; docs/launch.md has an example to copy`);
  if (
    await access(path).then(
      () => true,
      () => false,
    )
  )
    throw new CommandError(`${path} is there already; edit it`);
  intro(`The collection in ${folder}`);
  const soon = new Date(Math.ceil(Date.now() / 86_400_000 + 1) * 86_400_000).toISOString().replace(".000", "");
  const given = await group(
    {
      chain: () => text({ message: "Chain", initialValue: "goerli", validate: present }),
      name: () => text({ message: "Name of the collection", validate: present }),
      symbol: () => text({ message: "Symbol", validate: present }),
      owner: () => text({ message: "Wallet that will own it", validate: addressIn }),
      treasury: ({ results }) =>
        text({
          message: "Wallet that receives the revenue, for ever",
          initialValue: results.owner ?? "",
          validate: addressIn,
        }),
      price: () => text({ message: "Price of one token", initialValue: "0.01", validate: amount }),
      tokensPerMint: () => text({ message: "Most tokens of one mint", initialValue: "5", validate: wholeNumber }),
      reserve: () => text({ message: "Tokens that only the owner mints", initialValue: "0", validate: wholeNumber }),
      royaltiesBps: () =>
        text({ message: "Royalties in hundredths of a percent", initialValue: "500", validate: wholeNumber }),
      royaltiesAddress: () =>
        text({ message: "Wallet of the royalties (empty: the owner)", defaultValue: "", validate: addressOrNone }),
      publicMintStart: () => text({ message: "Begin of the public sale", initialValue: soon, validate: isTime }),
      presaleMintStart: () =>
        text({ message: "Begin of the presale (empty: none)", defaultValue: "", validate: timeOrNone }),
      allowlist: ({ results }) =>
        results.presaleMintStart
          ? text({
              message: "File of the folder with the wallets of the presale",
              initialValue: "allowlist.txt",
              validate: present,
            })
          : Promise.resolve(""),
      reveal: () =>
        select({
          message: "When are the tokens shown?",
          options: [
            { value: "now" as const, label: "at once" },
            { value: "later" as const, label: "after `mintyard launch reveal`; a placeholder until then" },
          ],
        }),
    },
    {
      onCancel: () => {
        cancel("Nothing was written.");
        throw new CommandError("cancelled");
      },
    },
  );
  const { royaltiesAddress, presaleMintStart, allowlist, ...always } = given;
  const settings: SettingsInput = {
    ...always,
    treasury: String(given.treasury),
    tokensPerMint: Number(given.tokensPerMint),
    reserve: Number(given.reserve),
    royaltiesBps: Number(given.royaltiesBps),
    publicMintStart: inUtc(given.publicMintStart),
    ...(royaltiesAddress ? { royaltiesAddress: String(royaltiesAddress) } : {}),
    ...(presaleMintStart ? { presaleMintStart: inUtc(String(presaleMintStart)) } : {}),
    ...(allowlist ? { allowlist: String(allowlist) } : {}),
    ...(given.reveal === "later" ? { placeholder: { name: given.name, description: "Not revealed yet." } } : {}),
  };
  parseSettings(settings, path);
  await writeFile(path, `${JSON.stringify(settings, null, 2)}\n`, { flag: "wx" });
  outro(`${path} is written; \`mintyard launch ${folder} --dry-run\` checks everything`);
}

function inUtc(time: string): string {
  return new Date(time).toISOString();
}
