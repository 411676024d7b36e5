#!/usr/bin/env node
// The command `mintyard`, for `./bin/mintyard.mjs …`, `npm link` and packages that depend on this one: the same as
// `npm run -s mintyard -- …`, on whatever Node the machine has.
process.argv.splice(2, 0, "bin/mintyard.ts");
await import("./bootstrap.mjs");
