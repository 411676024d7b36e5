import { ApiError } from "./api.ts";

/** What is not indexed yet is no failure of the page's. */
export const isUnknown = (error: unknown) => error instanceof ApiError && error.status === 404;
