import { createRequire } from "node:module";
import networkHelpersPlugin from "@nomicfoundation/hardhat-network-helpers";
import viemPlugin from "@nomicfoundation/hardhat-viem";
import { defineConfig } from "hardhat/config";

// The npm package carries the compiler itself: nothing is downloaded.
const compiler = createRequire(import.meta.url).resolve("solc/soljson.js");
const chainId = Number(process.env["HARDHAT_CHAIN_ID"] ?? 31337);

export default defineConfig({
  plugins: [viemPlugin, networkHelpersPlugin],
  solidity: {
    profiles: {
      // Compiled in half the time, and the tests say the same; the long tier runs them on what is deployed.
      default: { version: "0.8.37", path: compiler, settings: { evmVersion: "cancun" } },
      production: {
        isolated: false,
        version: "0.8.37",
        path: compiler,
        settings: { evmVersion: "cancun", optimizer: { enabled: true, runs: 200 } },
      },
    },
  },
  paths: { sources: "contracts/src", tests: { solidity: "contracts/test" }, artifacts: "artifacts", cache: "cache" },
  networks: {
    edr: { type: "edr-simulated", chainType: "l1", hardfork: "prague", chainId },
    osaka: { type: "edr-simulated", chainType: "l1", hardfork: "osaka", chainId },
  },
  test: {
    solidity: {
      profiles: {
        // The seed is the same each time. The long tier looks further.
        default: { fuzz: { runs: 32 }, invariant: { runs: 8, depth: 60, failOnRevert: true } },
        long: { fuzz: { runs: 128 }, invariant: { runs: 64, depth: 120, failOnRevert: true } },
      },
    },
  },
});
