// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CodeBlob} from "../core/CodeBlob.sol";
import {ERC1155ProductCore} from "./ERC1155ProductCore.sol";
import {IProduct} from "./IProduct.sol";
import {Args, ProductArgs} from "./ProductArgs.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "./ProductTypes.sol";

/// @title An ERC-1155 product that stands alone, deployed from a creator's own wallet, which becomes an admin.
contract ERC1155NFTProduct is ERC1155ProductCore {
    address private immutable _blob;
    address private immutable _deployer;

    /// @notice Deploys and initialises the contract in one.
    /// @param deploymentConfig What is fixed from now on.
    /// @param runtimeConfig    What `update` can replace.
    /// @param rolesAddresses   The first list of each role that is named.
    constructor(
        ProductDeployment memory deploymentConfig,
        ProductRuntime memory runtimeConfig,
        RolesAddresses[] memory rolesAddresses
    ) {
        _deployer = msg.sender;
        _blob = CodeBlob.store(
            ProductArgs.pack(
                Args({
                    royaltiesAddress: runtimeConfig.royaltiesAddress,
                    royaltiesBps: runtimeConfig.royaltiesBps,
                    name: deploymentConfig.name,
                    symbol: deploymentConfig.symbol,
                    baseURI: runtimeConfig.baseURI
                })
            )
        );
        _begin(
            deploymentConfig.owner,
            deploymentConfig.tokensBurnable,
            runtimeConfig.metadataUpdatable,
            runtimeConfig.tokensTransferable,
            runtimeConfig.royaltiesBps,
            rolesAddresses
        );
    }

    /// @inheritdoc IProduct
    function initialize(
        ProductDeployment calldata deploymentConfig,
        ProductRuntime calldata runtimeConfig,
        RolesAddresses[] calldata rolesAddresses
    ) external {
        (deploymentConfig, runtimeConfig, rolesAddresses); // the names are part of the ABI
        revert("Initializable: contract is already initialized");
    }

    function _argsCode() internal view override returns (address holder, uint256 offset) {
        return (_blob, 1);
    }

    function _initialiser() internal view override returns (address) {
        return _deployer;
    }
}
