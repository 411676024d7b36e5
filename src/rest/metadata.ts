import { ServiceError } from "../errors/errors.ts";
import { withDrainedBody } from "../http/drain-body.ts";
import { announcedBytes, readMultipart } from "../http/multipart.ts";
import type { Services } from "../services.ts";
import { refuseOverQuota } from "../uploads/admit-upload.ts";
import { displayTypes, type MetadataInput, type Trait, uploadMetadata } from "../uploads/upload-metadata.ts";
import { uploadMetadataDirectory } from "../uploads/upload-metadata-directory.ts";
import type { FileInput } from "../uploads/upload-record.ts";
import { ok } from "./answer.ts";
import { bodyOf, type V0App } from "./app.ts";
import { Input } from "./input.ts";
import { JsonNumber } from "./json-body.ts";
import { queryInput } from "./query.ts";

/** Bytes allowed for the header lines of each part. */
const partOverheadBytes = 1_024;

/** POST /metadata, POST /metadata/directory */
export function addMetadata(app: V0App, services: Services): void {
  const { config } = services;
  app.post("/metadata", async (c) => {
    const body = await bodyOf(c, services);
    const input = readMetadata(body);
    const upload = await uploadMetadata(services, c.get("caller"), input);
    return ok(c, {
      metadata_uri: `ipfs://${upload.cid}`,
      name: input.name,
      description: input.description,
      file_url: input.fileUrl,
      external_url: input.externalUrl,
      animation_url: input.animationUrl,
      custom_fields: input.customFields,
      attributes: legacyTraits(input.attributes),
    });
  });
  app.post("/metadata/directory", (c) =>
    withDrainedBody(c, async () => {
      const query = queryInput(c);
      const dryRun = query.boolean("dry_run") ?? false;
      const wantsWarnings = query.boolean("warnings") ?? dryRun;
      query.check();
      const { directoryFiles, directoryBytes } = config.limits;
      // Slightly more than allowed, so that the use case reports the excess.
      const parts = directoryFiles + 100;
      if (!dryRun) {
        await refuseOverQuota(services, c.get("caller"), announcedBytes(c.env.incoming), parts * partOverheadBytes);
      }
      const account = c.get("caller").accountId;
      const bodyBytes = directoryBytes + parts * partOverheadBytes;
      const form = readMultipart(c.env.incoming, { account, parts, bodyBytes });
      const result = await uploadMetadataDirectory(services, c.get("caller"), metadataFiles(form), { dryRun });
      const uri = {
        metadata_directory_ipfs_uri: `ipfs://${result.cid}/`,
        metadata_directory_ipfs_url: `${config.ipfs.gatewayBase}/${result.cid}`,
      };
      // Old clients get the body they know; new members are sent on request.
      if (!wantsWarnings) return ok(c, uri);
      const { files, sizeBytes } = result;
      const report = { files, size_bytes: sizeBytes, warnings: await result.warnings() };
      return ok(c, { ...(dryRun ? { dry_run: true } : {}), ...uri, ...report });
    }),
  );
}

async function* metadataFiles(form: ReturnType<typeof readMultipart>): AsyncGenerator<FileInput> {
  const field = "metadata_files";
  let some = false;
  for await (const { name, fileName, contentType, stream } of form) {
    if (name !== field) continue;
    if (fileName === null) {
      throw new ServiceError("value_error", `each part ${field} must be a file with a name`, { field });
    }
    some = true;
    yield { fileName, contentType, stream };
  }
  if (!some) throw new ServiceError("parameter_missing", `send the files as parts ${field}`, { field });
}

/**
 * Reads the body of POST /metadata. Unlike elsewhere in `/v0`, `""` and `[]` are values: what is sent is what is
 * stored. Unlisted members, `image` among them, are ignored.
 */
function readMetadata(body: Record<string, unknown>): MetadataInput {
  const input = Input.fromBody(body);
  const text = (name: string) => {
    const value = member(body, name);
    if (value === null || typeof value === "string") return value;
    return input.wrongType(name, "a string") ?? null;
  };
  /** Scripts that number their tokens send a bare number. */
  const nameText = () => {
    const value = member(body, "name");
    return value instanceof JsonNumber ? value.source : text("name");
  };
  const needed = (name: string, emptyAllowed = false) => {
    const value = name === "name" ? nameText() : text(name);
    if (member(body, name) === null || (value === "" && !emptyAllowed)) {
      input.fail("parameter_missing", name, `${name} is missing`);
    }
    return value ?? "";
  };
  const metadata = {
    name: needed("name"),
    description: needed("description", true),
    fileUrl: needed("file_url"),
    externalUrl: text("external_url"),
    animationUrl: text("animation_url"),
    attributes: readTraits(input, member(body, "attributes")),
    customFields: readCustomFields(input, member(body, "custom_fields")),
  };
  input.check();
  return metadata;
}

/** The traits of an answer: all four members, null where none was given. */
function legacyTraits(traits: readonly Trait[] | null): Record<string, unknown>[] | null {
  return (
    traits?.map(({ traitType, value, maxValue, displayType }) => ({
      trait_type: traitType,
      value,
      max_value: maxValue,
      display_type: displayType,
    })) ?? null
  );
}

function readTraits(input: Input, value: unknown): Trait[] | null {
  if (value === null) return null;
  if (!Array.isArray(value)) return input.wrongType("attributes", "an array") ?? null;
  return value.map((item, index) => readTrait(input, item, `attributes[${index}]`));
}

function readTrait(input: Input, item: unknown, at: string): Trait {
  const trait = isObject(item) ? item : {};
  if (!isObject(item)) input.wrongType(at, "an object");
  const traitType = member(trait, "trait_type");
  const value = member(trait, "value");
  const maxValue = member(trait, "max_value");
  const displayType = member(trait, "display_type");
  if (isObject(item)) {
    if (traitType === null) input.fail("parameter_missing", `${at}.trait_type`, `${at}.trait_type is missing`);
    if (value === null) input.fail("parameter_missing", `${at}.value`, `${at}.value is missing`);
  }
  const isText = (given: unknown) => given === null || typeof given === "string";
  // Digits in a text are kept as sent.
  const isNumber = (given: unknown) =>
    given === null || given instanceof JsonNumber || (typeof given === "string" && /^-?\d+(\.\d+)?$/.test(given));
  if (!isText(traitType)) input.wrongType(`${at}.trait_type`, "a string");
  if (!isText(value) && !isNumber(value)) input.wrongType(`${at}.value`, "a string or a number");
  if (!isNumber(maxValue)) input.wrongType(`${at}.max_value`, "a number");
  const known = displayTypes.find((word) => word === displayType);
  if (displayType !== null && !known) {
    const message = `${at}.display_type must be one of ${displayTypes.join(", ")}`;
    input.fail("invalid_enumeration", `${at}.display_type`, message);
  }
  return {
    traitType: String(traitType),
    value: plainJson(value),
    maxValue: plainJson(maxValue),
    displayType: known ?? null,
  };
}

function readCustomFields(input: Input, value: unknown): Record<string, unknown> | null {
  if (value === null) return null;
  if (!isObject(value)) return input.wrongType("custom_fields", "an object") ?? null;
  return plainJson(value) as Record<string, unknown>;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof JsonNumber);
}

function member(body: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(body, name) ? (body[name] ?? null) : null;
}

/** Converts numbers back to plain JSON. One that a double cannot represent keeps its digits. */
function plainJson(value: unknown): unknown {
  if (value instanceof JsonNumber) return isExact(value.value) ? value.value : rawJson(value.source);
  if (Array.isArray(value)) return value.map(plainJson);
  if (value === null || typeof value !== "object") return value;
  // fromEntries defines members, so one called __proto__ stays a member.
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plainJson(item)]));
}

function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

/** ES2026; in V8 since 11.4, but not yet in TypeScript's library. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown };
