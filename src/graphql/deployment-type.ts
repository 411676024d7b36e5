import type { Deployment, DeploymentState } from "../collections/get-deployment.ts";
import type { Builder } from "./builder.ts";

const states: Record<DeploymentState, string> = {
  queued: "Accepted; waits for a nonce.",
  held: "Waits until something changes: see holdReason.",
  assigned: "Has its nonce.",
  signed: "Its transaction is on disk; it will be sent until it is mined.",
  in_flight: "Sent.",
  mined: "In a block that may still be replaced.",
  mined_reverted: "Mined without success, in a block that may still be replaced.",
  mined_noop: "Cancelled by another transaction, in a block that may still be replaced.",
  confirmed: "The collection stands at its address.",
  finalized: "The collection stands and no reorganisation can take it back.",
  failed_onchain: "The chain refused it for good.",
  cancelled: "Cancelled before it took effect.",
  expired: "Could not be sent in time.",
  quarantined: "An operator has to look at it.",
  superseded: "Replaced by a further try.",
};

/** GraphQL writes enum values in capitals. */
type StateName = Uppercase<DeploymentState>;

/** The type of one deployment: what was asked for and how far it is. */
export function deploymentType(builder: Builder) {
  const state = builder.enumType("DeploymentState", {
    description: "How far a deployment is.",
    values: Object.fromEntries(
      Object.entries(states).map(([name, description]) => [name.toUpperCase(), { description }]),
    ) as Record<StateName, { description: string }>,
  });
  return builder.objectRef<Deployment>("Deployment").implement({
    description: "The deployment of one collection, from the request to the chain.",
    fields: (t) => ({
      id: t.exposeID("id"),
      chain: t.string({ resolve: ({ chain }) => chain.name }),
      state: t.field({ type: state, resolve: (deployment) => deployment.state.toUpperCase() as StateName }),
      holdReason: t.exposeString("holdReason", { nullable: true, description: "Why it does not go on now." }),
      transactionHash: t.field({
        type: "Hex",
        nullable: true,
        description: "The mined transaction, else the newest signed one; null before the signature.",
        resolve: (deployment) => deployment.transactionHash,
      }),
      transactionUrl: t.string({
        nullable: true,
        resolve: ({ chain, transactionHash }) => transactionHash && `${chain.explorerTxUrl}/${transactionHash}`,
      }),
      predictedAddress: t.field({
        type: "Address",
        description: "Where the collection will be. Send nothing there before `collection` is set.",
        resolve: (deployment) => deployment.predictedAddress,
      }),
      collection: t.field({
        type: "Address",
        nullable: true,
        description: "Where the collection is; null until the deployment is confirmed.",
        resolve: (deployment) => deployment.collection,
      }),
      block: t.field({
        type: "Uint256",
        nullable: true,
        description: "The block of the transaction.",
        resolve: (deployment) => deployment.block,
      }),
      name: t.string({ resolve: ({ request }) => request.name }),
      symbol: t.string({ resolve: ({ request }) => request.symbol }),
      owner: t.field({ type: "Address", resolve: ({ request }) => request.ownerAddress }),
      treasury: t.field({ type: "Address", resolve: ({ request }) => request.treasuryAddress }),
      maxSupply: t.field({ type: "Uint256", resolve: ({ request }) => BigInt(request.maxSupply) }),
      reservedSupply: t.field({ type: "Uint256", resolve: ({ request }) => BigInt(request.reservedSupply) }),
      tokensPerMint: t.field({ type: "Uint256", resolve: ({ request }) => BigInt(request.tokensPerMint) }),
      mintPriceWei: t.field({ type: "Wei", resolve: ({ request }) => BigInt(request.publicMintPriceWei) }),
      presaleMintPriceWei: t.field({ type: "Wei", resolve: ({ request }) => BigInt(request.presaleMintPriceWei) }),
      publicMintStart: t.field({ type: "DateTime", resolve: ({ request }) => dateOf(request.publicMintStart) }),
      presaleMintStart: t.field({
        type: "DateTime",
        nullable: true,
        description: "Null: no presale.",
        resolve: ({ request }) => (request.presaleMintStart === "0" ? null : dateOf(request.presaleMintStart)),
      }),
      presaleMerkleRoot: t.field({ type: "Hex", resolve: ({ request }) => request.presaleMerkleRoot }),
      metadataUpdatable: t.boolean({ resolve: ({ request }) => request.metadataUpdatable }),
      baseUri: t.string({ resolve: ({ request }) => request.baseUri }),
      prerevealTokenUri: t.string({ resolve: ({ request }) => request.prerevealTokenUri }),
      royaltiesBps: t.int({ resolve: ({ request }) => Number(request.royaltiesBps) }),
      royaltiesAddress: t.field({ type: "Address", resolve: ({ request }) => request.royaltiesAddress }),
      serviceAdmin: t.boolean({
        description: "Whether the service's wallet is an admin of the collection.",
        resolve: ({ request }) => request.grantServiceAdmin,
      }),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
      updatedAt: t.expose("updatedAt", { type: "DateTime" }),
    }),
  });
}

function dateOf(seconds: string): Date {
  return new Date(Number(seconds) * 1000);
}
