import type { ServiceAddress } from "../service-address.ts";
import { ServiceClient } from "../service-client.ts";
import { openDeployment, openIntent } from "./deploy.ts";
import { Journal, journalPath, lastStep } from "./journal.ts";
import type { Reporter } from "./reporter.ts";

const query = `query ($id: ID!) { deployment(id: $id) { state progress holdReason transactionHash } }`;

/** Shows how far the launch of a folder is, from its journal and the service. Changes nothing. */
export async function showStatus(folder: string, address: ServiceAddress, reporter: Reporter): Promise<void> {
  const { steps } = Journal.read(folder);
  const files = steps.filter(({ step }) => step === "file").length;
  const [begun, directory, ended, deployed] = [
    lastStep(steps, "begun"),
    lastStep(steps, "directory"),
    lastStep(steps, "deploy_ended"),
    lastStep(steps, "deployed"),
  ];
  const [intent, sent] = [openIntent({ steps }), openDeployment({ steps })];
  reporter.step("journal", `${journalPath(folder)}, begun ${begun?.at} at ${begun?.service}`, { begun });
  reporter.step("files", `${files} pictures uploaded; metadata ${directory?.uri ?? "not yet"}`, {
    files,
    uri: directory?.uri,
  });
  const before = ended ? `${ended.id} ended as ${ended.state.toLowerCase()}, without a collection; ` : "";
  if (!intent) return reporter.step("deployment", `${before}not asked for yet`);
  if (!sent)
    return reporter.step("deployment", `asked for at ${intent.at}, its answer is not known: resume the launch`);
  const client = new ServiceClient(address);
  const { deployment } = await client.graphql<{ deployment: Record<string, string | null> }>(query, { id: sent.id });
  const text = [deployment["state"]?.toLowerCase(), deployment["progress"], deployment["holdReason"]].filter(Boolean);
  reporter.step("deployment", `${text.join(", ")}; ${deployed?.address ?? sent.predictedAddress}`, deployment);
  for (const step of steps) if (step.step === "updated") reporter.step("update", `${step.kind} at ${step.at}`, step);
}
