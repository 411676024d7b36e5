// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ICollection} from "../ICollection.sol";
import {CollectionRoles} from "./CollectionRoles.sol";
import {HotWord} from "./HotWord.sol";

/// @title ERC-721 over one ownership word per run of tokens.
/// @dev Ownership word: owner 160 | length of the run that begins here 8 | "approved" flag of its first token.
///   Ids 0 to minted-1 are covered by runs of at most 32. The word that counts for an id is the nearest one at or
///   below it; taking a token out of a run first writes the word behind it. A word further down keeps its old, longer
///   length, which the nearer word hides. Because a run knows its length, neither reading nor moving a token needs the
///   hot word: an id that no run reaches does not exist.
abstract contract CollectionTokens is CollectionRoles {
    uint256 internal constant MAX_RUN = 32;
    uint256 private constant RUN_SHIFT = 160;
    uint256 private constant APPROVED = 1 << 168;

    /// @inheritdoc ICollection
    function balanceOf(address owner) external view returns (uint256) {
        if (owner == address(0)) revert BalanceQueryForZeroAddress();
        return uint64(_wallet(owner));
    }

    /// @inheritdoc ICollection
    function totalSupply() external view returns (uint256) {
        return HotWord.minted(_hot);
    }

    /// @inheritdoc ICollection
    function ownerOf(uint256 tokenId) external view returns (address) {
        (uint256 word,) = _ownership(tokenId);
        return address(uint160(word));
    }

    /// @inheritdoc ICollection
    function getApproved(uint256 tokenId) external view returns (address) {
        if (!_exists(tokenId)) revert ApprovalQueryForNonexistentToken();
        return _approved(tokenId);
    }

    /// @inheritdoc ICollection
    function isApprovedForAll(address owner, address operator) external view returns (bool) {
        return _operators[owner][operator];
    }

    /// @inheritdoc ICollection
    function setApprovalForAll(address operator, bool approved) external {
        if (operator == msg.sender) revert ApproveToCaller();
        _operators[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    /// @inheritdoc ICollection
    function approve(address to, uint256 tokenId) external {
        (uint256 word, uint256 rest) = _ownership(tokenId);
        address holder = address(uint160(word));
        if (to == holder) revert ApprovalToCurrentOwner();
        if (msg.sender != holder && !_operators[holder][msg.sender]) revert ApprovalCallerNotOwnerNorApproved();
        uint256 fresh = uint160(holder) | (rest << RUN_SHIFT);
        if (to != address(0)) fresh |= APPROVED;
        assembly ("memory-safe") {
            sstore(add(TOKEN_REGION, tokenId), fresh)
            if to { sstore(add(APPROVAL_REGION, tokenId), to) }
        }
        emit Approval(holder, to, tokenId);
    }

    /// @inheritdoc ICollection
    function transferFrom(address from, address to, uint256 tokenId) external {
        _transfer(from, to, tokenId);
    }

    /// @inheritdoc ICollection
    function safeTransferFrom(address from, address to, uint256 tokenId) external {
        _transfer(from, to, tokenId);
        if (to.code.length != 0) _askReceiver(from, to, tokenId, "");
    }

    /// @inheritdoc ICollection
    function safeTransferFrom(address from, address to, uint256 tokenId, bytes calldata _data) external {
        _transfer(from, to, tokenId);
        if (to.code.length != 0) _askReceiver(from, to, tokenId, _data);
    }

    function _exists(uint256 tokenId) internal view returns (bool) {
        return tokenId < HotWord.minted(_hot);
    }

    /// @dev Gives `to` the ids from `first` on. `wallet` is `to`'s wallet word before it; the supply was checked.
    function _mintTokens(address to, uint256 wallet, uint256 first, uint256 amount) internal {
        if (to == address(0)) revert MintToZeroAddress();
        if (amount == 0) revert MintZeroQuantity();
        bytes32 topic = Transfer.selector;
        assembly ("memory-safe") {
            sstore(or(WALLET_REGION, to), add(wallet, amount))
            let id := first
            let end := add(first, amount)
            // One ownership word for each full run, and one for what is left.
            for {} gt(sub(end, id), MAX_RUN) { id := add(id, MAX_RUN) } {
                sstore(add(TOKEN_REGION, id), or(to, shl(RUN_SHIFT, MAX_RUN)))
            }
            sstore(add(TOKEN_REGION, id), or(to, shl(RUN_SHIFT, sub(end, id))))
            for { id := first } 1 {} {
                log4(0, 0, topic, 0, to, id)
                id := add(id, 1)
                if eq(id, end) { break }
            }
        }
        // EIP-7702: the wallet that signed this transaction needs no callback, delegated code or not. This admits nobody.
        // solhint-disable-next-line avoid-tx-origin
        if ((uint160(to) ^ uint160(tx.origin)) | (uint160(to) ^ uint160(msg.sender)) == 0) return;
        if (to.code.length == 0) return;
        unchecked {
            for (uint256 id = first; id < first + amount; ++id) {
                _askReceiver(address(0), to, id, "");
            }
        }
    }

    /// @dev The ownership word that counts for `tokenId` and how many tokens of its run begin with `tokenId`.
    function _ownership(uint256 tokenId) private view returns (uint256 word, uint256 rest) {
        if (tokenId <= type(uint32).max) {
            assembly ("memory-safe") {
                let slot := add(TOKEN_REGION, tokenId)
                word := sload(slot)
                // The region below TOKEN_REGION is empty, so that the first ids need no bound of their own.
                let distance := 0
                for {} and(iszero(word), lt(distance, sub(MAX_RUN, 1))) {} {
                    distance := add(distance, 1)
                    word := sload(sub(slot, distance))
                }
                let run := and(shr(RUN_SHIFT, word), 0xff)
                rest := mul(sub(run, distance), gt(run, distance))
            }
        }
        if (rest == 0) revert OwnerQueryForNonexistentToken();
    }

    /// @dev Zero unless the token heads its run and carries the flag.
    function _approved(uint256 tokenId) private view returns (address account) {
        assembly ("memory-safe") {
            if and(sload(add(TOKEN_REGION, tokenId)), APPROVED) { account := sload(add(APPROVAL_REGION, tokenId)) }
        }
    }

    function _transfer(address from, address to, uint256 tokenId) private {
        (uint256 word, uint256 rest) = _ownership(tokenId);
        if (address(uint160(word)) != from) revert TransferFromIncorrectOwner();
        if (msg.sender != from && !_operators[from][msg.sender] && _approved(tokenId) != msg.sender) {
            revert TransferCallerNotOwnerNorApproved();
        }
        if (to == address(0)) revert TransferToZeroAddress();
        bytes32 topic = Transfer.selector;
        assembly ("memory-safe") {
            let slot := or(WALLET_REGION, from)
            sstore(slot, sub(sload(slot), 1))
            slot := or(WALLET_REGION, to)
            sstore(slot, add(sload(slot), 1))
            // A run of one, without the approval of before.
            slot := add(TOKEN_REGION, tokenId)
            sstore(slot, or(to, shl(RUN_SHIFT, 1)))
            if gt(rest, 1) {
                slot := add(slot, 1)
                if iszero(sload(slot)) { sstore(slot, or(from, shl(RUN_SHIFT, sub(rest, 1)))) }
            }
            log4(0, 0, topic, from, to, tokenId)
        }
    }
}
