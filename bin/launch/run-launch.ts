import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { CommandError } from "../command-error.ts";
import type { ServiceAddress } from "../service-address.ts";
import { ServiceClient } from "../service-client.ts";
import { readAllowlist } from "./allowlist.ts";
import { checkArtwork, filesToUpload, refuseFindings } from "./check-artwork.ts";
import {
  followDeployment,
  nextDeploymentKey,
  noteEnded,
  openDeployment,
  openIntent,
  type Parts,
  planDeployment,
  sendDeployment,
} from "./deploy.ts";
import { type DeployInput, Journal } from "./journal.ts";
import { printLinks } from "./links.ts";
import { askAbout, findOutside } from "./outside.ts";
import { planUris, type Uris } from "./plan-uris.ts";
import { type Artwork, listed, readFolder } from "./read-folder.ts";
import { inMegabytes, type Reporter } from "./reporter.ts";
import { readSettings, type Settings, settingsFile } from "./settings.ts";
import { uploadDocuments, uploadPlaceholder } from "./upload-documents.ts";
import { uploadFiles } from "./upload-files.ts";
import { verifyCollection } from "./verify-collection.ts";
import { verifyPins } from "./verify-pins.ts";
import { amountOf, weiOf } from "./wei.ts";

export interface LaunchOptions {
  /** Warnings count as errors. */
  strict: boolean;
  /** Report the cost and end: nothing is uploaded, sent or paid. */
  dryRun: boolean;
  pinTimeoutMs: number;
  /** Folders outside the launch's own that may contain its files. */
  filesFrom?: readonly string[];
  /** Continue from a journal that this user did not write on this machine. */
  trustJournal?: boolean;
  /**
   * Asked before money is spent, and before any step that the author of the folder may have chosen; true continues.
   *
   * @param option of the command line that answers the question.
   */
  confirm(question: string, option: string): Promise<boolean>;
}

/**
 * Launches a folder, or continues an earlier run: check, upload, pins, dry run, deployment, verification.
 *
 * @throws CommandError, RefusedError with what is wrong; once that is fixed, the same command continues.
 */
export async function runLaunch(
  given: string,
  address: ServiceAddress,
  reporter: Reporter,
  options: LaunchOptions,
): Promise<void> {
  const folder = resolve(given);
  const settings = await readSettings(folder);
  const artwork = await readFolder(folder);
  const client = new ServiceClient(address);
  const outside = await findOutside(folder, settings, artwork, options.filesFrom ?? []);
  if (outside.length > 0) {
    const { question, option } = askAbout(outside);
    if (!(await options.confirm(question, option)))
      throw new CommandError("nothing was uploaded: put those files into the folder, or take their names out of it");
  }
  const findings = await checkArtwork(folder, artwork, settings, await client.largestFileBytes());
  refuseFindings(findings, options.strict);
  for (const warning of findings.warnings) reporter.warn(warning);
  const files = filesToUpload(artwork.tokens);
  const bytes = files.reduce((sum, path) => sum + (artwork.media.get(path) ?? 0), 0);
  const counts = { tokens: artwork.tokens.length, images: files.length, bytes };
  reporter.step("checked", `${counts.tokens} tokens, ${counts.images} files, ${inMegabytes(bytes)} MB`, counts);
  const journal = Journal.open(folder);
  try {
    if (
      !journal.isOwn &&
      !(options.trustJournal || (await options.confirm(describeForeign(journal), "--trust-journal")))
    )
      throw new CommandError(`nothing was sent: take ${journal.path} away, and the launch begins anew`);
    await begin(client, journal);
    const parts = { client, journal, reporter };
    const deployed = await deployOnce(folder, settings, artwork, parts, options);
    if (!deployed) return;
    if (!journal.last("verified")) {
      await verifyCollection(client, deployed.input, deployed);
      journal.write({ step: "verified", at: new Date().toISOString() });
    }
    reporter.step("verified", `the collection at ${deployed.address} is what was asked for`, {
      address: deployed.address,
    });
    await printLinks({ client, reporter }, deployed.input, deployed);
  } finally {
    reporter.end();
    journal.close();
  }
}

/** A launch belongs to one account: with another account it would be paid for a second time. */
async function begin(client: ServiceClient, journal: Journal): Promise<void> {
  const { viewer } = await client.graphql<{ viewer: { id: string } | null }>("{ viewer { id } }");
  if (!viewer) throw new CommandError("the service does not know the API key; set MINTYARD_KEY");
  const begun = journal.last("begun");
  if (begun && begun.account !== viewer.id)
    throw new CommandError(
      `${journal.path} belongs to another account (at ${begun.service}); use its key and its service`,
    );
  if (!begun)
    journal.writeSynced({
      step: "begun",
      at: new Date().toISOString(),
      id: randomUUID(),
      service: client.url,
      account: viewer.id,
    });
}

interface Deployed {
  input: DeployInput;
  address: string;
  transactionHash: string;
  transactionUrl: string | null;
}

/** @returns null when only a dry run was wanted, or the cost was refused. */
async function deployOnce(
  folder: string,
  settings: Settings,
  artwork: Artwork,
  parts: Parts,
  options: LaunchOptions,
): Promise<Deployed | null> {
  const { journal, reporter } = parts;
  await noteEnded(parts);
  if (options.dryRun) {
    await dryRun(folder, settings, artwork, parts, options.strict);
    return null;
  }
  // Also after the deployment: this reports files that have changed since.
  const uris = await upload(folder, settings, artwork, parts, options);
  let intent = openIntent(journal);
  const done = journal.last("deployed");
  if (intent && done) return { ...done, input: intent.input };
  if (!intent) {
    const input = await requestOf(folder, settings, artwork, uris, nextDeploymentKey(journal));
    const plan = await planDeployment(parts, input);
    const most = amountOf(plan.maxCostWei);
    const ended = journal.last("deploy_ended");
    const again = ended ? `Deployment ${ended.id} ended as ${ended.state.toLowerCase()}, without a collection. ` : "";
    const question = `${again}Deploy ${settings.name} on ${settings.chain} for at most ${most}?`;
    if (!(await options.confirm(question, "--yes"))) return null;
    journal.writeSynced({
      step: "deploy_intent",
      at: new Date().toISOString(),
      input,
      predictedAddress: plan.predictedAddress,
    });
    intent = openIntent(journal);
  }
  if (!intent) throw new Error("the journal lost its last line");
  if (!openDeployment(journal)) {
    const { idempotencyKey } = intent.input;
    refuseOther(intent.input, await requestOf(folder, settings, artwork, uris, idempotencyKey), journal);
    await sendDeployment(parts, intent.input, intent.predictedAddress);
  }
  const found = await followDeployment(parts);
  const deployed = {
    address: found.predictedAddress ?? intent.predictedAddress,
    transactionHash: found.transactionHash ?? "",
    transactionUrl: found.transactionUrl,
  };
  journal.writeSynced({ step: "deployed", at: new Date().toISOString(), ...deployed });
  reporter.step("deployed", `deployed at ${deployed.address}`, deployed);
  return { ...deployed, input: intent.input };
}

/** Shows what the launch would cost. Nothing is stored but the key that determines the address, in the journal. */
async function dryRun(
  folder: string,
  settings: Settings,
  artwork: Artwork,
  parts: Parts,
  strict: boolean,
): Promise<void> {
  const { journal, reporter } = parts;
  if (openIntent(journal))
    return reporter.warn(`${journal.path} has a request that was made already: \`mintyard launch\` goes on with it`);
  const uris = await planUris(folder, settings, artwork, parts, strict);
  await planDeployment(parts, await requestOf(folder, settings, artwork, uris, nextDeploymentKey(journal)));
}

/** What a journal of unknown origin would do. */
function describeForeign(journal: Journal): string {
  const { input } = openIntent(journal) ?? {};
  const of = (member: string) => JSON.stringify(input?.[member] ?? null).slice(0, 120);
  const request = input
    ? ` It asks for the collection ${of("name")} on ${of("chain")}, owner ${of("owner")}, treasury ${of("treasury")}.`
    : "";
  return `${journal.path} was not written by you on this machine.${request} Go on from it?`;
}

/** The user accepted the recorded request, so no other may be sent. @throws CommandError with the differences. */
function refuseOther(recorded: DeployInput, wanted: DeployInput, journal: Journal): void {
  const members = [...new Set([...Object.keys(recorded), ...Object.keys(wanted)])];
  const other = members.filter((member) => JSON.stringify(recorded[member]) !== JSON.stringify(wanted[member]));
  if (other.length > 0)
    throw new CommandError(
      `${journal.path} has a request that is not what ${settingsFile} asks for (${listed(other)}): put back what was asked for, because it may be accepted already`,
    );
}

async function upload(
  folder: string,
  settings: Settings,
  artwork: Artwork,
  parts: Parts,
  { pinTimeoutMs, strict }: LaunchOptions,
): Promise<Uris> {
  const { journal, reporter } = parts;
  const cids = await uploadFiles(folder, artwork, parts);
  const base = await uploadDocuments(folder, artwork, cids, parts, strict);
  const placeholder = await uploadPlaceholder(folder, settings, parts);
  reporter.step("uploaded", `uploaded; metadata at ${base}`, { baseUri: base, placeholder });
  if (openIntent(journal)) return { base, placeholder };
  const roots = [base, ...(placeholder ? [placeholder] : [])].map((uri) =>
    uri.slice("ipfs://".length).replace(/\/$/, ""),
  );
  await verifyPins([...new Set([...cids.values(), ...roots])], parts, pinTimeoutMs);
  reporter.step("pinned", "everything is stored and pinned");
  return { base, placeholder };
}

async function requestOf(
  folder: string,
  settings: Settings,
  artwork: Artwork,
  uris: Uris,
  idempotencyKey: string,
): Promise<DeployInput> {
  const { allowlist, presaleMintStart, presalePrice, royaltiesAddress } = settings;
  return {
    chain: settings.chain,
    name: settings.name,
    symbol: settings.symbol,
    maxSupply: String(artwork.tokens.length),
    reservedSupply: String(settings.reserve),
    tokensPerMint: String(settings.tokensPerMint),
    mintPriceWei: weiOf(settings.price),
    ...(presalePrice === undefined ? {} : { presaleMintPriceWei: weiOf(presalePrice) }),
    owner: settings.owner,
    treasury: settings.treasury,
    publicMintStart: settings.publicMintStart,
    ...(presaleMintStart === undefined ? {} : { presaleMintStart }),
    ...(allowlist === undefined ? {} : { allowlist: (await readAllowlist(join(folder, allowlist))).wallets }),
    ...(uris.placeholder === null ? { baseUri: uris.base } : { prerevealTokenUri: uris.placeholder }),
    royaltiesBps: settings.royaltiesBps,
    ...(royaltiesAddress === undefined ? {} : { royaltiesAddress }),
    serviceAdmin: settings.serviceAdmin,
    metadataUpdatable: settings.metadataUpdatable,
    idempotencyKey,
  };
}

/** Whether the user can do something about the error. */
export function isExpected(error: unknown): error is Error {
  return error instanceof CommandError;
}
