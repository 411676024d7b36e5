import { parseAbi } from "viem";

const deployment = "(string name, string symbol, address owner, bool tokensBurnable) deploymentConfig";
const runtime =
  "(string baseURI, bool metadataUpdatable, bool tokensTransferable, uint256 royaltiesBps, address royaltiesAddress) runtimeConfig";
const roles = "(bytes32 role, address[] addresses, bool frozen)[] rolesAddresses";

/** The interface of IProductOperator.sol. */
export const productOperatorAbi = parseAbi([
  "event ProductDeployed(address indexed product, bytes32 indexed intent, address indexed owner)",
  "event IntentExecuted(bytes32 indexed intent, address indexed target)",
  "event IntentFailed(bytes32 indexed intent, address indexed target, bytes reason)",
  "error IntentDone(bytes32 intent)",
  `function deployERC721(bytes32 intent, ${deployment}, ${runtime}, ${roles}) returns (address)`,
  `function deployERC1155(bytes32 intent, ${deployment}, ${runtime}, ${roles}) returns (address)`,
  `function predict721(bytes32 intent, ${deployment}, ${runtime}, ${roles}) view returns (address)`,
  `function predict1155(bytes32 intent, ${deployment}, ${runtime}, ${roles}) view returns (address)`,
  "function execute(bytes32 intent, address target, bytes data) returns (bytes)",
  "function executeBatch((bytes32 intent, address target, bytes data)[] calls) returns (bool[])",
  "function isIntentDone(bytes32 intent) view returns (bool)",
  "function hasRole(bytes32 role, address account) view returns (bool)",
]);
