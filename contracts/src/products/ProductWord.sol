// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Layout of a product's storage slot 0, which every guarded call reads.
/// @dev
///   bit 255                    224 223                    160 159                                  0
///      ┌──────────────────────────┬──────────────────────────┬─────────────────────────────────────┐
///      │ flags                 32 │ tokens                64 │ owner                           160 │
///      └──────────────────────────┴──────────────────────────┴─────────────────────────────────────┘
///   flags     eight constants below from bit 224 on; from bit 232 on the six roles whose lists are final
///   tokens    of an ERC-721 that exist; of an ERC-1155 always zero
///   owner     the owner's address
library ProductWord {
    uint256 internal constant ONE_TOKEN = 1 << 160;
    uint256 internal constant INITIALIZED = 1 << 224;
    uint256 internal constant METADATA_UPDATABLE = 1 << 225;
    uint256 internal constant TOKENS_TRANSFERABLE = 1 << 226;
    uint256 internal constant TOKENS_BURNABLE = 1 << 227;
    // ADMIN_ROLE of the initialiser and of the owner, which no wallet word holds.
    uint256 internal constant INITIALISER_IS_ADMIN = 1 << 228;
    uint256 internal constant OWNER_LACKS_ADMIN = 1 << 229;
    // Set when a value of the immutable arguments was replaced by a storage slot.
    uint256 internal constant BASE_URI_MOVED = 1 << 230;
    uint256 internal constant ROYALTIES_MOVED = 1 << 231;
    /// @dev Lists that are final: the bits of their roles in a wallet word, moved up by this.
    uint256 internal constant FROZEN_SHIFT = 168;

    function owner(uint256 hot) internal pure returns (address) {
        return address(uint160(hot));
    }

    function tokens(uint256 hot) internal pure returns (uint256) {
        return uint64(hot >> 160);
    }

    /// @notice `hot` with another owner.
    function withOwner(uint256 hot, address newOwner) internal pure returns (uint256) {
        return (hot & ~uint256(type(uint160).max)) | uint160(newOwner);
    }

    /// @notice `hot` with `flag` set or cleared.
    function withFlag(uint256 hot, uint256 flag, bool on) internal pure returns (uint256) {
        return on ? hot | flag : hot & ~flag;
    }
}
