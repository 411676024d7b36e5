const { readdirSync } = require("node:fs");
const { basename } = require("node:path");

/** Each file has the contract of its name. Their sentence is in `@title`; the rule would ask for `@notice` as well. */
const contracts = readdirSync(`${__dirname}/src`, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".sol"))
  .map((file) => basename(file, ".sol"));

/** Rules of solhint for the contracts that are deployed. Every rule counts; what is off or changed has its reason. */
module.exports = {
  extends: "solhint:all",
  rules: {
    "compiler-version": ["error", "0.8.37"],

    // Every public function, event and variable has `@notice` or `@inheritdoc`.
    "use-natspec": [
      "error",
      {
        notice: { enabled: true, ignore: { contract: contracts } },
        // The licence names the author.
        author: { enabled: false },
        // Most notices name the parameters in their sentence. The compiler refuses a name that the signature lacks.
        param: { enabled: false },
        return: { enabled: false },
      },
    ],

    // Since 0.7 a constructor has no visibility.
    "func-visibility": ["error", { ignoreConstructors: true }],
    // Names of immutable variables are names of getters in a fixed ABI.
    "immutable-vars-naming": ["error", { immutablesAsConstants: false }],
    // Checks of a whole configuration stand one after the other.
    "code-complexity": ["error", 11],
    "function-max-lines": ["error", 65],
    // What a view computes in passing has no name; a result that needs one has it.
    "gas-named-return-values": "off",

    // The packed storage is read and written in assembly; the differential tests compare it with plain Solidity.
    "no-inline-assembly": "off",
    // Sales begin at a time. A validator's few seconds do not matter to them.
    "not-rely-on-time": "off",
    // The wording of refusals is specified, and frontends match on it.
    "reason-string": "off",
    "gas-custom-errors": "off",
    "gas-small-strings": "off",
    // The ABI is specified: which parameters of events are indexed, the order of structs, ERC-1155 itself.
    "gas-indexed-events": "off",
    "gas-struct-packing": "off",
    "gas-multitoken1155": "off",
    // The optimizer writes the same for `>=`, and the gas snapshot counts what a loop costs.
    "gas-strict-inequalities": "off",
    "gas-length-in-loops": "off",

    // Functions stand by subject, imports by path.
    ordering: "off",
    "imports-order": "off",
    // It wants `override`, which 0.8.8 made needless for functions of interfaces. Tests compare the whole ABI.
    "comprehensive-interface": "off",
    // It counts constants, which are in capitals, among the variables.
    "private-vars-leading-underscore": "off",
    // Calls by position read well where the arguments carry the names of the parameters.
    "func-named-parameters": "off",
    // `forge fmt` sees to both: text that has double quotes is in single ones, and a comment may draw a wide table.
    quotes: "off",
    "max-line-length": "off",

    // For tests.
    "foundry-no-block-time-number": "off",
    "foundry-test-functions": "off",
    "foundry-test-function-naming": "off",
  },
};
