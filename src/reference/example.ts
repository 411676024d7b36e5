import { referenceAnchor } from "../http/reference-anchor.ts";

/** Sample values in an example. The page replaces them by the reader's, and so does the test that runs the example. */
export const samples = {
  url: "http://127.0.0.1:3000",
  chain: "polygon",
  collection: "0x5FbDB2315678afecb367f032d93F642f64180aa3",
  contract: "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0",
  wallet: "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96",
  friend: "0x66DC3EEF56C3631B0707C7a37c6EbeB3ce291766",
  image: "ipfs://bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku",
  document: "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii",
  folder: "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/",
  deploymentHash: "0x8f2b1c6d0e4a7935b81f60c2d7e94a5b3c1d8e7f6a5b4c3d2e1f0a9b8c7d6e5f",
  mintHash: "0x1c6d0e4a7935b81f60c2d7e94a5b3c1d8e7f6a5b4c3d2e1f0a9b8c7d6e5f8f2b",
  deploymentId: "8e3a6b5d-2c9f-4e7a-9b7d-4c1f5f0c4e2a",
  updateId: "3b5d2c9f-1e7a-4f0c-8e2a-9b7d4c1f8e3a",
  requestId: "5f0c4e2a-9b7d-4c1f-8e3a-6b5d2c9f1e7a",
  nodeId: "Q29udHJhY3Q6cG9seWdvbjoweDVmYmRiMjMxNQ==",
  keyId: "key_5f0c4e2a9b7d4c1f8e3a6b5d2c9f1e7a",
  webhookId: "wh_5f0c4e2a9b7d4c1f8e3a6b5d2c9f1e7a",
  webhookUrl: "https://example.com/hook",
} as const;

/** `key` has no sample: the shell and the program read it from `MINTYARD_KEY`. */
export type ValueName = keyof typeof samples | "key" | "keyExpression";

/** Marks where a value goes in the text of an example. */
export const markPattern = /⟦(\w+)⟧/g;
const mark = (name: ValueName) => `⟦${name}⟧`;

/** Marks of the reader's values, by name. */
export const yours = Object.fromEntries(Object.keys(samples).map((name) => [name, mark(name as ValueName)])) as Record<
  keyof typeof samples,
  string
>;
export const yourKey = mark("key");
/** The mark of the key as a TypeScript expression. */
export const yourKeyExpression = mark("keyExpression");

/** What an example shows until the reader gives a value. */
export function sampleOf(name: ValueName): string {
  if (name === "key") return "$MINTYARD_KEY";
  return name === "keyExpression" ? `process.env["MINTYARD_KEY"]` : samples[name];
}

/** A file of the reader's, sent as a part of a form. */
export class LocalFile {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

export type Input = Readonly<Record<string, unknown>>;

/** One task, through each API that can do it. */
export interface Example {
  title: string;
  /** Method and path in the OpenAPI document, such as `get /v0/nfts`. */
  rest?: string;
  /** Kind and root field in the GraphQL schema, such as `query nft`. */
  graphql?: string;
  /** The selection on the root field. */
  select?: string;
  /** Variables of `select`, with their types. */
  variables?: Readonly<Record<string, string>>;
  /** In GraphQL's names; for REST it is converted to REST's spelling. */
  input?: Input;
  /** Input that only REST takes, or takes differently, in REST's spelling. A null omits a member. */
  restInput?: Input;
  /** Input that only GraphQL takes, or takes differently. A null omits a member. */
  graphqlInput?: Input;
  /** What a reader has to know in addition to the operations' descriptions. */
  note?: string;
}

export interface Task {
  title: string;
  about: string;
  examples: readonly Example[];
}

/** A call in each of its forms, with marks for the reader's values. */
export interface CollectionCall {
  title: string;
  /** Its anchor in the reference. */
  anchor: string;
  /** By language: `curl`, `GraphQL` and `TypeScript`. */
  forms: Readonly<Record<string, readonly string[]>>;
}

/** The anchor of an example in the page, by its first operation. */
export function anchorOf({ rest, graphql = "" }: Pick<Example, "rest" | "graphql">): string {
  return referenceAnchor(rest ?? graphql);
}
