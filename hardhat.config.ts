import { createRequire } from "node:module";
import networkHelpersPlugin from "@nomicfoundation/hardhat-network-helpers";
import viemPlugin from "@nomicfoundation/hardhat-viem";
import { defineConfig } from "hardhat/config";
import type { HardhatPlugin } from "hardhat/types/plugins";

// The npm package carries the compiler itself: nothing is downloaded.
const compiler = createRequire(import.meta.url).resolve("solc/soljson.js");
const chainId = Number(process.env["HARDHAT_CHAIN_ID"] ?? 31337);

/** Instructions as text, which nobody reads, take the compiler a quarter of its time. */
const withoutOpcodes: HardhatPlugin = {
  id: "mintyard-without-opcodes",
  hookHandlers: {
    solidity: async () => ({
      default: async () => ({
        invokeSolc: async (context, solc, { settings, ...input }, config, next) => {
          const outputSelection = JSON.parse(
            JSON.stringify(settings.outputSelection, (_name, value) =>
              Array.isArray(value) ? value.filter((output) => !output.endsWith(".opcodes")) : value,
            ),
          );
          const output = await next(context, solc, { ...input, settings: { ...settings, outputSelection } }, config);
          for (const contracts of Object.values(output.contracts ?? {}))
            for (const { evm } of Object.values(contracts))
              for (const code of [evm?.bytecode, evm?.deployedBytecode]) if (code) code.opcodes = "";
          return output;
        },
      }),
    }),
  },
};

/** Warnings of the compiler that stand, by its code, with the files they may come from. */
const allowedWarnings: Record<string, RegExp> = {
  // "can be restricted to pure": the ABI that is specified says view, or says nothing.
  2018: /^contracts\/src\//,
  // "shadows an existing declaration": the ABI names a parameter as a function is named.
  2519: /^contracts\/src\/products\/ERC721ProductCore\.sol$/,
  // Sizes of runtime and creation code: what tests run is not optimised; the gas snapshot has the sizes of what is deployed.
  5574: /^contracts\//,
  3860: /^contracts\//,
};

/** The compiler knows types and inheritance, hence sees more than a linter: shadowing, unused variables, calls without a check. */
const warningsAreErrors: HardhatPlugin = {
  id: "mintyard-warnings-are-errors",
  hookHandlers: {
    solidity: async () => ({
      default: async () => ({
        invokeSolc: async (context, solc, input, config, next) => {
          const output = await next(context, solc, input, config);
          for (const message of output.errors ?? []) {
            // Not in packages, nor in the copies of run-suite.ts: a planted defect may well leave something unused.
            const { sourceLocation } = message as { sourceLocation?: { file: string } };
            const [, file] = /^project\/(contracts\/(?!test\/copy\d).*)/.exec(sourceLocation?.file ?? "") ?? [];
            if (message.severity !== "warning" || file === undefined) continue;
            if (allowedWarnings[message.errorCode ?? ""]?.test(file)) continue;
            // Hardhat asks for both.
            message.severity = "error";
            message.type = "Error";
            message.formattedMessage = (message.formattedMessage ?? message.message).replace(/^Warning/, "Error");
          }
          return output;
        },
      }),
    }),
  },
};

export default defineConfig({
  plugins: [viemPlugin, networkHelpersPlugin, withoutOpcodes, warningsAreErrors],
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
