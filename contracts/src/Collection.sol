// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DeploymentConfig, RuntimeConfig} from "./CollectionTypes.sol";
import {ICollection} from "./ICollection.sol";
import {CollectionArgs} from "./core/CollectionArgs.sol";
import {CollectionCore} from "./core/CollectionCore.sol";
import {ConfigRules} from "./core/ConfigRules.sol";
import {HotWord} from "./core/HotWord.sol";

/// @title A collection that stands alone, deployed from a creator's own wallet.
/// @dev The deployer becomes service admin: visible in `hasRole`, revocable by the owner.
contract Collection is CollectionCore {
    address private immutable _blob;
    address private immutable _deployer;
    address private immutable _firstOwner;
    address private immutable _fees;

    /// @notice Deploys and initialises the collection in one.
    /// @param deploymentConfig What is fixed from now on.
    /// @param runtimeConfig    What `updateConfig` can replace.
    constructor(DeploymentConfig memory deploymentConfig, RuntimeConfig memory runtimeConfig) {
        _deployer = msg.sender;
        _firstOwner = deploymentConfig.owner;
        _fees = deploymentConfig.treasuryAddress;
        _check(deploymentConfig, runtimeConfig);
        _blob = _store(_pack(abi.encode(deploymentConfig, runtimeConfig)));

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
        _begin(hot, deploymentConfig.owner, true);
    }

    /// @inheritdoc ICollection
    function initialize(DeploymentConfig calldata deploymentConfig, RuntimeConfig calldata runtimeConfig) external {
        (deploymentConfig, runtimeConfig); // the names are part of the ABI
        revert("Initializable: contract is already initialized");
    }

    function _check(DeploymentConfig memory deploymentConfig, RuntimeConfig memory runtimeConfig) private pure {
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
    }

    function _pack(bytes memory records) private pure returns (bytes memory packed) {
        packed = new bytes(records.length);
        (uint256 data, uint256 destination) = (0, 0);
        assembly ("memory-safe") {
            data := add(records, 32)
            destination := add(packed, 32)
        }
        (uint256 end,) = CollectionArgs.pack(data, data + records.length, destination);
        assembly ("memory-safe") {
            mstore(packed, sub(end, destination))
        }
    }

    function _argsCode() internal view override returns (address holder, uint256 offset) {
        return (_blob, 1);
    }

    /// @dev In code of its own: the arguments are in another account, whose first read costs 2,600 gas.
    function _owner(uint256 hot) internal view override returns (address) {
        return hot & HotWord.OWNER_MOVED == 0 ? _firstOwner : _movedOwner;
    }

    /// @dev As `_owner`.
    function _treasury() internal view override returns (address payable) {
        return payable(_fees);
    }

    function _serviceAdmin() internal view override returns (address) {
        return _deployer;
    }
}
