import { createRequire } from "node:module";
import { defineConfig } from "hardhat/config";

// Our contracts' compiler settings, for a fair comparison.
export default defineConfig({
  solidity: {
    version: "0.8.37",
    path: createRequire(new URL("../../package.json", import.meta.url)).resolve("solc/soljson.js"),
    npmFilesToBuild: [
      "@thirdweb-dev/contracts/prebuilts/drop/DropERC721.sol",
      "@thirdweb-dev/contracts/prebuilts/token/TokenERC721.sol",
      "@thirdweb-dev/contracts/prebuilts/token/TokenERC1155.sol",
    ],
    settings: { evmVersion: "cancun", optimizer: { enabled: true, runs: 200 } },
  },
});
