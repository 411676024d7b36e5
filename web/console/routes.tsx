import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { Frame } from "./frame.tsx";
import { AccountPage } from "./pages/account.tsx";
import { CollectionPage } from "./pages/collection.tsx";
import { DataPage } from "./pages/data.tsx";
import { LaunchPage } from "./pages/launch.tsx";
import { OperatorPage } from "./pages/operator.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { WebhooksPage } from "./pages/webhooks.tsx";

const root = createRootRoute({ component: Frame, notFoundComponent: () => <p>There is no such page.</p> });
const collection = createRoute({
  getParentRoute: () => root,
  path: "/collections/$chain/$address",
  component: () => <CollectionPage {...collection.useParams()} />,
});
const tree = root.addChildren([
  createRoute({ getParentRoute: () => root, path: "/", component: OverviewPage }),
  createRoute({ getParentRoute: () => root, path: "/launch", component: LaunchPage }),
  createRoute({ getParentRoute: () => root, path: "/data", component: DataPage }),
  createRoute({ getParentRoute: () => root, path: "/webhooks", component: WebhooksPage }),
  createRoute({ getParentRoute: () => root, path: "/account", component: AccountPage }),
  createRoute({ getParentRoute: () => root, path: "/operator", component: OperatorPage }),
  collection,
]);

export const router = createRouter({ routeTree: tree, basepath: "/console" });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
