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

// Without a connection the library would wait for one in silence, and then send what was pressed long before.
const networkMode = "always";
const client = new QueryClient({
  defaultOptions: {
    mutations: { networkMode },
    queries: {
      networkMode,
      refetchOnReconnect: true,
      // What was refused for a reason is refused again.
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
