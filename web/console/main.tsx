import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import "../shared/theme.css";
import "./console.css";
import "./launch/launch.css";
import "./operator/operator.css";
import { mayHaveArrived } from "./api.ts";
import { IdentityProvider } from "./identity.tsx";
import { router } from "./routes.tsx";

// Otherwise, without a connection, the library waits silently and sends a request long after the press.
const networkMode = "always";
const client = new QueryClient({
  defaultOptions: {
    mutations: { networkMode },
    queries: {
      networkMode,
      refetchOnReconnect: true,
      // A request that was refused for a reason will be refused again.
      retry: (failures, error) => failures < 3 && mayHaveArrived(error),
      staleTime: 5_000,
    },
  },
});
const root = document.getElementById("page");
if (root) {
  root.replaceChildren();
  createRoot(root).render(
    <QueryClientProvider client={client}>
      <IdentityProvider>
        <RouterProvider router={router} />
      </IdentityProvider>
    </QueryClientProvider>,
  );
}
