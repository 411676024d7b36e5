// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title `ipfs://bafkrei...`, the URI of a raw block, as the 32 bytes of its SHA-256 and back, byte for byte.
/// @dev The text is "ipfs://b" and 58 letters of base32 (RFC 4648, lower case) over 01 55 12 20 and the hash: CIDv1, raw,
///   sha2-256, 32 bytes. 32 letters are worked on at once, a byte each in one word. `parse` accepts a text only if
///   writing out what it read gives the same text again: no other text is ever stored as a hash.
library CidText {
    uint256 private constant LENGTH = 66;
    /// @dev "ipfs://bafkrei": the part that all such texts share. Its last letter stands for bits of 12 20 alone.
    uint256 private constant PREFIX = 0x697066733a2f2f6261666b726569;
    uint256 private constant PREFIX_BYTES = 14;

    // One byte, 32 times: written out, because the compiler would multiply at run time.
    uint256 private constant ONE = 0x0101010101010101010101010101010101010101010101010101010101010101;
    uint256 private constant ABOVE_FIVE_BITS = 0xe0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0;
    uint256 private constant LETTER_A = 0x6161616161616161616161616161616161616161616161616161616161616161;
    /// @dev Value 26 is written "2", which is 73 below the place that follows "z".
    uint256 private constant DIGIT_GAP = 73;
    uint256 private constant DIGIT_BASE = 0x1818181818181818181818181818181818181818181818181818181818181818;
    uint256 private constant TO_32_FROM_26 = 0x0606060606060606060606060606060606060606060606060606060606060606;
    uint256 private constant LOW_100 = 0xfffffffffffffffffffffffff;

    /// @notice Reads a URI.
    /// @return ok     Whether it is exactly such a text.
    /// @return digest The SHA-256; meaningless unless `ok`.
    function parse(string calldata uri) internal pure returns (bool ok, bytes32 digest) {
        if (bytes(uri).length != LENGTH) return (false, 0);
        (uint256 start, uint256 first, uint256 last) = (0, 0, 0);
        assembly ("memory-safe") {
            start := shr(144, calldataload(uri.offset))
            first := calldataload(add(uri.offset, 14))
            last := calldataload(add(uri.offset, 34)) // its first twelve letters are also in `first`
        }
        (uint256 wrong, uint256 high) = _read(first);
        (uint256 alsoWrong, uint256 low) = _read(last);
        // 52 letters are 260 bits: two that end the 20 of the head, 256 of the hash, two that must be zero.
        ok = (start ^ PREFIX) | wrong | alsoWrong | (high >> 158) | (low & 3) == 0;
        digest = bytes32((high << 98) | ((low & LOW_100) >> 2));
    }

    /// @notice The URI of a hash.
    function write(bytes32 digest) internal pure returns (string memory uri) {
        uri = new string(LENGTH);
        (uint256 first, uint256 last) =
            (_write(uint256(digest) >> 98), _write((uint256(digest) << 2) & ((1 << 160) - 1)));
        assembly ("memory-safe") {
            mstore(add(uri, 32), shl(144, PREFIX))
            mstore(add(uri, 46), first)
            mstore(add(uri, 66), last)
        }
    }

    /// @dev 32 letters to 160 bits; `wrong` is zero if they are letters of base32.
    function _read(uint256 text) private pure returns (uint256 wrong, uint256 bits) {
        unchecked {
            // Letters have bit 6, digits do not. What is wrong here shows when it is written out again.
            uint256 values = text - DIGIT_BASE - ((text >> 6) & ONE) * DIGIT_GAP;
            wrong = (values & ABOVE_FIVE_BITS) | (_letters(values) ^ text);
            bits = _join(values);
        }
    }

    /// @dev 160 bits to 32 letters.
    function _write(uint256 bits) private pure returns (uint256 text) {
        return _letters(_split(bits));
    }

    /// @dev 32 values below 32, a byte each, as letters.
    function _letters(uint256 values) private pure returns (uint256 text) {
        unchecked {
            return values + LETTER_A - (((values + TO_32_FROM_26) >> 5) & ONE) * DIGIT_GAP;
        }
    }

    /// @dev 32 values of five bits, a byte each, to 160 bits: neighbours are joined, then neighbours of these, and so on.
    function _join(uint256 x) private pure returns (uint256) {
        x = ((x >> 3) & 0x03e003e003e003e003e003e003e003e003e003e003e003e003e003e003e003e0)
            | (x & 0x001f001f001f001f001f001f001f001f001f001f001f001f001f001f001f001f);
        x = ((x >> 6) & 0x000ffc00000ffc00000ffc00000ffc00000ffc00000ffc00000ffc00000ffc00)
            | (x & 0x000003ff000003ff000003ff000003ff000003ff000003ff000003ff000003ff);
        x = ((x >> 12) & 0x000000fffff00000000000fffff00000000000fffff00000000000fffff00000)
            | (x & 0x00000000000fffff00000000000fffff00000000000fffff00000000000fffff);
        x = ((x >> 24) & 0x000000000000ffffffffff0000000000000000000000ffffffffff0000000000)
            | (x & 0x0000000000000000000000ffffffffff0000000000000000000000ffffffffff);
        return ((x >> 48) & (0xffffffffffffffffffff << 80)) | (x & 0xffffffffffffffffffff);
    }

    /// @dev The way back of `_join`.
    function _split(uint256 x) private pure returns (uint256) {
        x = ((x & (0xffffffffffffffffffff << 80)) << 48) | (x & 0xffffffffffffffffffff);
        x = ((x & 0x000000000000ffffffffff0000000000000000000000ffffffffff0000000000) << 24)
            | (x & 0x0000000000000000000000ffffffffff0000000000000000000000ffffffffff);
        x = ((x & 0x000000fffff00000000000fffff00000000000fffff00000000000fffff00000) << 12)
            | (x & 0x00000000000fffff00000000000fffff00000000000fffff00000000000fffff);
        x = ((x & 0x000ffc00000ffc00000ffc00000ffc00000ffc00000ffc00000ffc00000ffc00) << 6)
            | (x & 0x000003ff000003ff000003ff000003ff000003ff000003ff000003ff000003ff);
        return ((x & 0x03e003e003e003e003e003e003e003e003e003e003e003e003e003e003e003e0) << 3)
            | (x & 0x001f001f001f001f001f001f001f001f001f001f001f001f001f001f001f001f);
    }
}
