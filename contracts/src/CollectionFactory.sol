// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Pausable} from "@openzeppelin/contracts/security/Pausable.sol";
import {CollectionTemplate} from "./CollectionTemplate.sol";
import {DeploymentConfig, RuntimeConfig} from "./CollectionTypes.sol";
import {ICollectionFactory} from "./ICollectionFactory.sol";

/// @title The factory that the service's relayer calls.
contract CollectionFactory is ICollectionFactory, AccessControl, Pausable {
    /// @notice May deploy collections.
    bytes32 public constant RELAYER_ROLE = keccak256("RELAYER_ROLE");

    /// @inheritdoc ICollectionFactory
    address public immutable template;

    /// @param admin   Grants and revokes roles, pauses.
    /// @param relayer May deploy; becomes service admin of the collections that ask for one.
    constructor(address admin, address relayer) {
        if (admin == address(0) || relayer == address(0)) revert ZeroAddress();
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(RELAYER_ROLE, relayer);
        template = address(new CollectionTemplate(relayer));
    }

    /// @inheritdoc ICollectionFactory
    function deploy(bytes32 intentId, address owner, bytes calldata initData)
        external
        onlyRole(RELAYER_ROLE)
        whenNotPaused
        returns (address collection)
    {
        (DeploymentConfig memory config,,) = abi.decode(initData, (DeploymentConfig, RuntimeConfig, bool));
        if (config.owner != owner) revert OwnerMismatch(owner, config.owner);
        collection = predict(intentId, owner, initData);
        if (collection.code.length != 0) revert AlreadyDeployed(intentId, collection);

        Clones.cloneDeterministic(template, _salt(intentId, owner, initData));
        // `initData` is the argument list of `initialize` with the service-admin flag as a third word.
        (bool ok, bytes memory reason) =
            collection.call(bytes.concat(CollectionTemplate(collection).initialize.selector, initData));
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(reason, 32), mload(reason))
            }
        }
        emit CollectionDeployed(intentId, collection, owner);
    }

    /// @inheritdoc ICollectionFactory
    function predict(bytes32 intentId, address owner, bytes calldata initData) public view returns (address) {
        return Clones.predictDeterministicAddress(template, _salt(intentId, owner, initData));
    }

    /// @notice Stops deployments; collections that stand are not touched.
    function pause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _pause();
    }

    /// @notice Allows deployments again.
    function unpause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _unpause();
    }

    function _salt(bytes32 intentId, address owner, bytes calldata initData) private pure returns (bytes32) {
        return keccak256(abi.encode(intentId, owner, keccak256(initData)));
    }

    function _checkRole(bytes32 role, address account) internal view override {
        if (!hasRole(role, account)) revert MissingRole(account, role);
    }

    function _requireNotPaused() internal view override {
        if (paused()) revert DeploymentsPaused();
    }
}
