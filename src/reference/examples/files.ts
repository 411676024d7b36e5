import { LocalFile, type Task, yours } from "../example.ts";

const upload = "upload { id uri url sizeBytes contentType } userErrors { code field message fix }";

export const files: Task = {
  title: "Store files and metadata",
  about: "Files and token metadata are stored on IPFS before a collection names them.",
  examples: [
    {
      title: "Store a file",
      rest: "post /v0/files",
      graphql: "mutation uploadFile",
      select: upload,
      input: { file: new LocalFile("key.png") },
    },
    {
      title: "Store one metadata document",
      rest: "post /v0/metadata",
      graphql: "mutation uploadMetadata",
      select: upload,
      input: {
        name: "Key #1",
        description: "Opens the first door.",
        fileUrl: yours.image,
        attributes: [{ traitType: "Colour", value: "red" }],
      },
    },
    {
      title: "Store a folder of metadata",
      rest: "post /v0/metadata/directory",
      graphql: "mutation uploadMetadataDirectory",
      select: "uri fileCount sizeBytes warnings { rule message } userErrors { code field message fix }",
      restInput: { metadata_files: [new LocalFile("0.json"), new LocalFile("1.json")] },
      graphqlInput: { files: [new LocalFile("0.json"), new LocalFile("1.json")] },
    },
    {
      title: "List your uploads",
      rest: "get /v0/me/storage",
      graphql: "query viewer",
      select:
        "uploads(first: 20, kinds: [METADATA]) { nodes { uri url createdAt } pageInfo { hasNextPage endCursor } }",
      restInput: { type: ["metadata"], page_size: 20 },
    },
  ],
};
