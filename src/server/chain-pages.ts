import type { IncomingMessage } from "node:http";
import type { Context, Hono } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type Address, isAddress } from "viem";
import { admitReading } from "../accounts/admit-address.ts";
import { payerOf } from "../accounts/authenticate.ts";
import { documentOwner } from "../accounts/document-budget.ts";
import { readHistory } from "../accounts/read-history.ts";
import { payAsKept, payMore } from "../admission/pay-for-work.ts";
import type { KeyOwner } from "../auth/keys.ts";
import { type Chain, findChain } from "../chains.ts";
import type { Reader } from "../collections/kept-readings.ts";
import { askLocalWallet } from "../collections/local-wallet.ts";
import { getMintsByHour } from "../collections/mints-by-hour.ts";
import { getPublicSale, type PublicSale } from "../collections/public-sale.ts";
import { getShownBalance } from "../collections/shown-balance.ts";
import { ServiceError } from "../errors/errors.ts";
import { asUnavailable } from "../errors/unavailable.ts";
import type { AppEnv } from "../http/app-env.ts";
import { clientAddress } from "../http/client-address.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { readBody } from "../rest/json-body.ts";
import type { Services } from "../services.ts";
import { isSameOrigin } from "./session-cookie.ts";
import type { WebPages } from "./web-pages.ts";

/**
 * `/mint/{chain}/{collection}`: the page on which visitors mint; `…/sale`: its data, which needs no key. A shared link
 * shows the collection's own title and picture.
 */
export function addMintPage(app: Hono<AppEnv>, services: Services, pages: WebPages): void {
  app.get(
    "/mint/:chain/:collection",
    pages.keep(() => null),
    async (c) => {
      const sale = await saleOf(c, services).catch((error: unknown) => {
        const refused = error instanceof ServiceError ? error : asUnavailable(error);
        if (refused) return refused;
        throw error;
      });
      // Visitors get the page all the same: it explains why there is no sale and, if that can change, retries.
      if (sale instanceof ServiceError) {
        if (sale.retryAfterSeconds !== undefined) c.header("Retry-After", String(sale.retryAfterSeconds));
        // If a sale appears later, the page may offer wallets, which needs these origins.
        const chain = services.chains.find(({ name }) => name === c.req.param("chain"));
        const asks = (chain && walletConnectOf(services, chain)?.asks) ?? [];
        const head = { title: "Mint", description: "A collection's mint page.", asks };
        return await pages.page(c, "mint", head, undefined, sale.status as ContentfulStatusCode);
      }
      const { publicUrl } = services.config;
      return await pages.page(c, "mint", {
        title: `${sale.name} – mint`,
        description: sale.preview?.description ?? `${sale.maxSupply} tokens on ${sale.chain.name}.`,
        image: sale.preview?.image ? publicUrl + sale.preview.image : null,
        url: `${publicUrl}/mint/${sale.chain.name}/${sale.address}`,
        asks: walletConnectOf(services, sale.chain)?.asks ?? [],
      });
    },
  );
  app.get("/mint/:chain/:collection/sale", async (c) => {
    c.header("Cache-Control", "no-cache");
    const sale = await saleOf(c, services);
    payAsKept(services, c.env.incoming);
    return c.json({ ...saleBody(sale), wallet_connect: walletConnectOf(services, sale.chain)?.shown ?? null });
  });
}

/** The service's own endpoints may contain keys; only a local chain's does not. */
const walletRpcUrl = (chain: Chain) => chain.walletRpcUrl ?? (chain.local ? (chain.rpcUrls[0] ?? null) : null);

/** The relay of the WalletConnect library (`@walletconnect/core`). */
const relay = "wss://relay.walletconnect.org";

/**
 * What the page needs for WalletConnect: the project and endpoint it gets, and the origins its script contacts. Wallets
 * answer no reads over WalletConnect, so the page has to read the chain from a public endpoint.
 *
 * @returns null if it is not offered: there is no project, or no such endpoint.
 */
function walletConnectOf({ config }: Services, chain: Chain) {
  const { walletConnectProject: project } = config;
  const rpcUrl = walletRpcUrl(chain);
  if (project === null || rpcUrl === null) return null;
  return { shown: { project_id: project }, asks: [relay, new URL(rpcUrl).origin] };
}

async function saleOf(c: Context<AppEnv>, services: Services): Promise<PublicSale> {
  const { chain = "" } = c.req.param();
  const collection = addressIn(c, "collection", "the link has no contract's address");
  return await getPublicSale(services, { chain, collection }, pageReader(services, c.env.incoming, chain));
}

/** The sale as JSON; amounts and times are decimal strings. */
function saleBody(sale: PublicSale) {
  const text = (value: bigint | null) => (value === null ? null : String(value));
  const { chain } = sale;
  return {
    chain: {
      ...{ name: chain.name, id: chain.id, coin: chain.coin, local: chain.local },
      explorer_tx_url: chain.explorerTxUrl || null,
      wallet_rpc_url: walletRpcUrl(chain),
    },
    address: sale.address,
    name: sale.name,
    symbol: sale.symbol,
    max_supply: String(sale.maxSupply),
    minted: String(sale.minted),
    reserved: String(sale.reserved),
    balance_wei: String(sale.balanceWei),
    tokens_per_mint: String(sale.tokensPerMint),
    public_price_wei: String(sale.publicPriceWei),
    presale_price_wei: String(sale.presalePriceWei),
    public_start: text(sale.publicStart),
    presale_start: text(sale.presaleStart),
    revealed: sale.baseUri !== "",
    owner: sale.owner,
    treasury: sale.treasury,
    royalties_bps: String(sale.royaltiesBps),
    royalties_address: sale.royaltiesAddress,
    metadata_frozen: sale.metadataFrozen,
    prices_frozen: sale.pricesFrozen,
    block: String(sale.block),
    block_time: String(sale.blockTime),
    read_ms: sale.readAtMs,
    now_ms: Date.now(),
    deployed_here: sale.deployedHere,
    preview: sale.preview,
  };
}

/**
 * `/console` and all pages below it; `/console/installation.json` has the settings that the browser needs.
 * `/console/history` needs no key, like `/status`: it shows only what is public on the chain.
 */
export function addConsole(app: Hono<AppEnv>, services: Services, pages: WebPages): void {
  const { chains, config } = services;
  app.get("/console/installation.json", (c) =>
    c.json({
      chains: chains
        .filter(({ rpcUrls }) => rpcUrls.length > 0)
        .map(({ name, id, coin, local, explorerTxUrl, factory }) => ({
          ...{ name, id, coin, local, explorer_tx_url: explorerTxUrl || null },
          deploys: factory !== null,
        })),
      sign_up: config.signUpsPerHour > 0,
      public_url: config.publicUrl,
      limits: { file_bytes: config.limits.fileBytes, directory_files: config.limits.directoryFiles },
    }),
  );
  app.get("/console/balance/:chain/:address", async (c) => {
    const chain = c.req.param("chain");
    const address = addressIn(c, "address", "this is no address");
    const wei = await getShownBalance(services, { chain, address }, pageReader(services, c.env.incoming, chain));
    return c.json({ wei: String(wei) }, 200, { "Cache-Control": "no-cache" });
  });
  app.get("/console/figures", async (c) => {
    const wanted = (c.req.queries("of") ?? []).map(collectionIn);
    if (wanted.length > mostFigures)
      throw new ServiceError("value_error", `figures of at most ${mostFigures} collections are read at once`, {
        field: "of",
      });
    const { incoming } = c.env;
    await payMore(services, incoming, wanted.length * figuresMs);
    const payer = await payerOf(services, rawHeaderValues(incoming, "authorization"));
    const figures = await Promise.all(
      wanted.map(async (one) => {
        // The more collections in one request, the less often each is re-read, so that all cost as much as one.
        const reader = pageReader(services, incoming, one.chain);
        return await figuresOf(services, reader, payer, one, wanted.length);
      }),
    );
    return c.json({ figures }, 200, { "Cache-Control": "no-cache" });
  });
  app.get("/console/history", async (c) => {
    const text = await readHistory(services);
    return c.body(text, 200, { "Content-Type": "application/json", "Cache-Control": "public, max-age=10" });
  });
  const head = { title: "Mintyard console", description: "Launch and watch NFT collections." };
  const kept = pages.keep((path) => (consolePaths.test(path) ? "/console" : null));
  app.get("/console", kept, async (c) => await pages.page(c, "console", head));
  app.get("/console/*", kept, async (c) =>
    consolePaths.test(c.req.path) ? await pages.page(c, "console", head) : await c.notFound(),
  );
}

/** As `web/console/routes.tsx` has them. */
const consolePaths =
  /^\/console(\/(launch|data|webhooks|account|operator|design|collections\/[^/]+\/[^/]+(\/[^/]+)?))?\/?$/;

/** Collections of one question for figures; a page asks again for more. */
const mostFigures = 100;
/** Milliseconds of this process for one collection's figures, which mostly come from memory. */
const figuresMs = 0.5;

interface FiguresOf {
  chain: string;
  address: Address;
  /** The figures must include this block. */
  sinceBlock: bigint;
}

/** A collection's figures for the console; if its sale cannot be read now, `error` has the reason. */
async function figuresOf(
  services: Services,
  reader: Reader,
  payer: KeyOwner | null,
  { chain: name, address, sinceBlock }: FiguresOf,
  patience: number,
) {
  const place = { chain: name, address };
  try {
    const asked = { chain: name, collection: address };
    const sale = await getPublicSale(services, asked, reader, { patience, sinceBlock });
    // The database counts mints only for accounts, and of collections deployed here. Otherwise the count is left out.
    const isCounted = payer !== null && sale.deployedHere;
    const counted = isCounted ? await getMintsByHour(services, payer, sale).catch(ifRefused) : null;
    return { ...place, sale: saleBody(sale), mints_by_hour: counted, error: null };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { ...place, sale: null, mints_by_hour: null, error: { code: error.code, message: error.message } };
  }
}

function ifRefused(error: unknown): null {
  if (error instanceof ServiceError) return null;
  throw error;
}

/** Parses `goerli:0x…`, optionally followed by a block. @throws ServiceError `value_error`, `invalid_address`. */
function collectionIn(text: string): FiguresOf {
  const [, chain = "", address = "", block = "0"] = /^([^:]*):([^:]+)(?::(\d{1,18}))?$/.exec(text) ?? [];
  if (address === "")
    throw new ServiceError(
      "value_error",
      "of is a chain and a contract, such as goerli:0x…, with a block behind it or without",
      {
        field: "of",
      },
    );
  return { chain, address: readAddress(address, "of", "of has no contract's address"), sinceBlock: BigInt(block) };
}

const bodyBytes = 262_144;

/**
 * `/local-wallet/{chain}`: a wallet with test ether for the pages of an installation on local chains, so that a
 * newcomer needs no browser extension. On any other chain it does not exist.
 */
export function addLocalWallet(app: Hono<AppEnv>, services: Services): void {
  app.post("/local-wallet/:chain", async (c) => {
    if (!isSameOrigin(services, c.env.incoming)) throw new ServiceError("not_found", "nothing is served here");
    const chain = findChain(services.chains, c.req.param("chain"));
    const text = await readBody(c.env.incoming, bodyBytes);
    return c.json(await askLocalWallet(services, chain, text));
  });
}

/** An address of the path. @throws ServiceError `invalid_address` with this message. */
function addressIn(c: Context<AppEnv>, name: "address" | "collection", message: string): Address {
  const { [name]: text = "" } = c.req.param() as Record<string, string>;
  return readAddress(text, name, message);
}

function readAddress(text: string, field: string, message: string): Address {
  if (!isAddress(text, { strict: false })) throw new ServiceError("invalid_address", message, { field });
  return text.toLowerCase() as Address;
}

/**
 * Who pays for the node calls that a page causes: the account whose key or session comes with the request, otherwise
 * the client's address. Calls to a local chain cost nothing.
 */
function pageReader(services: Services, request: IncomingMessage, chain: string): Reader {
  const address = clientAddress(request, services.config.trustedProxies);
  const key = rawHeaderValues(request, "authorization");
  const owner = documentOwner(services, key, address);
  return {
    owner: owner.replace(" ", ":"),
    admit: async (calls) => {
      if (findChain(services.chains, chain).local) return;
      await admitReading(services, (await payerOf(services, key)) ?? address, calls);
    },
  };
}
