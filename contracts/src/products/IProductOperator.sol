// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ProductDeployment, ProductRuntime, RolesAddresses} from "./ProductTypes.sol";

/// @title Deploys the service's product contracts and acts on them, each intent once.
/// @dev The operator initialises every product it deploys and has ADMIN_ROLE there. It obeys wallets with RELAYER_ROLE.
///   An intent is any 32 bytes that the service never uses twice. Intents with the same first 31 bytes share a storage
///   word: the first of 256 costs 22,100 gas, the others 5,000, and 200 within one transaction.
interface IProductOperator {
    /// @notice One call of a batch.
    /// @param intent The service's intent.
    /// @param target A product, or a contract that `setTarget` admitted.
    /// @param data   Selector and arguments. Value is never sent.
    struct Call {
        bytes32 intent;
        address target;
        bytes data;
    }

    /// @notice This intent was carried out already; nothing was done again.
    error IntentDone(bytes32 intent);

    /// @notice The operator does not call this address: it is neither a product of its own nor admitted.
    error TargetRefused(address target);

    /// @notice The account may not call this.
    /// @param account Who called.
    /// @param role    The role that is needed.
    error MissingRole(address account, bytes32 role);

    /// @notice A batch was sent with too little gas for its next call; nothing of it was carried out.
    /// @param call Index of the call that could not begin.
    error BatchGasTooLow(uint256 call);

    /// @notice The operator is stopped until an admin calls `unpause`.
    error OperatorPaused();

    /// @notice An address that must be given is zero.
    error ZeroAddress();

    /// @notice The clone could not be created, for want of gas.
    error CreationFailed();

    /// @notice A product was deployed and initialised; its intent is done.
    /// @param intent  The service's intent.
    /// @param product The new contract.
    /// @param owner   Its owner.
    event ProductDeployed(bytes32 indexed intent, address indexed product, address indexed owner);

    /// @notice A call succeeded; its intent is done.
    event IntentExecuted(bytes32 indexed intent, address indexed target);

    /// @notice A call of a batch failed, the others did not: nothing of this call happened.
    /// @dev With reason `IntentDone` the intent is done, by an earlier call; with any other reason it is not.
    /// @param reason What the target reverted with, at most 1,024 bytes of it; or IntentDone, TargetRefused.
    event IntentFailed(bytes32 indexed intent, address indexed target, bytes reason);

    /// @notice An admin admitted or dismissed a target that is not a product of this operator.
    event TargetSet(address indexed target, bool allowed);

    /// @notice The operator is stopped.
    event Paused(address account);

    /// @notice The operator goes on.
    event Unpaused(address account);

    /// @notice Deploys and initialises an ERC-721 product, once, at the address that `predict721` names.
    /// @dev CREATE2 with salt = keccak256(abi.encode(intent, keccak256(abi.encode(deployment, runtime, roles)))): nobody
    ///   can occupy the address with another configuration.
    /// @custom:reverts MissingRole, OperatorPaused, IntentDone, CreationFailed, every string of the product's `initialize`
    /// @custom:source  EIP-1014 (CREATE2), ERC-1167 (minimal proxy)
    function deployERC721(
        bytes32 intent,
        ProductDeployment calldata deployment,
        ProductRuntime calldata runtime,
        RolesAddresses[] calldata roles
    ) external returns (address product);

    /// @notice Deploys and initialises an ERC-1155 product; otherwise as `deployERC721`.
    function deployERC1155(
        bytes32 intent,
        ProductDeployment calldata deployment,
        ProductRuntime calldata runtime,
        RolesAddresses[] calldata roles
    ) external returns (address product);

    /// @notice The address that `deployERC721` with the same arguments gives, whether deployed or not.
    function predict721(
        bytes32 intent,
        ProductDeployment calldata deployment,
        ProductRuntime calldata runtime,
        RolesAddresses[] calldata roles
    ) external view returns (address product);

    /// @notice The address that `deployERC1155` with the same arguments gives, whether deployed or not.
    function predict1155(
        bytes32 intent,
        ProductDeployment calldata deployment,
        ProductRuntime calldata runtime,
        RolesAddresses[] calldata roles
    ) external view returns (address product);

    /// @notice Makes one call, once. Reverts with the target's own reason; then the intent is not done.
    /// @return answer What the target returned.
    /// @custom:reverts MissingRole, OperatorPaused, IntentDone, TargetRefused, whatever the target reverts with
    function execute(bytes32 intent, address target, bytes calldata data) external returns (bytes memory answer);

    /// @notice Makes several calls, each once and each with its own outcome, each with exactly CALL_GAS gas.
    /// @dev What a call does cannot depend on how much gas the batch was given: the whole batch reverts with
    ///   BatchGasTooLow when a call could not get its CALL_GAS (EIP-150 keeps 1/64 back).
    /// @return done Which calls were carried out by this transaction.
    /// @custom:reverts MissingRole, OperatorPaused, BatchGasTooLow
    function executeBatch(Call[] calldata calls) external returns (bool[] memory done);

    /// @notice Whether an intent was carried out.
    function isIntentDone(bytes32 intent) external view returns (bool done);

    /// @notice Whether `execute` and `executeBatch` may call this address.
    function isTarget(address target) external view returns (bool allowed);

    /// @notice Admits or dismisses a target that is not a product of this operator. Needs DEFAULT_ADMIN_ROLE.
    /// @custom:reverts MissingRole, TargetRefused (the operator itself, and accounts without code)
    function setTarget(address target, bool allowed) external;

    /// @notice Gas that each call of a batch gets; a call that needs more is for `execute`.
    function CALL_GAS() external view returns (uint256);

    /// @notice The code behind every ERC-721 product of this operator.
    function template721() external view returns (address);

    /// @notice The code behind every ERC-1155 product of this operator.
    function template1155() external view returns (address);

    /// @notice Whether the operator is stopped.
    function paused() external view returns (bool);

    /// @notice Stops deployments and calls. Needs DEFAULT_ADMIN_ROLE.
    function pause() external;

    /// @notice Allows deployments and calls again. Needs DEFAULT_ADMIN_ROLE.
    function unpause() external;
}
