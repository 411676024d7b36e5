// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DeploymentConfig, RuntimeConfig} from "../../src/CollectionTypes.sol";
import {ReferenceCollection} from "./ReferenceCollection.sol";

/// @title The reference model, ready to use.
contract Reference is ReferenceCollection {
    constructor(DeploymentConfig memory deploymentConfig, RuntimeConfig memory runtimeConfig, address serviceAdmin) {
        _initialize(deploymentConfig, runtimeConfig, serviceAdmin);
    }

    function _initializingFactory() internal pure override returns (address) {
        revert("Only the factory can initialize");
    }
}
