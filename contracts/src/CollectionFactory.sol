// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {CollectionTemplate} from "./CollectionTemplate.sol";
import {ICollection} from "./ICollection.sol";
import {ICollectionFactory} from "./ICollectionFactory.sol";
import {CollectionArgs} from "./core/CollectionArgs.sol";

/// @title The factory that the service's relayer calls.
/// @dev A clone is ERC-1167 code with the packed arguments behind it (CollectionArgs.sol).
contract CollectionFactory is ICollectionFactory, AccessControl {
    /// @notice May deploy collections.
    bytes32 public constant RELAYER_ROLE = keccak256("RELAYER_ROLE");

    uint256 private constant CREATION_BYTES = 10;
    uint256 private constant PROXY_BYTES = 45;

    /// @inheritdoc ICollectionFactory
    address public immutable template;

    /// @dev One of the relayers, beside the pause flag: its deployments read one slot. Zero while there is none.
    address private _firstRelayer;
    /// @inheritdoc ICollectionFactory
    bool public paused;

    /// @notice Deploys the template, too.
    /// @param admin   Grants and revokes roles, pauses.
    /// @param relayer May deploy; becomes service admin of the collections that ask for one.
    constructor(address admin, address relayer) {
        if (admin == address(0) || relayer == address(0)) revert ZeroAddress();
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
        _grantRole(RELAYER_ROLE, relayer);
        template = address(new CollectionTemplate(relayer));
    }

    /// @inheritdoc ICollectionFactory
    function deploy(bytes32 intentId, address owner, bytes calldata initData) external returns (address collection) {
        _checkRelayer();
        (uint256 input, uint256 code, bytes32 salt) = _prepare(intentId, owner, initData);
        (uint256 size, address configOwner) = _packClone(initData.length, code);
        if (configOwner != owner) revert OwnerMismatch(owner, configOwner);
        assembly ("memory-safe") {
            collection := create2(0, code, size, salt)
        }
        if (collection == address(0)) _explainFailure(intentId, _address(salt, code, size));
        assembly ("memory-safe") {
            if iszero(call(gas(), collection, 0, input, sub(code, input), 0, 0)) {
                returndatacopy(input, 0, returndatasize())
                revert(input, returndatasize())
            }
        }
        emit CollectionDeployed(intentId, collection, owner);
    }

    /// @inheritdoc ICollectionFactory
    function predict(bytes32 intentId, address owner, bytes calldata initData) external view returns (address) {
        (, uint256 code, bytes32 salt) = _prepare(intentId, owner, initData);
        (uint256 size,) = _packClone(initData.length, code);
        return _address(salt, code, size);
    }

    /// @inheritdoc ICollectionFactory
    function pause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        paused = true;
        emit Paused(msg.sender);
    }

    /// @inheritdoc ICollectionFactory
    function unpause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        paused = false;
        emit Unpaused(msg.sender);
    }

    function _checkRelayer() private view {
        (address firstRelayer, bool stopped) = (_firstRelayer, paused);
        if (stopped) revert DeploymentsPaused();
        if (msg.sender != firstRelayer) _checkRole(RELAYER_ROLE, msg.sender);
    }

    /// @notice Puts the call of `initialize`, with the service-admin flag as a third word, into memory and leaves room
    ///   for the clone's creation code behind it.
    /// @return input Where the call begins; the records stand four bytes further.
    /// @return code  Where it ends, and where the creation code is to be.
    /// @return salt  keccak256(abi.encode(intentId, owner, keccak256(initData))).
    function _prepare(bytes32 intentId, address owner, bytes calldata initData)
        private
        pure
        returns (uint256 input, uint256 code, bytes32 salt)
    {
        bytes4 selector = ICollection.initialize.selector;
        assembly ("memory-safe") {
            input := mload(0x40)
            mstore(input, selector)
            calldatacopy(add(input, 4), initData.offset, initData.length)
            code := add(add(input, 4), initData.length)
            // Packed arguments are never longer than the records; the rest is proxy, creation code and overhang.
            mstore(0x40, add(add(code, initData.length), 128))
            mstore(code, intentId)
            mstore(add(code, 32), owner)
            mstore(add(code, 64), keccak256(add(input, 4), initData.length))
            salt := keccak256(code, 96)
        }
    }

    /// @dev Writes the clone's creation code to `code`, from the records that end there.
    function _packClone(uint256 recordBytes, uint256 code) private view returns (uint256 size, address configOwner) {
        address template_ = template;
        (size, configOwner) = CollectionArgs.pack(code - recordBytes, code, code + CREATION_BYTES + PROXY_BYTES);
        size -= code;
        assembly ("memory-safe") {
            // Creation: PUSH2 size, RETURNDATASIZE, DUP2, PUSH1 10, RETURNDATASIZE, CODECOPY, RETURN. Then ERC-1167.
            let head := or(shl(56, or(0x610000, sub(size, CREATION_BYTES))), 0x3d81600a3d39f3)
            mstore(code, or(or(shl(176, head), shl(96, 0x363d3d373d3d3d363d73)), shr(64, template_)))
            mstore(add(code, 23), or(shl(120, template_), 0x5af43d82803e903d91602b57fd5bf3))
        }
    }

    function _address(bytes32 salt, uint256 code, uint256 size) private view returns (address) {
        bytes32 codeHash;
        assembly ("memory-safe") {
            codeHash := keccak256(code, size)
        }
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"ff", address(this), salt, codeHash)))));
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

    function _explainFailure(bytes32 intentId, address collection) private view {
        if (collection.code.length != 0) revert AlreadyDeployed(intentId, collection);
        revert CreationFailed();
    }
}
