import { GraphQLError } from "graphql";
import type { Address, Hex } from "viem";
import type { Builder } from "./builder.ts";
import { UploadedFile } from "./multipart-request.ts";

const maxUint256 = 2n ** 256n - 1n;

/** The API's scalars. Chain-sized integers are decimal strings, because JSON numbers are exact only up to 2^53. */
export function addScalars(builder: Builder): void {
  builder.scalarType("ChainName", {
    description:
      "The name of a chain, such as polygon. `chains` lists the chains of this installation, and so does the error for an unknown name.",
    serialize: String,
    parseValue: (value) => {
      if (typeof value === "string") return value;
      throw new GraphQLError("not a value of ChainName: the name of a chain is wanted, as a string", {
        extensions: { code: "value_error" },
      });
    },
  });
  builder.scalarType("Address", {
    description: "An EVM address: 0x and 40 hex digits. Accepted in any letter case, returned in lower case.",
    serialize: (value) => String(value).toLowerCase(),
    parseValue: (value) =>
      parseText(value, "Address", /^0x[0-9a-fA-F]{40}$/, "invalid_address").toLowerCase() as Address,
  });
  for (const name of ["TokenId", "Uint256", "Wei"] as const) {
    builder.scalarType(name, {
      description: `${name === "Wei" ? "An amount in wei" : "An integer from 0 to 2^256 - 1"}, as a decimal string.`,
      serialize: (value) => String(value),
      parseValue: (value) => parseUint256(value, name),
    });
  }
  builder.scalarType("DateTime", {
    description: "A timestamp in RFC 3339, UTC: 2026-01-31T12:00:00.000Z.",
    serialize: (value) => (value instanceof Date ? value.toISOString() : String(value)),
    parseValue: parseDateTime,
  });
  builder.scalarType("Hex", {
    description: "Bytes: 0x and an even number of hex digits, returned in lower case.",
    serialize: (value) => String(value).toLowerCase(),
    parseValue: (value) => parseText(value, "Hex", /^0x([0-9a-fA-F]{2})*$/, "value_error").toLowerCase() as Hex,
  });
  builder.scalarType("CID", {
    description: "An IPFS content identifier, CIDv1 in base32.",
    serialize: String,
    parseValue: (value) => parseText(value, "CID", /^[a-zA-Z0-9]{10,200}$/, "value_error"),
  });
  builder.scalarType("JSON", {
    description: "Any JSON value: an object, array, string, number, boolean or null.",
    serialize: (value) => value,
    parseValue: (value) => value,
  });
  builder.scalarType("Upload", {
    description: "A file of a multipart request (graphql-multipart-request-spec). Send null in the variables.",
    serialize: () => {
      throw new GraphQLError("files are not part of answers");
    },
    parseValue: parseUpload,
    parseLiteral: () => parseUpload(null),
  });
}

function parseUpload(value: unknown): UploadedFile {
  if (value instanceof UploadedFile) return value;
  throw new GraphQLError("a file comes as a part of a multipart request, and its variable is null", {
    extensions: { code: "value_error" },
  });
}

function parseText(value: unknown, scalar: string, shape: RegExp, code: string): string {
  if (typeof value === "string" && shape.test(value)) return value;
  throw new GraphQLError(`not a value of ${scalar}`, { extensions: { code } });
}

function parseUint256(value: unknown, scalar: string): bigint {
  const text = typeof value === "number" && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text === "string" && /^\d{1,78}$/.test(text) && BigInt(text) <= maxUint256) return BigInt(text);
  throw new GraphQLError(`not a value of ${scalar}: a decimal string from 0 to 2^256 - 1 is wanted`, {
    extensions: { code: "value_error" },
  });
}

function parseDateTime(value: unknown): Date {
  const date =
    typeof value === "string" && /^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:\d{2})$/.test(value) ? new Date(value) : null;
  if (date && !Number.isNaN(date.getTime())) return date;
  throw new GraphQLError("not a value of DateTime: RFC 3339 with an offset is wanted", {
    extensions: { code: "invalid_date" },
  });
}
