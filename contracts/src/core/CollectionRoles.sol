// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ICollection} from "../ICollection.sol";
import {CollectionState} from "./CollectionState.sol";
import {HotWord} from "./HotWord.sol";

/// @title Owner, roles and who may do what.
/// @dev The owner's two roles and the service admin's one live in flags of the hot word, those of other accounts in
///   their wallet words. The owner has no role bit in the wallet word and is never the flagged service admin, so that
///   nothing is left behind when the ownership moves.
abstract contract CollectionRoles is CollectionState {
    /// @inheritdoc ICollection
    bytes32 public constant ADMIN_ROLE = keccak256("ADMIN_ROLE");
    /// @inheritdoc ICollection
    bytes32 public constant DEFAULT_ADMIN_ROLE = 0;

    /// @dev The account that `SERVICE_IS_ADMIN` speaks of.
    function _serviceAdmin() internal view virtual returns (address);

    /// @inheritdoc ICollection
    function owner() external view returns (address) {
        return _owner(_hot);
    }

    /// @inheritdoc ICollection
    function hasRole(bytes32 role, address account) external view returns (bool) {
        return _hasRole(_hot, role, account);
    }

    /// @inheritdoc ICollection
    function getRoleAdmin(bytes32 role) external view returns (bytes32) {
        role; // every role has the same admin; the name is part of the ABI
        return DEFAULT_ADMIN_ROLE;
    }

    /// @inheritdoc ICollection
    function grantRole(bytes32 role, address account) external {
        _setHot(_setRole(_requireRole(DEFAULT_ADMIN_ROLE), role, account, true));
    }

    /// @inheritdoc ICollection
    function revokeRole(bytes32 role, address account) external {
        _setHot(_setRole(_requireRole(DEFAULT_ADMIN_ROLE), role, account, false));
    }

    /// @inheritdoc ICollection
    function renounceRole(bytes32 role, address account) external {
        require(account == msg.sender, "AccessControl: can only renounce roles for self");
        _setHot(_setRole(_hot, role, account, false));
    }

    /// @inheritdoc ICollection
    function transferOwnership(address newOwner) external {
        uint256 hot = _requireRole(DEFAULT_ADMIN_ROLE);
        address previousOwner = _owner(hot);
        require(newOwner != address(0), "Contract must have an owner");
        require(newOwner != previousOwner, "Already the owner");
        hot = _setRole(hot, ADMIN_ROLE, previousOwner, false);
        hot = _setRole(hot, DEFAULT_ADMIN_ROLE, previousOwner, false);
        hot = _setRole(hot, ADMIN_ROLE, newOwner, true);
        hot = _setRole(hot, DEFAULT_ADMIN_ROLE, newOwner, true);
        // From here on the flags speak of the new owner; the roles it was just given leave its wallet word.
        _setWallet(newOwner, _wallet(newOwner) & ~(WALLET_IS_ADMIN | WALLET_IS_DEFAULT_ADMIN));
        if (newOwner == _serviceAdmin()) hot &= ~HotWord.SERVICE_IS_ADMIN;
        hot &= ~(HotWord.OWNER_LACKS_ADMIN | HotWord.OWNER_LACKS_DEFAULT_ADMIN);
        _movedOwner = newOwner;
        _setHot(hot | HotWord.OWNER_MOVED);
        emit OwnershipTransferred(previousOwner, newOwner);
    }

    /// @inheritdoc ICollection
    function transferAdminRights(address to) external {
        uint256 hot = _requireRole(ADMIN_ROLE);
        require(to != address(0), "Admin cannot be null");
        require(!_hasRole(hot, ADMIN_ROLE, to), "Already an admin");
        require(msg.sender != _owner(hot), "Use transferOwnership");
        hot = _setRole(hot, ADMIN_ROLE, msg.sender, false);
        _setHot(_setRole(hot, ADMIN_ROLE, to, true));
    }

    /// @dev Reverts unless the caller has `role`; hands back the hot word it had to read.
    function _requireRole(bytes32 role) internal view returns (uint256 hot) {
        hot = _hot;
        if (!_hasRole(hot, role, msg.sender)) {
            revert(
                string.concat(
                    "AccessControl: account ",
                    Strings.toHexString(msg.sender),
                    " is missing role ",
                    Strings.toHexString(uint256(role), 32)
                )
            );
        }
    }

    function _setHot(uint256 hot) internal {
        _hot = hot;
    }

    function _hasRole(uint256 hot, bytes32 role, address account) private view returns (bool) {
        bool admin = role == ADMIN_ROLE;
        if (!admin && role != DEFAULT_ADMIN_ROLE) return _otherRoles[role][account];
        if (account == _owner(hot)) {
            return hot & (admin ? HotWord.OWNER_LACKS_ADMIN : HotWord.OWNER_LACKS_DEFAULT_ADMIN) == 0;
        }
        if (admin && account == _serviceAdmin()) return hot & HotWord.SERVICE_IS_ADMIN != 0;
        return _wallet(account) & (admin ? WALLET_IS_ADMIN : WALLET_IS_DEFAULT_ADMIN) != 0;
    }

    /// @dev Grants or revokes with its event, or does nothing; the caller stores the hot word that comes back.
    function _setRole(uint256 hot, bytes32 role, address account, bool on) private returns (uint256) {
        if (_hasRole(hot, role, account) == on) return hot;
        bool admin = role == ADMIN_ROLE;
        if (!admin && role != DEFAULT_ADMIN_ROLE) {
            _otherRoles[role][account] = on;
        } else if (account == _owner(hot)) {
            uint256 lacks = admin ? HotWord.OWNER_LACKS_ADMIN : HotWord.OWNER_LACKS_DEFAULT_ADMIN;
            hot = HotWord.withFlag(hot, lacks, !on);
        } else if (admin && account == _serviceAdmin()) {
            hot = HotWord.withFlag(hot, HotWord.SERVICE_IS_ADMIN, on);
        } else {
            uint256 bit = admin ? WALLET_IS_ADMIN : WALLET_IS_DEFAULT_ADMIN;
            _setWallet(account, HotWord.withFlag(_wallet(account), bit, on));
        }
        if (on) emit RoleGranted(role, account, msg.sender);
        else emit RoleRevoked(role, account, msg.sender);
        return hot;
    }
}
