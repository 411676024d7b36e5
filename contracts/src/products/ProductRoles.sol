// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IProduct} from "./IProduct.sol";
import {RolesAddresses} from "./ProductTypes.sol";
import {ProductWord} from "./ProductWord.sol";

/// @title Owner, roles and the lists of roles.
/// @dev An account is a member of a role because it was granted, or because the role's list names it. The events tell
///   membership. Beyond it, the owner has every role and an admin every role but DEFAULT_ADMIN_ROLE.
///   The owner's and the initialiser's ADMIN_ROLE are flags of the hot word, so that a deployment writes no slot for
///   them. The owner has no admin bit in the wallet word and is never the flagged initialiser: nothing is left behind
///   when the ownership moves.
///
///   Wallet word, one for each account:
///   bit     77        72 71  70 69        64 63                                                    0
///      ┌───────────────┬──────┬────────────┬─────────────────────────────────────────────────────────┐
///      │ listed roles 6│ free │ granted  6 │ balance of an ERC-721                                64 │
///      └───────────────┴──────┴────────────┴─────────────────────────────────────────────────────────┘
///   Both sets of roles have the same order, from the low end: ADMIN, MINT, UPDATE_CONTRACT, UPDATE_TOKEN, BURN, TRANSFER.
abstract contract ProductRoles is IProduct {
    /// @inheritdoc IProduct
    bytes32 public constant ADMIN_ROLE = keccak256("ADMIN_ROLE");
    /// @inheritdoc IProduct
    bytes32 public constant BURN_ROLE = keccak256("BURN_ROLE");
    /// @inheritdoc IProduct
    bytes32 public constant DEFAULT_ADMIN_ROLE = 0;
    /// @inheritdoc IProduct
    bytes32 public constant MINT_ROLE = keccak256("MINT_ROLE");
    /// @inheritdoc IProduct
    bytes32 public constant TRANSFER_ROLE = keccak256("TRANSFER_ROLE");
    /// @inheritdoc IProduct
    bytes32 public constant UPDATE_CONTRACT_ROLE = keccak256("UPDATE_CONTRACT_ROLE");
    /// @inheritdoc IProduct
    bytes32 public constant UPDATE_TOKEN_ROLE = keccak256("UPDATE_TOKEN_ROLE");

    uint256 private constant ADMIN_BIT = 1 << 64;
    uint256 private constant LISTED_SHIFT = 8;

    /// @dev Slot 0, ProductWord.sol.
    uint256 internal _hot;
    /// @dev Slot 1.
    mapping(address account => uint256 word) internal _wallets;
    /// @dev Slot 2: the accounts that a role's list named; some may have lost the role since.
    mapping(bytes32 role => address[] accounts) private _lists;
    /// @dev Slot 3: members of roles that this contract does not know.
    mapping(bytes32 role => mapping(address account => bool)) private _otherRoles;

    /// @dev The account that `INITIALISER_IS_ADMIN` speaks of.
    function _initialiser() internal view virtual returns (address);

    /// @inheritdoc IProduct
    function owner() external view returns (address) {
        return ProductWord.owner(_hot);
    }

    /// @inheritdoc IProduct
    function hasRole(bytes32 role, address account) external view returns (bool) {
        return _hasRole(_hot, role, account);
    }

    /// @inheritdoc IProduct
    function getRoleAdmin(bytes32 role) external view returns (bytes32) {
        role; // every role has the same admin; the name is part of the ABI
        return DEFAULT_ADMIN_ROLE;
    }

    /// @inheritdoc IProduct
    function grantRole(bytes32 role, address account) external {
        _hot = _grant(_requireRole(DEFAULT_ADMIN_ROLE), role, account);
    }

    /// @inheritdoc IProduct
    function revokeRole(bytes32 role, address account) external {
        _hot = _revoke(_requireRole(DEFAULT_ADMIN_ROLE), role, account);
    }

    /// @inheritdoc IProduct
    function renounceRole(bytes32 role, address account) external {
        require(account == msg.sender, "AccessControl: can only renounce roles for self");
        _hot = _revoke(_hot, role, account);
    }

    /// @inheritdoc IProduct
    function transferOwnership(address newOwner) external {
        uint256 hot = _hot;
        address previousOwner = ProductWord.owner(hot);
        require(newOwner != previousOwner, "GranularRoles: already the owner");
        require(msg.sender == previousOwner, "GranularRoles: not the owner");
        require(newOwner != address(0), "Contract must have an owner");
        hot = _revoke(hot, ADMIN_ROLE, previousOwner);
        hot = _grant(hot, ADMIN_ROLE, newOwner);
        // From here on the owner's flag speaks of the new owner; the role it was just given leaves the other place.
        _wallets[newOwner] &= ~ADMIN_BIT;
        if (newOwner == _initialiser()) hot &= ~ProductWord.INITIALISER_IS_ADMIN;
        _hot = ProductWord.withOwner(hot & ~ProductWord.OWNER_LACKS_ADMIN, newOwner);
        emit OwnershipTransferred(previousOwner, newOwner);
    }

    /// @inheritdoc IProduct
    function revokeNFTPortPermissions() external {
        _hot = _endInitialiser(_hot);
    }

    function _endInitialiser(uint256 hot) internal returns (uint256) {
        _checkRole(hot, ADMIN_ROLE);
        return _revoke(hot, ADMIN_ROLE, _initialiser());
    }

    /// @dev Reverts unless the caller has `role`; hands back the hot word it had to read.
    function _requireRole(bytes32 role) internal view returns (uint256 hot) {
        hot = _hot;
        _checkRole(hot, role);
    }

    function _checkRole(uint256 hot, bytes32 role) internal view {
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

    /// @dev Says who has which role at the beginning, and reads the lists.
    function _beginRoles(uint256 hot, RolesAddresses[] memory lists) internal returns (uint256) {
        (address first, address initialiser) = (ProductWord.owner(hot), _initialiser());
        require(first != address(0), "Contract must have an owner");
        emit OwnershipTransferred(address(0), first);
        emit RoleGranted(ADMIN_ROLE, first, msg.sender);
        if (initialiser != first) {
            hot |= ProductWord.INITIALISER_IS_ADMIN;
            emit RoleGranted(ADMIN_ROLE, initialiser, msg.sender);
        }
        return _setLists(hot, lists);
    }

    /// @dev Replaces the lists of the roles that are named; several lists of one role are one. Of the former members of a
    ///   list, those that `grantRole` made members too remain members.
    function _setLists(uint256 hot, RolesAddresses[] memory lists) internal returns (uint256) {
        for (uint256 i; i < lists.length; ++i) {
            RolesAddresses memory next = lists[i];
            uint256 bit = _bit(next.role);
            require(bit > ADMIN_BIT, string.concat("GranularRoles: invalid role ", _hex(next.role)));
            uint256 frozen = bit << ProductWord.FROZEN_SHIFT;
            address[] storage list = _lists[next.role];
            bool goesOn = _isNamedBefore(lists, i);
            if (!goesOn) {
                require(hot & frozen == 0, string.concat("GranularRoles: role ", _hex(next.role), " is frozen"));
                for (uint256 k; k < list.length; ++k) {
                    _setListed(next.role, bit, list[k], false);
                }
                if (list.length + next.addresses.length != 0) _lists[next.role] = next.addresses;
            }
            for (uint256 k; k < next.addresses.length; ++k) {
                if (goesOn) list.push(next.addresses[k]);
                _setListed(next.role, bit, next.addresses[k], true);
            }
            if (next.frozen) hot |= frozen;
        }
        return hot;
    }

    /// @dev Whether an earlier list is of the same role.
    function _isNamedBefore(RolesAddresses[] memory lists, uint256 index) private pure returns (bool) {
        for (uint256 i; i < index; ++i) {
            if (lists[i].role == lists[index].role) return true;
        }
        return false;
    }

    function _setListed(bytes32 role, uint256 bit, address account, bool on) private {
        uint256 wallet = _wallets[account];
        uint256 listed = bit << LISTED_SHIFT;
        if ((wallet & listed != 0) == on) return;
        _wallets[account] = wallet ^ listed;
        if (wallet & bit != 0) return;
        if (on) emit RoleGranted(role, account, msg.sender);
        else emit RoleRevoked(role, account, msg.sender);
    }

    function _hasRole(uint256 hot, bytes32 role, address account) internal view returns (bool) {
        if (account == ProductWord.owner(hot)) return true;
        if (role == DEFAULT_ADMIN_ROLE) return false;
        if (account == _initialiser() && hot & ProductWord.INITIALISER_IS_ADMIN != 0) return true;
        uint256 bit = _bit(role);
        uint256 wallet = _wallets[account];
        if (wallet & (ADMIN_BIT | bit | (bit << LISTED_SHIFT)) != 0) return true;
        return bit == 0 && _otherRoles[role][account];
    }

    /// @dev Whether the account was granted the role, or is on its list.
    function _isMember(uint256 hot, bytes32 role, address account) private view returns (bool) {
        uint256 bit = _bit(role);
        if (bit == 0) return _otherRoles[role][account];
        if (bit == ADMIN_BIT) {
            if (account == ProductWord.owner(hot)) return hot & ProductWord.OWNER_LACKS_ADMIN == 0;
            if (account == _initialiser()) return hot & ProductWord.INITIALISER_IS_ADMIN != 0;
        }
        return _wallets[account] & (bit | (bit << LISTED_SHIFT)) != 0;
    }

    /// @dev The caller stores the hot word that comes back. DEFAULT_ADMIN_ROLE is the owner's alone: granting or
    ///   revoking it does nothing.
    function _grant(uint256 hot, bytes32 role, address account) private returns (uint256) {
        if (role == DEFAULT_ADMIN_ROLE) return hot;
        if (!_isMember(hot, role, account)) emit RoleGranted(role, account, msg.sender);
        return _setGranted(hot, role, account, true);
    }

    function _revoke(uint256 hot, bytes32 role, address account) private returns (uint256) {
        if (role == DEFAULT_ADMIN_ROLE || !_isMember(hot, role, account)) return hot;
        emit RoleRevoked(role, account, msg.sender);
        return _setGranted(hot, role, account, false);
    }

    /// @dev Taking a role away also takes the account off the role's list.
    function _setGranted(uint256 hot, bytes32 role, address account, bool on) private returns (uint256) {
        uint256 bit = _bit(role);
        if (bit == 0) {
            _otherRoles[role][account] = on;
        } else if (bit == ADMIN_BIT && account == ProductWord.owner(hot)) {
            hot = ProductWord.withFlag(hot, ProductWord.OWNER_LACKS_ADMIN, !on);
        } else if (bit == ADMIN_BIT && account == _initialiser()) {
            hot = ProductWord.withFlag(hot, ProductWord.INITIALISER_IS_ADMIN, on);
        } else {
            uint256 wallet = _wallets[account];
            _wallets[account] = on ? wallet | bit : wallet & ~(bit | (bit << LISTED_SHIFT));
        }
        return hot;
    }

    /// @dev A role's bit in a wallet word; zero for a role that is not among the six.
    function _bit(bytes32 role) private pure returns (uint256) {
        if (role == MINT_ROLE) return ADMIN_BIT << 1;
        if (role == ADMIN_ROLE) return ADMIN_BIT;
        if (role == UPDATE_CONTRACT_ROLE) return ADMIN_BIT << 2;
        if (role == UPDATE_TOKEN_ROLE) return ADMIN_BIT << 3;
        if (role == BURN_ROLE) return ADMIN_BIT << 4;
        return role == TRANSFER_ROLE ? ADMIN_BIT << 5 : 0;
    }

    function _hex(bytes32 role) private pure returns (string memory) {
        return Strings.toHexString(uint256(role), 32);
    }
}
