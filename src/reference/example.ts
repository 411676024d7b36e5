import { referenceAnchor } from "../http/reference-anchor.ts";

/** What stands in an example in place of what a reader has: the page replaces it, and so does the test that runs the example. */
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

/** The mark of a value in the text of an example. */
export const markPattern = /⟦(\w+)⟧/g;
const mark = (name: ValueName) => `⟦${name}⟧`;

/** Values of the reader by name. */
export const yours = Object.fromEntries(Object.keys(samples).map((name) => [name, mark(name as ValueName)])) as Record<
  keyof typeof samples,
  string
>;
export const yourKey = mark("key");
/** The same in TypeScript. */
export const yourKeyExpression = mark("keyExpression");

/** What an example has until the reader gives a value. */
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

/** One thing to do, through each API that can do it. */
export interface Example {
  title: string;
  /** Method and path in the OpenAPI document, such as `get /v0/nfts`. */
  rest?: string;
  /** Kind and root field in the GraphQL schema, such as `query nft`. */
  graphql?: string;
  /** What is asked of the root field. */
  select?: string;
  /** Variables of `select`, with their types. */
  variables?: Readonly<Record<string, string>>;
  /** In the names of GraphQL; REST gets it in its own spelling. */
  input?: Input;
  /** What only REST takes, or takes otherwise; in its own spelling. A null leaves a member out. */
  restInput?: Input;
  /** The same for GraphQL. */
  graphqlInput?: Input;
  /** What a reader has to know beside the descriptions of the operations. */
  note?: string;
}

export interface Task {
  title: string;
  about: string;
  examples: readonly Example[];
}

/** A call in every form that it has, with marks in place of the reader's values. */
export interface CollectionCall {
  title: string;
  /** Its place in the reference. */
  anchor: string;
  /** By language: `curl`, `GraphQL` and `TypeScript`. */
  forms: Readonly<Record<string, readonly string[]>>;
}

/** The place of an example in the page, by its first operation. */
export function anchorOf({ rest, graphql = "" }: Pick<Example, "rest" | "graphql">): string {
  return referenceAnchor(rest ?? graphql);
}
