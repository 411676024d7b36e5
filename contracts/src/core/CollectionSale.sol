// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ICollection} from "../ICollection.sol";
import {CollectionArgs} from "./CollectionArgs.sol";
import {CollectionTokens} from "./CollectionTokens.sol";
import {HotWord} from "./HotWord.sol";
import {Supply} from "./Supply.sol";

/// @title The three ways to mint, and the way of the fees.
abstract contract CollectionSale is CollectionTokens {
    /// @inheritdoc ICollection
    function mint(uint256 amount) external payable notInCallback {
        uint256 hot = _hot;
        uint256 cost = _cost(amount, HotWord.price(hot));
        require(block.timestamp > HotWord.start(hot), "Minting has not started yet");
        _sell(hot, _wallet(msg.sender), amount, cost);
    }

    /// @inheritdoc ICollection
    function presaleMint(uint256 amount, bytes32[] calldata proof) external payable notInCallback {
        uint256 hot = _hot;
        (uint256 price, uint256 start, bytes32 root) = _presale(hot);
        uint256 cost = _cost(amount, price);
        require(_presaleOpen(start), "Presale has not started yet");
        uint256 wallet = _wallet(msg.sender);
        require(wallet & PRESALE_USED == 0, "Already minted");
        require(_isListed(msg.sender, proof, root), "Not whitelisted for presale");
        _sell(hot, wallet | PRESALE_USED, amount, cost);
    }

    /// @inheritdoc ICollection
    function reserveMint(address to, uint256 amount) external notInCallback {
        uint256 hot = _requireRole(ADMIN_ROLE);
        Supply.checkReserveMint(HotWord.reserve(hot), amount);
        unchecked {
            _setHot(hot + amount - (amount << HotWord.RESERVE_SHIFT));
        }
        _mintTokens(to, _wallet(to), HotWord.minted(hot), amount);
    }

    /// @inheritdoc ICollection
    function withdrawFees() external {
        _requireRole(ADMIN_ROLE);
        require(_send(_treasury(), address(this).balance), "Address: unable to send value, recipient may have reverted");
    }

    /// @inheritdoc ICollection
    function isWhitelisted(address wallet, bytes32[] calldata proof) external view returns (bool) {
        require(_wallet(wallet) & PRESALE_USED == 0, "Already minted");
        (,, bytes32 root) = _presale(_hot);
        return _isListed(wallet, proof, root);
    }

    /// @inheritdoc ICollection
    function mintingActive() external view returns (bool) {
        return block.timestamp > HotWord.start(_hot);
    }

    /// @inheritdoc ICollection
    function presaleActive() external view returns (bool) {
        (, uint256 start,) = _presale(_hot);
        return _presaleOpen(start);
    }

    /// @inheritdoc ICollection
    function availableSupply() external view returns (uint256) {
        uint256 hot = _hot;
        return Supply.forSale(HotWord.minted(hot), HotWord.reserve(hot), HotWord.maxSupply(hot));
    }

    /// @dev Presale price, start in stored form, and root.
    function _presale(uint256 hot) internal view returns (uint256 price, uint256 start, bytes32 root) {
        uint256 head = _argsWord(CollectionArgs.OWNER_BYTES); // flags 1, then price 11 and start 5 if there
        uint256 flags = head >> 248;
        if (hot & HotWord.PRESALE_MOVED != 0) {
            (price, start) = _splitPresale(_movedPresale);
        } else if (flags & CollectionArgs.HAS_PRESALE != 0) {
            (price, start) = (uint88(head >> 160), uint40(head >> 120));
        }
        if (hot & HotWord.ROOT_MOVED != 0) {
            root = _movedRoot;
        } else if (flags & CollectionArgs.HAS_ROOT != 0) {
            root = bytes32(_argsWord(CollectionArgs.treasuryOffset(flags) - 32));
        }
    }

    function _joinPresale(uint256 price, uint256 start) internal pure returns (uint256) {
        return price | (start << 88);
    }

    function _splitPresale(uint256 word) internal pure returns (uint256 price, uint256 start) {
        return (uint88(word), word >> 88);
    }

    function _treasury() internal view virtual returns (address payable) {
        uint256 flags = _argsWord(CollectionArgs.OWNER_BYTES) >> 248;
        uint256 position = flags & CollectionArgs.TREASURY_IS_OWNER == 0 ? CollectionArgs.treasuryOffset(flags) : 0;
        return payable(address(uint160(_argsWord(position) >> 96)));
    }

    function _presaleOpen(uint256 start) private view returns (bool) {
        return start != 0 && block.timestamp > start;
    }

    function _cost(uint256 amount, uint256 price) private view returns (uint256 cost) {
        bool tooSmall;
        assembly ("memory-safe") {
            cost := mul(price, amount) // 88 bits times 129 bits, or refused
            tooSmall := or(gt(amount, shl(128, 1)), lt(callvalue(), cost))
        }
        require(!tooSmall, "Payment too small");
    }

    /// @dev Mints to the caller and returns what was paid beyond `cost`, last of all.
    function _sell(uint256 hot, uint256 wallet, uint256 amount, uint256 cost) private {
        uint256 perMint = HotWord.perMint(hot);
        if (perMint == HotWord.PER_MINT_IN_ARGS) perMint = _args().tokensPerMint;
        require(amount <= perMint, "Amount too large");
        uint256 minted = HotWord.minted(hot);
        Supply.checkSale(minted, HotWord.reserve(hot), HotWord.maxSupply(hot), amount);
        unchecked {
            _hot = hot + amount;
        }
        _mintTokens(msg.sender, wallet, minted, amount);
        if (msg.value > cost) {
            unchecked {
                require(_send(msg.sender, msg.value - cost), "Refund failed");
            }
        }
    }

    /// @dev Leaf = keccak256 of the 20 address bytes. It cannot be mistaken for an inner node, which hashes 64 bytes.
    function _isListed(address wallet, bytes32[] calldata proof, bytes32 root) private pure returns (bool listed) {
        assembly ("memory-safe") {
            mstore(0, shl(96, wallet))
            let node := keccak256(0, 20)
            let end := add(proof.offset, shl(5, proof.length))
            for { let next := proof.offset } lt(next, end) { next := add(next, 32) } {
                let sibling := calldataload(next)
                let place := shl(5, gt(node, sibling)) // the smaller one first
                mstore(place, node)
                mstore(xor(place, 32), sibling)
                node := keccak256(0, 64)
            }
            listed := eq(node, root)
        }
    }
}
