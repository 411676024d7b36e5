import { SignClient } from "@walletconnect/sign-client";
import type { Wallet } from "../../shared/wallets.ts";
import { forgetSession, rememberSession } from "./remembered.ts";
import {
  asProviderError,
  type Client,
  knowsChain,
  type Session,
  sessionProvider,
  type Target,
  walletEvents,
  walletMethods,
} from "./session-provider.ts";

let opened: Promise<Client> | null = null;

/** One client per page: it keeps its sessions' keys in the browser's storage, and a connection to the relay. */
function openClient({ projectId }: Target): Promise<Client> {
  opened ??= startClient(projectId).catch((error) => {
    opened = null;
    throw error;
  });
  return opened;
}

async function startClient(projectId: string): Promise<Client> {
  const client = await SignClient.init({
    projectId,
    // The wallet shows this to its owner. A collection's name could be any text; the host can be trusted.
    metadata: { name: location.host, description: "A mint page.", url: location.origin, icons: [] },
    telemetryEnabled: false,
    logger: "silent",
  });
  // It would ask another host of that company to identify this page, which the page's policy blocks.
  client.core.verify.register = async () => "";
  return client;
}

export interface Pairing {
  /** `wc:…`, for the wallet. It contains the pairing's key: anybody who reads it can answer in the wallet's place. */
  uri: string;
  /** Rejects with EIP-1193's 4001 when the user refuses, and with another error when the offer expires. */
  wallet: Promise<Wallet>;
  /** Ignores a wallet that approves later. */
  cancel(): void;
}

const openWithinMs = 30_000;
/** Shorter than the library's own five minutes, at whose end it leaves a rejection that nobody can catch. */
const offeredMs = 290_000;

/** Offers a session to any wallet that gets the URI. @throws Error when the relay cannot be reached. */
export async function offerSession(target: Target): Promise<Pairing> {
  const late = new Promise<never>((_, failed) => setTimeout(() => failed(new Error("no answer")), openWithinMs));
  const client = await Promise.race([openClient(target), late]);
  // Optional, so that a wallet without the chain can still be asked to switch to it.
  const eip155 = { chains: [`eip155:${target.chainId}`], methods: walletMethods, events: walletEvents };
  const { uri = "", approval } = await Promise.race([client.connect({ optionalNamespaces: { eip155 } }), late]);
  const topic = /^wc:([0-9a-f]+)@/.exec(uri)?.[1] ?? "";
  const proposal = client.proposal.getAll().find(({ pairingTopic }) => pairingTopic === topic);
  const cancel = () => {
    clearTimeout(timer);
    if (proposal) client.events.emit("proposal_expire", { id: proposal.id });
    void client.core.pairing.disconnect({ topic }).catch(() => undefined);
  };
  const timer = setTimeout(cancel, offeredMs);
  const wallet = approval().then(
    (session) => walletOf(client, session, target),
    (error) => {
      throw asProviderError(error);
    },
  );
  wallet.catch(() => undefined).finally(() => clearTimeout(timer));
  return { uri, wallet, cancel };
}

/** An earlier visit's session, unless its wallet has ended it. */
export async function restoreSession(target: Target): Promise<Wallet | null> {
  const client = await openClient(target);
  const sessions = client.session.getAll().sort((one, other) => other.expiry - one.expiry);
  const session = sessions.find((one) => knowsChain(one, target.chainId)) ?? sessions[0];
  if (session) return walletOf(client, session, target);
  forgetSession();
  return null;
}

function walletOf(client: Client, { topic, peer }: Session, target: Target): Wallet {
  rememberSession();
  const { name, redirect } = peer.metadata;
  return {
    id: `walletconnect-${topic}`,
    name: String(name || "WalletConnect").slice(0, 40),
    provider: sessionProvider(client, topic, target, forgetSession),
    local: false,
    appUrl: [redirect?.universal, redirect?.native].find(isAppUrl) ?? null,
    end: async () => {
      forgetSession();
      await endSession(client, topic);
    },
  };
}

async function endSession(client: Client, topic: string): Promise<void> {
  await client.disconnect({ topic, reason: { code: 6000, message: "User disconnected." } });
}

/** The wallet declares this link itself: it may be to an app or a site, but nothing that a browser would run. */
function isAppUrl(text: string | undefined): boolean {
  return /^(?!javascript|data|blob|file|vbscript|http:)[a-z][a-z0-9+.-]{1,30}:\/\//i.test(text ?? "");
}
