// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DeploymentConfig, RuntimeConfig} from "./CollectionTypes.sol";
import {CollectionCore} from "./core/CollectionCore.sol";
import {ConfigRules} from "./core/ConfigRules.sol";
import {HotWord} from "./core/HotWord.sol";
import {ICollection} from "./ICollection.sol";

/// @title The code behind every clone. Itself locked for good; a clone obeys only the factory that made the template.
contract CollectionTemplate is CollectionCore {
    /// @dev A clone's arguments follow its ERC-1167 code.
    uint256 private constant PROXY_BYTES = 45;

    address private immutable _factory;
    address private immutable _service;

    /// @notice The caller becomes the factory.
    /// @param serviceAdmin Gets ADMIN_ROLE in clones that ask for it.
    constructor(address serviceAdmin) {
        _factory = msg.sender;
        _service = serviceAdmin;
        // The template has no arguments behind its code: without these flags some bytes of it would be the owner.
        _setHot(
            HotWord.INITIALIZED | HotWord.OWNER_MOVED | HotWord.OWNER_LACKS_ADMIN | HotWord.OWNER_LACKS_DEFAULT_ADMIN
        );
        emit Initialized(type(uint8).max);
    }

    /// @inheritdoc ICollection
    function initialize(DeploymentConfig calldata deploymentConfig, RuntimeConfig calldata runtimeConfig) external {
        require(_hot == 0, "Initializable: contract is already initialized");
        require(msg.sender == _factory, "Only the factory can initialize");
        // The factory sends its `initData` behind the selector: the two records, then the service-admin flag.
        uint256 grantServiceAdmin;
        assembly ("memory-safe") {
            grantServiceAdmin := calldataload(68)
        }
        ConfigRules.checkDeployment(
            deploymentConfig.maxSupply,
            deploymentConfig.tokensPerMint,
            deploymentConfig.treasuryAddress,
            deploymentConfig.owner,
            deploymentConfig.reservedSupply
        );
        ConfigRules.checkRoyalties(runtimeConfig.royaltiesBps);
        ConfigRules.checkSales(
            runtimeConfig.publicMintPrice,
            runtimeConfig.presaleMintPrice,
            runtimeConfig.publicMintStart,
            runtimeConfig.presaleMintStart
        );
        // The strings were checked where the factory packed them into this clone's code.
        uint256 hot = HotWord.first(
            deploymentConfig.maxSupply,
            deploymentConfig.reservedSupply,
            deploymentConfig.tokensPerMint,
            runtimeConfig.publicMintPrice,
            runtimeConfig.publicMintStart
        );
        hot = HotWord.withFreezes(
            hot,
            runtimeConfig.metadataUpdatable,
            runtimeConfig.publicMintPriceFrozen,
            runtimeConfig.presaleMintPriceFrozen
        );
        _begin(hot, deploymentConfig.owner, grantServiceAdmin != 0);
    }

    function _argsCode() internal view override returns (address holder, uint256 offset) {
        return (address(this), PROXY_BYTES);
    }

    function _serviceAdmin() internal view override returns (address) {
        return _service;
    }
}
