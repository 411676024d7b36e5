// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC1155NFTProductTemplate} from "./ERC1155NFTProductTemplate.sol";
import {ERC721NFTProductTemplate} from "./ERC721NFTProductTemplate.sol";
import {IProduct} from "./IProduct.sol";
import {IProductOperator} from "./IProductOperator.sol";
import {Args, ProductArgs} from "./ProductArgs.sol";
import {ProductClone} from "./ProductClone.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "./ProductTypes.sol";

/// @title The operator that the service's relayers call.
/// @dev Nothing in it takes value. An intent is marked before its call and unmarked if the call fails, so that a
///   receiver which calls back finds it marked.
contract ProductOperator is IProductOperator, AccessControl {
    /// @notice May deploy products and act on them.
    bytes32 public constant RELAYER_ROLE = keccak256("RELAYER_ROLE");
    /// @inheritdoc IProductOperator
    uint256 public constant CALL_GAS = 500_000;

    /// @dev CALL_GAS, the 1/64 that EIP-150 keeps back, and 60,000 to store the outcome and log a reason.
    uint256 private constant NEEDED_GAS = 567_937;
    uint256 private constant MAX_REASON_BYTES = 1_024;

    /// @inheritdoc IProductOperator
    address public immutable template721;
    /// @inheritdoc IProductOperator
    address public immutable template1155;

    /// @dev One of the relayers, beside the pause flag: its calls read one slot. Zero while there is none.
    address private _firstRelayer;
    /// @inheritdoc IProductOperator
    bool public paused;
    /// @dev One bit for each intent: the first 31 bytes name the word, the last one the bit.
    mapping(uint256 word => uint256 bits) private _done;
    mapping(address target => bool allowed) private _targets;

    /// @notice Deploys both templates, too.
    /// @param admin   Grants and revokes roles, pauses, admits targets.
    /// @param relayer May deploy and act.
    constructor(address admin, address relayer) {
        if (admin == address(0) || relayer == address(0)) revert ZeroAddress();
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(RELAYER_ROLE, relayer);
        template721 = address(new ERC721NFTProductTemplate());
        template1155 = address(new ERC1155NFTProductTemplate());
    }

    // -------------------------------------------------------------- deployments

    /// @inheritdoc IProductOperator
    function deployERC721(
        bytes32 intent,
        ProductDeployment calldata deployment,
        ProductRuntime calldata runtime,
        RolesAddresses[] calldata roles
    ) external returns (address product) {
        return _deploy(template721, intent, deployment, runtime, roles);
    }

    /// @inheritdoc IProductOperator
    function deployERC1155(
        bytes32 intent,
        ProductDeployment calldata deployment,
        ProductRuntime calldata runtime,
        RolesAddresses[] calldata roles
    ) external returns (address product) {
        return _deploy(template1155, intent, deployment, runtime, roles);
    }

    /// @inheritdoc IProductOperator
    function predict721(
        bytes32 intent,
        ProductDeployment calldata deployment,
        ProductRuntime calldata runtime,
        RolesAddresses[] calldata roles
    ) external view returns (address product) {
        return ProductClone.addressOf(
            _initCode(template721, deployment, runtime), _salt(intent, deployment, runtime, roles)
        );
    }

    /// @inheritdoc IProductOperator
    function predict1155(
        bytes32 intent,
        ProductDeployment calldata deployment,
        ProductRuntime calldata runtime,
        RolesAddresses[] calldata roles
    ) external view returns (address product) {
        return ProductClone.addressOf(
            _initCode(template1155, deployment, runtime), _salt(intent, deployment, runtime, roles)
        );
    }

    function _deploy(
        address template,
        bytes32 intent,
        ProductDeployment calldata deployment,
        ProductRuntime calldata runtime,
        RolesAddresses[] calldata roles
    ) private returns (address product) {
        _checkRelayer();
        if (!_mark(intent)) revert IntentDone(intent);
        bytes memory code = _initCode(template, deployment, runtime);
        product = ProductClone.create(code, _salt(intent, deployment, runtime, roles));
        // The address is free: it commits to the intent, which was not done.
        if (product == address(0)) revert CreationFailed();
        IProduct(product).initialize(deployment, runtime, roles);
        emit ProductDeployed(intent, product, deployment.owner);
    }

    function _salt(
        bytes32 intent,
        ProductDeployment calldata deployment,
        ProductRuntime calldata runtime,
        RolesAddresses[] calldata roles
    ) private pure returns (bytes32) {
        return keccak256(abi.encode(intent, keccak256(abi.encode(deployment, runtime, roles))));
    }

    function _initCode(address template, ProductDeployment calldata deployment, ProductRuntime calldata runtime)
        private
        pure
        returns (bytes memory)
    {
        return ProductClone.initCode(
            template,
            ProductArgs.pack(
                Args({
                    royaltiesAddress: runtime.royaltiesAddress,
                    royaltiesBps: runtime.royaltiesBps,
                    name: deployment.name,
                    symbol: deployment.symbol,
                    baseURI: runtime.baseURI
                })
            )
        );
    }

    // -------------------------------------------------------------- calls

    /// @inheritdoc IProductOperator
    function execute(bytes32 intent, address target, bytes calldata data) external returns (bytes memory answer) {
        _checkRelayer();
        if (!_mark(intent)) revert IntentDone(intent);
        if (!isTarget(target)) revert TargetRefused(target);
        bool ok;
        // What the target reverts with is handed on below, whatever it is.
        // solhint-disable-next-line avoid-low-level-calls
        (ok, answer) = target.call(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
        emit IntentExecuted(intent, target);
    }

    /// @inheritdoc IProductOperator
    function executeBatch(Call[] calldata calls) external returns (bool[] memory done) {
        _checkRelayer();
        done = new bool[](calls.length);
        address checked;
        for (uint256 i; i < calls.length; ++i) {
            (bytes32 intent, address target) = (calls[i].intent, calls[i].target);
            if (!_mark(intent)) {
                emit IntentFailed(intent, target, abi.encodeWithSelector(IntentDone.selector, intent));
                continue;
            }
            if (target != checked) {
                if (!isTarget(target)) {
                    _unmark(intent);
                    emit IntentFailed(intent, target, abi.encodeWithSelector(TargetRefused.selector, target));
                    continue;
                }
                checked = target;
            }
            if (_call(i, target, calls[i].data)) {
                done[i] = true;
                emit IntentExecuted(intent, target);
            } else {
                _unmark(intent);
                emit IntentFailed(intent, target, _reason());
            }
        }
    }

    /// @inheritdoc IProductOperator
    function isIntentDone(bytes32 intent) external view returns (bool done) {
        return _done[uint256(intent) >> 8] & _bit(intent) != 0;
    }

    /// @inheritdoc IProductOperator
    function isTarget(address target) public view returns (bool allowed) {
        address template = ProductClone.templateOf(target);
        if (template != address(0) && (template == template721 || template == template1155)) return true;
        return _targets[target];
    }

    /// @dev Marks an intent as done; false if it was.
    function _mark(bytes32 intent) private returns (bool fresh) {
        uint256 bits = _done[uint256(intent) >> 8];
        fresh = bits & _bit(intent) == 0;
        if (fresh) _done[uint256(intent) >> 8] = bits | _bit(intent);
    }

    function _unmark(bytes32 intent) private {
        _done[uint256(intent) >> 8] &= ~_bit(intent);
    }

    function _bit(bytes32 intent) private pure returns (uint256) {
        return 1 << (uint256(intent) & 0xff);
    }

    /// @dev The call gets all of CALL_GAS or is not begun, so that a failure is the call's own. What comes back is left
    ///   where it is, so that it cannot fill our memory.
    function _call(uint256 index, address target, bytes calldata data) private returns (bool ok) {
        bool enough;
        assembly ("memory-safe") {
            let input := mload(0x40)
            calldatacopy(input, data.offset, data.length)
            // The input is in memory by now: nothing but the call itself is paid after this.
            enough := gt(gas(), NEEDED_GAS)
            if enough { ok := call(CALL_GAS, target, 0, input, data.length, 0, 0) }
        }
        if (!enough) revert BatchGasTooLow(index);
    }

    /// @dev The beginning of what the last call returned.
    function _reason() private pure returns (bytes memory reason) {
        assembly ("memory-safe") {
            let size := returndatasize()
            if gt(size, MAX_REASON_BYTES) { size := MAX_REASON_BYTES }
            reason := mload(0x40)
            mstore(reason, size)
            returndatacopy(add(reason, 32), 0, size)
            mstore(0x40, and(add(add(reason, size), 63), not(31)))
        }
    }

    // -------------------------------------------------------------- administration

    /// @inheritdoc IProductOperator
    function setTarget(address target, bool allowed) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (target == address(this) || target.code.length == 0) revert TargetRefused(target);
        _targets[target] = allowed;
        emit TargetSet(target, allowed);
    }

    /// @inheritdoc IProductOperator
    function pause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        paused = true;
        emit Paused(msg.sender);
    }

    /// @inheritdoc IProductOperator
    function unpause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        paused = false;
        emit Unpaused(msg.sender);
    }

    function _checkRelayer() private view {
        (address firstRelayer, bool stopped) = (_firstRelayer, paused);
        if (stopped) revert OperatorPaused();
        if (msg.sender != firstRelayer) _checkRole(RELAYER_ROLE, msg.sender);
    }

    function _grantRole(bytes32 role, address account) internal override {
        if (role == RELAYER_ROLE && _firstRelayer == address(0)) _firstRelayer = account;
        super._grantRole(role, account);
    }

    function _revokeRole(bytes32 role, address account) internal override {
        if (role == RELAYER_ROLE && _firstRelayer == account) _firstRelayer = address(0);
        super._revokeRole(role, account);
    }

    function _checkRole(bytes32 role, address account) internal view override {
        if (!hasRole(role, account)) revert MissingRole(account, role);
    }
}
