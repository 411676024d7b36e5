// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Deploys each collection as a clone at an address that commits to intent, owner and configuration.
interface ICollectionFactory {
    /// @notice This intent's collection stands already; read it instead of deploying again.
    /// @param intentId   The intent that was sent a second time.
    /// @param collection Where its collection lives.
    error AlreadyDeployed(bytes32 intentId, address collection);

    /// @notice The owner of the call is not the owner inside `initData`.
    /// @param owner       The `owner` argument.
    /// @param configOwner The owner in the deployment configuration.
    error OwnerMismatch(address owner, address configOwner);

    /// @notice The account may not call this.
    /// @param account Who called.
    /// @param role    The role that is needed.
    error MissingRole(address account, bytes32 role);

    /// @notice Deployments are stopped until an admin calls `unpause`.
    error DeploymentsPaused();

    /// @notice An address that must be given is zero.
    error ZeroAddress();

    /// @notice The clone could not be created, for want of gas.
    error CreationFailed();

    /// @notice A collection was deployed.
    /// @param intentId   The service's intent.
    /// @param collection The new contract.
    /// @param owner      Its owner.
    event CollectionDeployed(bytes32 indexed intentId, address indexed collection, address indexed owner);

    /// @notice Deployments are stopped.
    event Paused(address account);

    /// @notice Deployments go on.
    event Unpaused(address account);

    /// @notice Deploys and initialises the collection of one intent, once, at the address `predict` names.
    /// @dev The salt commits to intent, owner and data: nobody can occupy the address with other data.
    /// @param intentId 32 bytes chosen by the service, never used again.
    /// @param owner    Receives both roles; must equal the owner inside `initData`.
    /// @param initData `abi.encode(deploymentConfig, runtimeConfig, grantServiceAdmin)`.
    /// @return collection The clone, initialised in this call.
    /// @custom:reverts MissingRole, DeploymentsPaused, AlreadyDeployed, OwnerMismatch, CreationFailed, every string of `initialize`
    /// @custom:source  EIP-1014 (CREATE2), ERC-1167 (minimal proxy)
    function deploy(bytes32 intentId, address owner, bytes calldata initData) external returns (address collection);

    /// @notice The address that `deploy` with the same arguments gives, whether deployed or not.
    function predict(bytes32 intentId, address owner, bytes calldata initData) external view returns (address);

    /// @notice The code behind every clone of this factory. A new template is a new factory.
    function template() external view returns (address);

    /// @notice Whether deployments are stopped.
    function paused() external view returns (bool);

    /// @notice Stops deployments; collections that stand are not touched. Needs DEFAULT_ADMIN_ROLE.
    function pause() external;

    /// @notice Allows deployments again. Needs DEFAULT_ADMIN_ROLE.
    function unpause() external;
}
