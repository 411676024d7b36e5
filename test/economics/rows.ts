import { questions } from "../../src/accounts/admit-address.ts";
import { documentsOfDay, ofAddress, ofAddresses } from "../../src/accounts/document-budget.ts";
import { workOfAddress, workOfAddresses } from "../../src/accounts/open-work.ts";
import { entriesForOneDeployment, forOneUpload } from "../../src/auth/large-requests.ts";
import { usualStreams } from "../../src/auth/stream-permits.ts";
import { callsOfSale } from "../../src/collections/read-sale.ts";
import { callsOfBalance } from "../../src/collections/shown-balance.ts";
import { gasShare, monthGasShare } from "../../src/config/chain-settings.ts";
import { freeMinutesOfDay } from "../../src/db/pool/database-time.ts";
import { hostRates } from "../../src/events/host-rates.ts";
import { challengesOfEndpoint } from "../../src/events/retry-schedule.ts";
import { mostFailed, shownOfEndpoint } from "../../src/events/webhook-results.ts";
import { maxConnections } from "../../src/http/limits.ts";
import { countedGas } from "../../src/transactions/submit/gas-ceiling.ts";
import { bytesOfRow } from "../../src/uploads/upload-record.ts";
import { type Billed, messageMs } from "./bill.ts";
import { type BoundName, free, mostIn, usual } from "./bounds.ts";
import type { Cost } from "./meter.ts";
import type { Row } from "./table.ts";
import type { Attacker } from "./walk.ts";

const inWords = (figure: number) => figure.toLocaleString("en");

export interface Found {
  billed: readonly Billed[];
  /** Of the dearest transaction. */
  gasOfOne: number;
  /** All reservations of a free account by all that it spent. */
  reservedBySpent: number;
  dayEur: number;
  monthEur: number;
  /** What times are multiplied with: a table that is written has room for slower machines. */
  headroom: number;
}

/** A figure that differs from machine to machine, rounded up to one that does not. */
const coarse = (value: number, steps: readonly number[]) => steps.find((step) => value <= step) ?? Math.ceil(value);

/** Each scarce thing, who can use it, and what was found; what bounds it is a setting or a plan's number. */
export function describeCosts({ billed, gasOfOne, reservedBySpent, dayEur, monthEur, headroom }: Found): Row[] {
  /** The most of a resource that one request took, with the operation's name. */
  const most = (attacker: Attacker, bounds: readonly BoundName[], read: (cost: Cost) => number, perPlace = false) => {
    const candidates = billed.filter((one) => one.attacker === attacker && bounds.includes(one.bound));
    const figures = candidates.map((one) => ({ ...one, figure: read(one.cost) / (perPlace ? one.places : 1) }));
    const worst = figures.reduce((found, one) => (one.figure > found.figure ? one : found), {
      ...{ figure: 0, operation: "nothing" },
    });
    return { figure: Math.ceil(worst.figure), operation: `\`${worst.operation}\`` };
  };
  const rpc = ({ rpcCalls }: Cost) => rpcCalls;
  const added = ({ rows }: Cost) => rows;
  const work = ({ processorMs }: Cost) => processorMs * headroom;
  const ofDatabase = ({ databaseMs }: Cost) => databaseMs * headroom;
  const named = ({ figure, operation }: ReturnType<typeof most>, steps: readonly number[], unit: string) =>
    `${inWords(coarse(figure, steps))} ${unit} (${operation})`;
  const times = [25, 50, 100, 250, 500, 1_000, 4_000];
  const few = [1, 2, 4, 6, 10, 15, 25, 50, 100, 150, 250];
  const allGas = Math.ceil(gasOfOne / 50_000) * 50_000;
  const perDay = `${free.transactionsPerDay} deployments and updates a day, ${free.transactionsPerMonth} a month`;
  const counted = `${perDay}, each counted once for ${inWords(Number(countedGas))} gas`;
  const ofPlan = `${inWords(Number(free.deployGas))} for a deployment, ${inWords(Number(free.updateGas))} for an update, ${inWords(Number(free.tokenGas))} for a token`;
  const requests = `${free.deployRequestsPerDay} requests a day that may spend, dry runs and refused ones included`;
  const uploads = `${free.uploadRequestsPerDay?.toLocaleString("en")} uploads a day`;
  const ofAccount = ["read", "spend", "upload", "question"] as const;
  return [
    {
      thing: "gas",
      who: "free account",
      worst: `${allGas.toLocaleString("en")} gas as measured, by the plan ${ofPlan}`,
      bound: `${gasShare} % of FREE_ACCOUNT_DAY_EUR (${dayEur} EUR) a day, ${monthGasShare} % of FREE_ACCOUNT_MONTH_EUR (${monthEur} EUR) a month; ${counted}`,
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
      worst: `${named(most("free account", ["transaction"], rpc), few, "calls until it is final")}, ${named(most("free account", ["spend"], rpc, true), few, "for a request that ends without")}, ${named(most("free account", ["question"], rpc, true), few, "for a question")}`,
      bound: `${perDay}; ${requests}; ${inWords(mostIn("question", 1))} questions a day; for mode SIGN a fifth of READER_CALLS_PER_SECOND of a chain in a process`,
    },
    {
      thing: "RPC call and document",
      who: "free account",
      worst: named(most("free account", ["refresh"], rpc, true), few, "calls for a token that is read again"),
      bound: `${inWords(mostIn("refresh", 1))} tokens a day; METADATA_PER_CONTRACT_MINUTE, METADATA_CALL_GAS, METADATA_CALL_BYTES`,
    },
    {
      thing: "RPC call",
      who: "no key",
      worst: named(most("no key", ["open question"], rpc, true), few, "calls"),
      bound: `${questions.burst} questions of an address at once, ${questions.perSecond} a second, ${inWords(mostIn("open question", 1))} a day; READER_CALLS_PER_SECOND of a chain in a process`,
    },
    {
      thing: "RPC call",
      who: "no key, by open pages",
      worst: named(most("no key", ["reading"], rpc, true), few, "calls for one that counts"),
      bound: `${inWords(mostIn("reading", 1))} calls a day beside them, one of which comes back each minute; a sale is ${callsOfSale.together}, a balance ${callsOfBalance}`,
    },
    {
      thing: "row",
      who: "free account",
      worst: `${named(most("free account", ["transaction"], added), [35, 60], "rows for a transaction")}, ${named(most("free account", ["spend", "read", "question"], added, true), few, "for another request")}`,
      bound: `${perDay}; ${requests}; ${inWords(Number(free.requestsPerMonth))} reads a month`,
    },
    {
      thing: "row of content",
      who: "free account",
      worst: named(most("free account", ["upload"], added), [1_600, 4_000], "rows"),
      bound: `${uploads}; the bytes of uploads, of which a row counts as ${inWords(bytesOfRow)} at least`,
    },
    {
      thing: "row",
      who: "no key",
      worst: named(most("no key", ["sign-up"], added), [8], "rows"),
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
      worst: "1 byte for each byte that counts",
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
      worst: named(most("free account", [...ofAccount, "transaction"], work), times, "ms"),
      bound: `${requests}; ${uploads}; ${inWords(Number(free.requestsPerMonth))} reads a month; ${inWords(mostIn("uncounted", 1))} requests a day that nothing counts; ${inWords(forOneUpload.files)} files or ${forOneUpload.bytes / 2 ** 20} MiB of a directory count as one upload, ${inWords(entriesForOneDeployment)} entries of a presale list as one request that may spend`,
    },
    {
      thing: "second of the database",
      who: "free account",
      worst: `${usual.readLimits.report / 1_000} s (a report), ${named(most("free account", [...ofAccount, "transaction"], ofDatabase), times, "ms")} of what was attacked`,
      bound: `${inWords(usual.heavyTimes.free ?? 0)} ms of heavy reads a minute in a process (HEAVY_READ_MS_FREE), ${freeMinutesOfDay} minutes' worth a day; of all free accounts half of MAX_HEAVY_READS, and one place at least`,
    },
    {
      thing: "processor second",
      who: "no key",
      worst: named(most("no key", ["page", "open question", "reading", "uncounted"], work), times, "ms"),
      bound: `for new documents ${ofAddress.perSecond} ms a second of an address and ${ofAddresses.perSecond} ms a second of all in a process, ${inWords((documentsOfDay.most * 2) / 1_000)} s a day of an address; for content and pages ${workOfAddress.perSecond} and ${workOfAddresses.perSecond}, ${inWords(mostIn("page", 1) / 1_000)} s a day; ${inWords(mostIn("uncounted", 1))} requests a day that nothing counts; MAX_REQUESTS_IN_FLIGHT`,
    },
  ];
}

const eurSteps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3, 5];

const boundsInWords: Record<BoundName, string> = {
  read: "reads of a month",
  upload: "uploads",
  spend: "requests that may spend",
  transaction: "transactions",
  question: "questions to nodes",
  "open question": "questions to nodes",
  reading: "sales and balances, in calls",
  refresh: "tokens read again",
  "sign-up": "sign-ups of a block of addresses",
  page: "milliseconds of content and pages",
  uncounted: "requests that nothing counts",
};

/** The dearest operation of each bound, and what it costs when all that the bound lets through is used for it. */
export function describeOperations(billed: readonly Billed[], headroom: number): Row[] {
  const rounded = (eur: number) => coarse(eur * headroom, eurSteps);
  const rows: Row[] = [];
  for (const who of ["free account", "no key"] as const)
    for (const [bound, words] of Object.entries(boundsInWords) as [BoundName, string][]) {
      const all = billed.filter((one) => one.attacker === who && one.bound === bound);
      if (bound === (who === "no key" ? "question" : "open question")) continue;
      if (bound === "sign-up" && who === "free account") continue;
      const worst = all.reduce<Billed | null>((found, one) => (found && found.dayEur > one.dayEur ? found : one), null);
      if (!worst && billed.length > 0) continue;
      const ofMonth = who === "no key" ? "" : `, ${rounded(worst?.monthEur ?? 0)} EUR a month`;
      rows.push({
        ...{ thing: words, who, worst: `\`${worst?.operation}\`: ${rounded(worst?.dayEur ?? 0)} EUR a day${ofMonth}` },
        bound: `${inWords(mostIn(bound, 1))} a day${who === "no key" ? "" : `, ${inWords(mostIn(bound, 30))} in thirty`}`,
      });
    }
  return rows;
}
