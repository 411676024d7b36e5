// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice The immutable arguments, unpacked. Price, start and so on are those of the deployment.
struct Args {
    address owner;
    uint256 presalePrice;
    uint256 presaleStart;
    bytes32 presaleRoot;
    address treasury;
    uint256 royaltiesBps;
    address royaltiesAddress;
    uint256 reservedSupply;
    uint256 tokensPerMint;
    string name;
    string symbol;
    string baseURI;
    string prerevealTokenURI;
}

/// @title Packed bytes of a collection's arguments, kept in contract code: 200 gas a byte instead of 22,100 a slot.
/// @dev owner 20 | flags 1 | [presale price 11 | presale start 5] | [root 32] | [treasury 20] | royalty bps 2
///   | [royalty receiver 20] | [reserve 4] | [tokens per mint 4] | four string lengths of 1 or 2 bytes | the strings
///   (name, symbol, base URI, prereveal URI; see IPFS_URIS). A part in brackets is there as its flag says.
library CollectionArgs {
    uint256 internal constant OWNER_BYTES = 20;
    /// @dev All four strings together; with the rest they fit the 24,576 bytes of a clone.
    uint256 internal constant MAX_STRING_BYTES = 24_000;
    uint256 internal constant WIDE_LENGTHS = 1;
    uint256 internal constant HAS_PRESALE = 2;
    uint256 internal constant HAS_ROOT = 4;
    uint256 internal constant TREASURY_IS_OWNER = 8;
    uint256 internal constant ROYALTIES_TO_TREASURY = 16;
    uint256 internal constant HAS_RESERVE = 32;
    uint256 internal constant HAS_PER_MINT = 64;
    /// @dev Each URI that is not empty begins with "ipfs://" and stands here without it.
    uint256 internal constant IPFS_URIS = 128;
    uint256 private constant IPFS_PREFIX = 0x697066733a2f2f;

    /// @notice Packs `abi.encode(deploymentConfig, runtimeConfig, ...)`, which stands in memory.
    /// @dev Written out flat, because each deployment pays for it. Numbers are cut to their width; the checks of
    ///   ConfigRules refuse those that do not fit. Reverts without data, like the ABI decoder, when an offset points
    ///   outside; offsets are cut before use, so that a hostile one cannot buy endless memory.
    /// @param data        Where the encoded records begin.
    /// @param last        First byte behind them.
    /// @param destination Free memory, as much as the records take.
    /// @return end   First byte behind the packed arguments.
    /// @return owner The owner in the deployment configuration.
    // One pass over the memory, in one block of assembly that shares its variables.
    // solhint-disable-next-line function-max-lines
    function pack(uint256 data, uint256 last, uint256 destination) internal pure returns (uint256 end, address owner) {
        uint256 deployment;
        uint256 runtime;
        (uint256 name, uint256 symbol, uint256 base, uint256 prereveal) = (0, 0, 0, 0);
        {
            uint256 far;
            uint256 fault;
            assembly ("memory-safe") {
                let offset := mload(data)
                far := gt(offset, 0xffff)
                deployment := add(data, and(offset, 0xffff))
                offset := mload(add(data, 32))
                far := or(far, gt(offset, 0xffff))
                runtime := add(data, and(offset, 0xffff))
                fault := or(gt(add(deployment, 224), last), gt(add(runtime, 384), last))

                offset := mload(deployment)
                far := or(far, gt(offset, 0xffff))
                name := add(deployment, and(offset, 0xffff))
                offset := mload(add(deployment, 32))
                far := or(far, gt(offset, 0xffff))
                symbol := add(deployment, and(offset, 0xffff))
                offset := mload(runtime)
                far := or(far, gt(offset, 0xffff))
                base := add(runtime, and(offset, 0xffff))
                offset := mload(add(runtime, 256))
                far := or(far, gt(offset, 0xffff))
                prereveal := add(runtime, and(offset, 0xffff))
                fault := or(fault, or(gt(add(name, 32), last), gt(add(symbol, 32), last)))
                fault := or(fault, or(gt(add(base, 32), last), gt(add(prereveal, 32), last)))
            }
            // Texts within the limit keep every offset small.
            require(far == 0, "Strings too long");
            if (fault != 0) revert();
        }
        uint256 flags;
        {
            uint256 far;
            uint256 fault;
            assembly ("memory-safe") {
                let length := mload(name)
                flags := length
                fault := gt(add(add(name, 32), and(length, 0xffff)), last)
                length := mload(symbol)
                flags := or(flags, length)
                fault := or(fault, gt(add(add(symbol, 32), and(length, 0xffff)), last))
                length := mload(base)
                flags := or(flags, length)
                fault := or(fault, gt(add(add(base, 32), and(length, 0xffff)), last))
                length := mload(prereveal)
                flags := or(flags, length)
                fault := or(fault, gt(add(add(prereveal, 32), and(length, 0xffff)), last))
                let total := add(add(mload(name), mload(symbol)), add(mload(base), mload(prereveal)))
                far := or(gt(flags, 0xffff), gt(total, MAX_STRING_BYTES))
                flags := gt(flags, 255) // WIDE_LENGTHS
            }
            require(far == 0, "Strings too long");
            if (fault != 0) revert();
        }
        assembly ("memory-safe") {
            owner := shl(96, mload(add(deployment, 64)))
            mstore(destination, owner)
            end := add(destination, 21)
            let value := mload(add(runtime, 128))
            let other := mload(add(runtime, 224))
            if or(value, other) {
                flags := or(flags, HAS_PRESALE)
                mstore(end, shl(168, value))
                mstore(add(end, 11), shl(216, other))
                end := add(end, 16)
            }
            value := mload(add(runtime, 288))
            if value {
                flags := or(flags, HAS_ROOT)
                mstore(end, value)
                end := add(end, 32)
            }
            value := shl(96, mload(add(deployment, 192)))
            switch eq(value, owner)
            case 1 { flags := or(flags, TREASURY_IS_OWNER) }
            default {
                mstore(end, value)
                end := add(end, 20)
            }
            mstore(end, shl(240, mload(add(runtime, 320))))
            end := add(end, 2)
            other := shl(96, mload(add(runtime, 352)))
            switch eq(value, other)
            case 1 { flags := or(flags, ROYALTIES_TO_TREASURY) }
            default {
                mstore(end, other)
                end := add(end, 20)
            }
            owner := shr(96, owner)
            value := mload(add(deployment, 128))
            if value {
                flags := or(flags, HAS_RESERVE)
                mstore(end, shl(224, value))
                end := add(end, 4)
            }
            value := mload(add(deployment, 160))
            if gt(value, 0xfffe) {
                flags := or(flags, HAS_PER_MINT)
                mstore(end, shl(224, value))
                end := add(end, 4)
            }
            // From here on the lengths of the URIs, and how many of their bytes are left out.
            value := mload(base)
            other := mload(prereveal)
            let cut := 0
            if and(
                or(iszero(value), and(gt(value, 7), eq(shr(200, mload(add(base, 32))), IPFS_PREFIX))),
                or(iszero(other), and(gt(other, 7), eq(shr(200, mload(add(prereveal, 32))), IPFS_PREFIX)))
            ) {
                cut := 7
                flags := or(flags, IPFS_URIS)
                value := sub(value, mul(7, gt(value, 0)))
                other := sub(other, mul(7, gt(other, 0)))
            }
            mstore8(add(destination, 20), flags)

            let width := add(1, and(flags, WIDE_LENGTHS))
            let shift := sub(256, shl(3, width))
            mstore(end, shl(shift, mload(name)))
            end := add(end, width)
            mstore(end, shl(shift, mload(symbol)))
            end := add(end, width)
            mstore(end, shl(shift, value))
            end := add(end, width)
            mstore(end, shl(shift, other))
            end := add(end, width)
            mcopy(end, add(name, 32), mload(name))
            end := add(end, mload(name))
            mcopy(end, add(symbol, 32), mload(symbol))
            end := add(end, mload(symbol))
            mcopy(end, add(add(base, 32), cut), value)
            end := add(end, value)
            mcopy(end, add(add(prereveal, 32), cut), other)
            end := add(end, other)
        }
    }

    /// @notice Unpacks what `pack` wrote.
    function unpack(bytes memory packed) internal pure returns (Args memory args) {
        unchecked {
            args.owner = address(uint160(_take(packed, 0, 20)));
            uint256 flags = _take(packed, 20, 1);
            uint256 next = 21;
            if (flags & HAS_PRESALE != 0) {
                args.presalePrice = _take(packed, next, 11);
                args.presaleStart = _take(packed, next + 11, 5);
                next += 16;
            }
            if (flags & HAS_ROOT != 0) {
                args.presaleRoot = bytes32(_take(packed, next, 32));
                next += 32;
            }
            args.treasury = args.owner;
            if (flags & TREASURY_IS_OWNER == 0) {
                args.treasury = address(uint160(_take(packed, next, 20)));
                next += 20;
            }
            args.royaltiesBps = _take(packed, next, 2);
            next += 2;
            args.royaltiesAddress = args.treasury;
            if (flags & ROYALTIES_TO_TREASURY == 0) {
                args.royaltiesAddress = address(uint160(_take(packed, next, 20)));
                next += 20;
            }
            if (flags & HAS_RESERVE != 0) {
                args.reservedSupply = _take(packed, next, 4);
                next += 4;
            }
            if (flags & HAS_PER_MINT != 0) {
                args.tokensPerMint = _take(packed, next, 4);
                next += 4;
            }
            uint256 width = 1 + (flags & WIDE_LENGTHS);
            uint256 text = next + 4 * width;
            (args.name, text) = _text(packed, text, _take(packed, next, width));
            (args.symbol, text) = _text(packed, text, _take(packed, next + width, width));
            (args.baseURI, text) = _uri(packed, text, _take(packed, next + 2 * width, width), flags);
            (args.prerevealTokenURI, text) = _uri(packed, text, _take(packed, next + 3 * width, width), flags);
        }
    }

    /// @notice Where the treasury stands, given the flags; meaningless with TREASURY_IS_OWNER.
    function treasuryOffset(uint256 flags) internal pure returns (uint256) {
        // HAS_PRESALE is 2 and takes 16 bytes, HAS_ROOT is 4 and takes 32: eight bytes per unit.
        return OWNER_BYTES + 1 + 8 * (flags & (HAS_PRESALE | HAS_ROOT));
    }

    function _take(bytes memory packed, uint256 offset, uint256 width) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := shr(sub(256, shl(3, width)), mload(add(add(packed, 32), offset)))
        }
    }

    function _text(bytes memory packed, uint256 offset, uint256 length)
        private
        pure
        returns (string memory text, uint256 next)
    {
        assembly ("memory-safe") {
            next := add(offset, length)
            text := mload(0x40)
            mstore(text, length)
            mcopy(add(text, 32), add(add(packed, 32), offset), length)
            mstore(add(add(text, 32), length), 0)
            mstore(0x40, and(add(add(text, length), 95), not(31)))
        }
    }

    function _uri(bytes memory packed, uint256 offset, uint256 length, uint256 flags)
        private
        pure
        returns (string memory text, uint256 next)
    {
        if (flags & IPFS_URIS == 0 || length == 0) return _text(packed, offset, length);
        next = offset + length;
        assembly ("memory-safe") {
            text := mload(0x40)
            mstore(text, add(length, 7))
            mstore(add(text, 32), shl(200, IPFS_PREFIX))
            mcopy(add(text, 39), add(add(packed, 32), offset), length)
            mstore(add(add(text, 39), length), 0)
            mstore(0x40, and(add(add(text, length), 102), not(31)))
        }
    }
}
