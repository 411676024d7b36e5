import { costOfReading, questions, questionsOfDay } from "../../src/accounts/admit-address.ts";
import { ofAddress, ofAddresses } from "../../src/accounts/document-budget.ts";
import { workOfAddress, workOfAddresses } from "../../src/accounts/open-work.ts";
import { defaultPlans } from "../../src/auth/plans.ts";
import { usualStreams } from "../../src/auth/stream-permits.ts";
import { gasShare } from "../../src/config/chain-settings.ts";
import { loadConfig } from "../../src/config/config.ts";
import { maxConnections } from "../../src/http/limits.ts";
import type { Cost } from "./meter.ts";
import type { Row } from "./table.ts";

const free = defaultPlans.free;
/** What an installation has that sets nothing. */
const usual = loadConfig({ DATABASE_URL: "postgres://mintyard@127.0.0.1/mintyard" });
const inWords = (figure: number) => figure.toLocaleString("en");

/** What one request of each kind took. */
export type Seen = Readonly<Record<string, Cost>>;

export interface Found {
  seen: Seen;
  /** Of the dearest transaction. */
  gasOfOne: number;
  /** All reservations of a free account by all that it spent. */
  reservedBySpent: number;
  dayEur: number;
}

/** @throws Error for what was not measured: a line without a figure would say that it costs nothing. */
export function costOf(seen: Seen, name: string): Cost {
  const cost = seen[name];
  if (!cost) throw new Error(`${name} was not measured`);
  return cost;
}

/** A figure that differs from machine to machine, rounded up to one that does not. */
const coarse = (value: number, steps: readonly number[]) => steps.find((step) => value <= step) ?? Math.ceil(value);

/** Each scarce thing, who can use it, and what was found; what bounds it is a setting or a plan's number. */
export function describeCosts({ seen, gasOfOne, reservedBySpent, dayEur }: Found): Row[] {
  const most = (names: readonly string[], read: (cost: Cost) => number) =>
    Math.max(...names.map((name) => read(costOf(seen, name))));
  const ms = (...names: string[]) =>
    `${coarse(
      most(names, (cost) => cost.processorMs),
      [250, 1_000, 4_000],
    )} ms`;
  const calls = (...names: string[]) => most(names, (cost) => cost.rpcCalls);
  const rowsOf = (...names: string[]) => most(names, (cost) => cost.rows);
  const allGas = Math.ceil(gasOfOne / 50_000) * 50_000;
  const perDay = `${free.transactionsPerDay} deployments and updates a day, ${free.transactionsPerMonth} a month`;
  const requests = `${free.deployRequestsPerDay} requests a day that may spend, dry runs and refused ones included`;
  const uploads = `${free.uploadRequestsPerDay?.toLocaleString("en")} uploads a day`;
  return [
    {
      thing: "gas",
      who: "free account",
      worst: `${allGas.toLocaleString("en")} gas`,
      bound: `${gasShare} % of FREE_ACCOUNT_DAY_EUR (${dayEur} EUR) a day; ${perDay}`,
    },
    {
      thing: "gas",
      who: "free accounts together",
      worst: `${allGas.toLocaleString("en")} gas`,
      bound: `BUDGET_FREE_SHARE (${usual.freeShare} %) of BUDGET_CHAIN_HOUR and BUDGET_CHAIN_DAY`,
    },
    {
      thing: "gas",
      who: "all accounts",
      worst: `${allGas.toLocaleString("en")} gas`,
      bound: "BUDGET_CHAIN_HOUR, BUDGET_CHAIN_DAY; of an account BUDGET_TENANT_DAY",
    },
    {
      thing: "gas reservation",
      who: "free account",
      worst: `${coarse(reservedBySpent, [5, 8, 12])} times what it will cost`,
      bound: "the limits of gas; given back when it is in a block",
    },
    {
      thing: "RPC call",
      who: "free account",
      worst: `${coarse(calls("deployment", "update"), [100, 250])} calls until it is final, ${calls("dry run")} for a dry run`,
      bound: `${perDay}; ${requests}; for mode SIGN a fifth of READER_CALLS_PER_SECOND of a chain in a process`,
    },
    {
      thing: "RPC call",
      who: "no key",
      worst: `${calls("eligibility", "status")} calls (eligibility)`,
      bound: `${questions.burst} questions of an address at once, ${questions.perSecond} a second, ${inWords(questionsOfDay.burst)} a day; READER_CALLS_PER_SECOND of a chain in a process`,
    },
    {
      thing: "RPC call",
      who: "no key, by open pages",
      worst: `${calls("sale")} calls (sale)`,
      bound: `as many questions again; a sale counts as ${costOfReading.sale}, takings as ${costOfReading.takings}, a balance as ${costOfReading.balance}`,
    },
    {
      thing: "row",
      who: "free account",
      worst: `${coarse(rowsOf("deployment", "update"), [30, 60])} rows for a transaction, ${rowsOf("upload", "key")} for another request`,
      bound: `${perDay}; ${requests}; ${uploads}`,
    },
    {
      thing: "row",
      who: "no key",
      worst: `${rowsOf("sign-up")} rows (sign-up)`,
      bound: "SIGN_UPS_PER_HOUR and a twentieth of SIGN_UPS_PER_DAY for a block of addresses; SIGN_UPS_PER_DAY for all",
    },
    {
      thing: "byte of disk",
      who: "free account",
      worst: "1 byte for each byte sent",
      bound: `${Number(free.storageBytes) / 2 ** 30} GiB of uploads, ${Number(free.allowlistBytes) / 2 ** 20} MiB of presale lists; FREE_ACCOUNTS_MAX_BYTES of all free accounts; MIN_FREE_DISK_BYTES stay free`,
    },
    {
      thing: "connection",
      who: "anybody",
      worst: "1 connection",
      bound: `${inWords(maxConnections)} in a process, beyond which whoever has most loses idle ones; MAX_REQUESTS_IN_FLIGHT in a process; ${usualStreams.ofAccount} streams of an account, ${inWords(usualStreams.ofProcess)} in a process`,
    },
    {
      thing: "processor second",
      who: "free account",
      worst: `${ms("deployment", "update", "dry run", "upload", "read")}`,
      bound: `${requests}; ${uploads}; ${Number(free.requestsPerMonth).toLocaleString("en")} reads a month`,
    },
    {
      thing: "processor second",
      who: "no key",
      worst: ms("eligibility", "status", "refused"),
      bound: `for new documents ${ofAddress.perSecond} ms a second of an address and ${ofAddresses.perSecond} ms a second of all in a process; for content and pages ${workOfAddress.perSecond} and ${workOfAddresses.perSecond}; MAX_REQUESTS_IN_FLIGHT`,
    },
  ];
}
