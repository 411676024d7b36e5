// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DeploymentConfig, RuntimeConfig} from "./CollectionTypes.sol";
import {PlainCollection} from "./PlainCollection.sol";

/// @title A collection that stands alone, deployed from a creator's own wallet.
contract Collection is PlainCollection {
    /// @dev The deployer becomes service admin: visible in `hasRole`, revocable by the owner.
    constructor(DeploymentConfig memory deploymentConfig, RuntimeConfig memory runtimeConfig) {
        _initialize(deploymentConfig, runtimeConfig, msg.sender);
    }

    /// @dev Never reached: the constructor has initialised the contract.
    function _initializingFactory() internal pure override returns (address) {
        revert("Only the factory can initialize");
    }
}
