import { costOfReading, questions, questionsOfDay } from "../../src/accounts/admit-address.ts";
import { ofAddress, ofAddresses } from "../../src/accounts/document-budget.ts";
import { workOfAddress, workOfAddresses } from "../../src/accounts/open-work.ts";
import { entriesForOneDeployment, forOneUpload } from "../../src/auth/large-requests.ts";
import { defaultPlans } from "../../src/auth/plans.ts";
import { usualStreams } from "../../src/auth/stream-permits.ts";
import { gasShare } from "../../src/config/chain-settings.ts";
import { loadConfig } from "../../src/config/config.ts";
import { hostRates } from "../../src/events/host-rates.ts";
import { challengesOfEndpoint } from "../../src/events/retry-schedule.ts";
import { mostFailed, shownOfEndpoint } from "../../src/events/webhook-results.ts";
import { maxConnections } from "../../src/http/limits.ts";
import { countedGas } from "../../src/relay/submit/gas-ceiling.ts";
import type { Cost } from "./meter.ts";
import type { Row } from "./table.ts";

const free = defaultPlans.free;
/** What an installation has that sets nothing. */
const usual = loadConfig({ DATABASE_URL: "postgres://mintyard@127.0.0.1/mintyard" });
const inWords = (figure: number) => figure.toLocaleString("en");

/** What a message takes of the worker, its receiver beside it: test/events/webhook-attacks.long.test.ts. */
export const messageMs = 5;

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
  const counted = `${perDay}, each counted once for ${inWords(Number(countedGas))} gas`;
  const ofPlan = `${inWords(Number(free.deployGas))} for a deployment, ${inWords(Number(free.updateGas))} for an update, ${inWords(Number(free.tokenGas))} for a token`;
  const requests = `${free.deployRequestsPerDay} requests a day that may spend, dry runs and refused ones included`;
  const uploads = `${free.uploadRequestsPerDay?.toLocaleString("en")} uploads a day`;
  return [
    {
      thing: "gas",
      who: "free account",
      worst: `${allGas.toLocaleString("en")} gas as measured, by the plan ${ofPlan}`,
      bound: `${gasShare} % of FREE_ACCOUNT_DAY_EUR (${dayEur} EUR) a day; ${counted}`,
    },
    {
      thing: "gas",
      who: "free accounts together",
      worst: `${allGas.toLocaleString("en")} gas`,
      bound: `FREE_ACCOUNTS_DAY_EUR (${Number(usual.freeDayMicroEur) / 1e6} EUR) on all chains; BUDGET_FREE_SHARE (${usual.freeShare} %) of BUDGET_CHAIN_HOUR and BUDGET_CHAIN_DAY`,
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
      worst: `${coarse(rowsOf("deployment", "update"), [35, 60])} rows for a transaction, ${rowsOf("upload", "key")} for another request`,
      bound: `${perDay}; ${requests}; ${uploads}`,
    },
    {
      thing: "row",
      who: "no key",
      worst: `${rowsOf("sign-up")} rows (sign-up)`,
      bound: "SIGN_UPS_PER_HOUR and a twentieth of SIGN_UPS_PER_DAY for a block of addresses; SIGN_UPS_PER_DAY for all",
    },
    {
      thing: "message to an endpoint",
      who: "free account",
      worst: `1 message for each event and endpoint, ${messageMs} ms of processor each`,
      bound: `${free.maxWebhooks} endpoints that name contracts, ${inWords(free.webhookTriesPerDay ?? Number.NaN)} messages a day, failed ones included; of them ${(free.maxWebhooks ?? Number.NaN) * challengesOfEndpoint} to endpoints that have not answered a challenge; a host gets ${hostRates.ofAccount} a second of an account and ${hostRates.ofAll} of all from a worker`,
    },
    {
      thing: "row of deliveries",
      who: "free account",
      worst: "none for an event that waits",
      bound: `of each endpoint ${shownOfEndpoint} that were delivered, ${inWords(mostFailed)} that wait for another try; kept EVENT_DAYS`,
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
      bound: `${requests}; ${uploads}; ${Number(free.requestsPerMonth).toLocaleString("en")} reads a month; ${inWords(forOneUpload.files)} files or ${forOneUpload.bytes / 2 ** 20} MiB of a directory count as one upload, ${inWords(entriesForOneDeployment)} entries of a presale list as one request that may spend`,
    },
    {
      thing: "second of the database",
      who: "free account",
      worst: `${usual.readLimits.report / 1_000} s (a report)`,
      bound: `${inWords(usual.heavyTimes.free ?? 0)} ms of heavy reads a minute in a process (HEAVY_READ_MS_FREE); of all free accounts half of MAX_HEAVY_READS, and one place at least`,
    },
    {
      thing: "processor second",
      who: "no key",
      worst: ms("eligibility", "status", "refused"),
      bound: `for new documents ${ofAddress.perSecond} ms a second of an address and ${ofAddresses.perSecond} ms a second of all in a process; for content and pages ${workOfAddress.perSecond} and ${workOfAddresses.perSecond}; MAX_REQUESTS_IN_FLIGHT`,
    },
  ];
}
