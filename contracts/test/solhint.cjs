const { rules } = require("../solhint.cjs");

/** Solidity that nobody deploys: tests and reference models. */
module.exports = {
  extends: "solhint:all",
  rules: {
    ...rules,
    // The name of a test says what it promises.
    "use-natspec": "off",
    // Names of tests begin with the number of the promise, test_V20_operators; getters of constants are in capitals.
    "func-name-mixedcase": "off",
    // Reference models have the getters of the ABI, which name nothing.
    "named-parameters-mapping": "off",
    // Random calls choose among many cases.
    "code-complexity": "off",
    // Nobody pays for their gas, and plain code is the better reference.
    "gas-increment-by-one": "off",
    "gas-calldata-parameters": "off",
    // Actors do what honest contracts should not: they call anything, answer anything, and do nothing.
    "avoid-low-level-calls": "off",
    "no-complex-fallback": "off",
    "no-empty-blocks": "off",
    "payable-fallback": "off",
    // Small ones stand together; `Vm` is the name that Foundry gave it.
    "one-contract-per-file": "off",
    "interface-starts-with-i": "off",
  },
};
