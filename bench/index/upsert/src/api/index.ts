import { Hono } from "hono";

// Ponder demands this file; readers use the views of schema `nft` instead.
export default new Hono();
