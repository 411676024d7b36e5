import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  lazyRouteComponent,
} from "@tanstack/react-router";
import { Frame } from "./frame.tsx";
import { ErrorNotice } from "./notices.tsx";
import { OverviewPage } from "./pages/overview.tsx";

/** Replaces a page whose code failed or could not be loaded; the other pages still work. */
function BrokenPage({ error }: ErrorComponentProps) {
  return (
    <div className="stack">
      <h1>This page cannot be shown</h1>
      <ErrorNotice error={error} />
      <p>Nothing that was sent is lost. If the server is there, load the page again.</p>
      <p>
        <button type="button" className="main" onClick={() => location.reload()}>
          Load it again
        </button>
      </p>
    </div>
  );
}

/** Loads a page's code. After a failure the router would reload the console, and lose what is followed there. */
function codeOf<Page>(load: () => Promise<Page>) {
  return () =>
    load().catch((cause: unknown) => {
      throw new Error("The code of this page could not be loaded.", { cause });
    });
}

const root = createRootRoute({ component: Frame, notFoundComponent: () => <p>There is no such page.</p> });
// The first page loads without the code of the others.
const CollectionPage = lazyRouteComponent(
  codeOf(() => import("./pages/collection.tsx")),
  "CollectionPage",
);
const collection = createRoute({
  getParentRoute: () => root,
  path: "/collections/$chain/$address",
  component: () => <CollectionPage {...collection.useParams()} />,
});
const part = createRoute({
  getParentRoute: () => root,
  path: "/collections/$chain/$address/$tab",
  component: () => <CollectionPage {...part.useParams()} />,
});
const tree = root.addChildren([
  createRoute({ getParentRoute: () => root, path: "/", component: OverviewPage }),
  createRoute({
    getParentRoute: () => root,
    path: "/launch",
    component: lazyRouteComponent(
      codeOf(() => import("./pages/launch.tsx")),
      "LaunchPage",
    ),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/data",
    component: lazyRouteComponent(
      codeOf(() => import("./pages/data.tsx")),
      "DataPage",
    ),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/webhooks",
    component: lazyRouteComponent(
      codeOf(() => import("./pages/webhooks.tsx")),
      "WebhooksPage",
    ),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/account",
    component: lazyRouteComponent(
      codeOf(() => import("./pages/account.tsx")),
      "AccountPage",
    ),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/operator",
    component: lazyRouteComponent(
      codeOf(() => import("./pages/operator.tsx")),
      "OperatorPage",
    ),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/design",
    component: lazyRouteComponent(
      codeOf(() => import("./pages/design.tsx")),
      "DesignPage",
    ),
  }),
  collection,
  part,
]);

export const router = createRouter({ routeTree: tree, basepath: "/console", defaultErrorComponent: BrokenPage });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
