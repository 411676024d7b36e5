import type { S3Settings } from "../../config/ipfs-store.ts";

export class ObjectMissing extends Error {}

/** A request to the store failed. The message is one sentence for the operator that names the setting to look at. */
export class StoreFault extends Error {
  /** Whether retrying is useless: a setting, or a permission at the store, has to change. */
  readonly isMistake: boolean;

  constructor(message: string, isMistake: boolean, cause: unknown) {
    super(message, { cause });
    this.isMistake = isMistake;
  }
}

interface Known {
  name?: string;
  message?: string;
  /** Code of a system error. */
  code?: string;
  /** Code in S3's XML. */
  Code?: string;
  $metadata?: { httpStatusCode?: number };
}

/** The HTTP status; 0 without an answer. */
function statusOf(error: Known): number {
  return error.$metadata?.httpStatusCode ?? 0;
}

/** Whether the answer means that there is no such object. A HEAD has no body, and so no code. */
export function isMissing(error: unknown): boolean {
  const known = error as Known;
  return known.name === "NoSuchKey" || (statusOf(known) === 404 && known.name !== "NoSuchBucket");
}

/** The meaning of a failed request. @param action what was to be done, such as `write`. */
export function faultOf(error: unknown, action: string, settings: S3Settings): StoreFault {
  const known = (error ?? {}) as Known;
  const mistake = explainMistake(known, action, settings);
  if (mistake !== null) return new StoreFault(mistake, true, error);
  const why = known.code ?? known.Code ?? known.name ?? "no answer";
  const status = statusOf(known);
  const words = `the store at ${hostOf(settings)} does not ${action} (${why}${status > 0 ? `, ${status}` : ""})`;
  return new StoreFault(`${words}: start it, or correct ${hostSetting(settings)}`, false, error);
}

function explainMistake(error: Known, action: string, settings: S3Settings): string | null {
  const host = hostOf(settings);
  const { bucket, prefix } = settings;
  if (error.code === "ENOTFOUND") return `${hostSetting(settings)}: there is no host ${host}`;
  if (isCertificate(error.code))
    return `${hostSetting(settings)}: the certificate of ${host} is not valid (${error.code}); NODE_EXTRA_CA_CERTS may name its authority`;
  if (error.code === "EPROTO" || error.code === "ERR_SSL_WRONG_VERSION_NUMBER")
    return `${hostSetting(settings)}: ${host} speaks no TLS there; write http://`;
  switch (error.Code ?? error.name) {
    case "CredentialsProviderError":
      return "AWS_ACCESS_KEY_ID: there are no credentials; set it and AWS_SECRET_ACCESS_KEY, or give the machine a role";
    case "InvalidAccessKeyId":
      return `AWS_ACCESS_KEY_ID: ${host} does not know this key`;
    case "SignatureDoesNotMatch":
      return `AWS_SECRET_ACCESS_KEY: ${host} refuses the signature; it does not fit AWS_ACCESS_KEY_ID`;
    case "ExpiredToken":
    case "InvalidToken":
      return `AWS_SESSION_TOKEN: ${host} refuses it; it has expired, or belongs to another key`;
    case "NoSuchBucket":
      return `IPFS_STORE: there is no bucket ${bucket} at ${host}`;
    case "InvalidBucketName":
      return `IPFS_STORE: ${host} takes no bucket of the name ${bucket}`;
    case "PermanentRedirect":
    case "AuthorizationHeaderMalformed":
    case "IllegalLocationConstraintException":
      return `AWS_REGION: the bucket ${bucket} is not in the region ${settings.region}`;
    case "RequestTimeTooSkewed":
      return `the clock of this machine is not that of ${host}: set it right`;
    default:
  }
  const status = statusOf(error);
  if (status === 401 || status === 403)
    return `IPFS_STORE: the key of AWS_ACCESS_KEY_ID has no right to ${action} s3://${bucket}/${prefix}; give it one`;
  if (status === 301 || status === 307)
    return `AWS_REGION: the bucket ${bucket} is not in the region ${settings.region}`;
  if (status >= 400 && status < 500 && ![404, 408, 409, 425, 429].includes(status))
    return `IPFS_STORE: ${host} refuses to ${action} (${error.Code ?? error.name}, ${status})`;
  return null;
}

function isCertificate(code = ""): boolean {
  return /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code);
}

function hostOf({ endpoint, region }: S3Settings): string {
  return endpoint ? new URL(endpoint).host : `s3.${region}.amazonaws.com`;
}

function hostSetting({ endpoint }: S3Settings): string {
  return endpoint ? "AWS_ENDPOINT_URL_S3" : "AWS_REGION";
}
