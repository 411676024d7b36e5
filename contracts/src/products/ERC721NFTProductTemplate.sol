// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC721ProductCore} from "./ERC721ProductCore.sol";
import {IProduct} from "./IProduct.sol";
import {ProductClone} from "./ProductClone.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "./ProductTypes.sol";
import {ProductWord} from "./ProductWord.sol";

/// @title The code behind every ERC-721 clone. Itself locked for good: it has no owner and no admin.
/// @dev A clone obeys only the operator that made the template, which also packed the clone's arguments.
contract ERC721NFTProductTemplate is ERC721ProductCore {
    address private immutable _operator;
    address private immutable _self = address(this);

    constructor() {
        _operator = msg.sender;
        _hot = ProductWord.INITIALIZED;
        emit Initialized(type(uint8).max);
    }

    /// @inheritdoc IProduct
    function initialize(
        ProductDeployment calldata deploymentConfig,
        ProductRuntime calldata runtimeConfig,
        RolesAddresses[] calldata rolesAddresses
    ) external {
        require(_hot == 0, "Initializable: contract is already initialized");
        require(msg.sender == _operator, "Only the operator can initialize");
        _begin(
            deploymentConfig.owner,
            deploymentConfig.tokensBurnable,
            runtimeConfig.metadataUpdatable,
            runtimeConfig.tokensTransferable,
            runtimeConfig.royaltiesBps,
            rolesAddresses
        );
    }

    function _argsCode() internal view override returns (address holder, uint256 offset) {
        // The template itself has none: read as such, its code would be lengths that lead anywhere.
        return address(this) == _self ? (address(0), uint256(0)) : (address(this), ProductClone.PROXY_BYTES);
    }

    function _initialiser() internal view override returns (address) {
        return _operator;
    }
}
