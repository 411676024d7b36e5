import { ServiceError } from "../errors/errors.ts";
import { type DisplayType, displayTypes, type MetadataInput, type Trait } from "../uploads/upload-metadata.ts";
import { type Builder, oncePerBuilder } from "./builder.ts";

/** A metadata document as an input, of uploads and mints. */
export const metadataInputType = oncePerBuilder((builder: Builder) => {
  const displayType = builder.enumType("TraitDisplayType", { values: displayTypes });
  const trait = builder.inputType("TraitInput", {
    fields: (t) => ({
      traitType: t.string({ required: true }),
      value: t.field({ type: "JSON", required: true, description: "A string or a number." }),
      maxValue: t.float(),
      displayType: t.field({ type: displayType }),
    }),
  });
  return builder.inputType("MetadataInput", {
    fields: (t) => ({
      name: t.string({ required: true }),
      description: t.string({ required: true }),
      fileUrl: t.string({ required: true, description: "Link of the image or other file; stored as image." }),
      externalUrl: t.string(),
      animationUrl: t.string(),
      attributes: t.field({ type: [trait] }),
      customFields: t.field({ type: "JSON", description: "An object; its members are added to the document." }),
    }),
  });
});

interface GivenMetadata {
  name: string;
  description: string;
  fileUrl: string;
  externalUrl?: string | null | undefined;
  animationUrl?: string | null | undefined;
  attributes?: GivenTrait[] | null | undefined;
  customFields?: unknown;
}

interface GivenTrait {
  traitType: string;
  value?: unknown;
  maxValue?: number | null | undefined;
  displayType?: DisplayType | null | undefined;
}

/** What the use case takes. @throws ServiceError `invalid_type` for what the schema cannot say. */
export function readMetadata(input: GivenMetadata): MetadataInput {
  return {
    name: input.name,
    description: input.description,
    fileUrl: input.fileUrl,
    externalUrl: input.externalUrl ?? null,
    animationUrl: input.animationUrl ?? null,
    attributes: input.attributes?.map(traitOf) ?? null,
    customFields: customFieldsOf(input.customFields),
  };
}

function traitOf({ traitType, value, maxValue, displayType }: GivenTrait, index: number): Trait {
  if (typeof value !== "string" && typeof value !== "number") {
    const field = `input.attributes.${index}.value`;
    throw new ServiceError("invalid_type", "the value of a trait must be a string or a number", { field });
  }
  return { traitType, value, maxValue: maxValue ?? null, displayType: displayType ?? null };
}

function customFieldsOf(value: unknown): Record<string, unknown> | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ServiceError("invalid_type", "customFields must be an object", { field: "input.customFields" });
}
