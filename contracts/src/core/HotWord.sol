// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Layout of storage slot 0, the one word that a sale reads and writes.
/// @dev
///   bit 255     240 239             152 151       112 111   96 95       64 63       32 31        0
///      ┌───────────┬──────────────────┬─────────────┬────────┬───────────┬───────────┬───────────┐
///      │ flags  16 │ public price  88 │ start    40 │ per 16 │ supply 32 │ rest   32 │ minted 32 │
///      └───────────┴──────────────────┴─────────────┴────────┴───────────┴───────────┴───────────┘
///   flags     thirteen constants below, from INITIALIZED on; three bits are free
///   price     wei for one token of the public sale
///   start     seconds since 1970 of the public sale; all ones for "never"
///   per       tokens per mint; 65,535 says that the true value is in the arguments (CollectionArgs.sol)
///   supply    the most tokens that there can be
///   rest      tokens of the reserve that are not minted yet
///   minted    tokens that exist; it is also the next id
library HotWord {
    uint256 internal constant RESERVE_SHIFT = 32;
    uint256 internal constant MAX_SUPPLY_SHIFT = 64;
    uint256 internal constant PER_MINT_SHIFT = 96;
    uint256 internal constant START_SHIFT = 112;
    uint256 internal constant PRICE_SHIFT = 152;

    uint256 internal constant INITIALIZED = 1 << 240;
    uint256 internal constant UPDATABLE = 1 << 241;
    uint256 internal constant PUBLIC_PRICE_FROZEN = 1 << 242;
    uint256 internal constant PRESALE_PRICE_FROZEN = 1 << 243;
    // Set when a value of the immutable arguments was replaced by a storage slot.
    uint256 internal constant OWNER_MOVED = 1 << 244;
    uint256 internal constant PRESALE_MOVED = 1 << 245;
    uint256 internal constant ROOT_MOVED = 1 << 246;
    uint256 internal constant ROYALTIES_MOVED = 1 << 247;
    uint256 internal constant BASE_URI_MOVED = 1 << 248;
    uint256 internal constant PREREVEAL_MOVED = 1 << 249;
    // Roles that no wallet word holds: the owner has both unless said otherwise, the service admin has ADMIN if said.
    uint256 internal constant SERVICE_IS_ADMIN = 1 << 250;
    uint256 internal constant OWNER_LACKS_ADMIN = 1 << 251;
    uint256 internal constant OWNER_LACKS_DEFAULT_ADMIN = 1 << 252;

    uint256 internal constant PER_MINT_IN_ARGS = type(uint16).max;
    uint256 internal constant STORED_NEVER = type(uint40).max;

    function minted(uint256 hot) internal pure returns (uint256) {
        return uint32(hot);
    }

    function reserve(uint256 hot) internal pure returns (uint256) {
        return uint32(hot >> RESERVE_SHIFT);
    }

    function maxSupply(uint256 hot) internal pure returns (uint256) {
        return uint32(hot >> MAX_SUPPLY_SHIFT);
    }

    function perMint(uint256 hot) internal pure returns (uint256) {
        return uint16(hot >> PER_MINT_SHIFT);
    }

    function start(uint256 hot) internal pure returns (uint256) {
        return uint40(hot >> START_SHIFT);
    }

    function price(uint256 hot) internal pure returns (uint256) {
        return uint88(hot >> PRICE_SHIFT);
    }

    /// @notice The word of a collection that begins: everything in it was checked.
    function first(uint256 supply, uint256 reserved, uint256 perMint_, uint256 price_, uint256 start_)
        internal
        pure
        returns (uint256)
    {
        if (perMint_ > PER_MINT_IN_ARGS) perMint_ = PER_MINT_IN_ARGS;
        return INITIALIZED | (reserved << RESERVE_SHIFT) | (supply << MAX_SUPPLY_SHIFT) | (perMint_ << PER_MINT_SHIFT)
            | (storedTime(start_) << START_SHIFT) | (price_ << PRICE_SHIFT);
    }

    /// @notice `hot` with the public sale's terms replaced; `newStart` is in stored form.
    function withPublicSale(uint256 hot, uint256 newPrice, uint256 newStart) internal pure returns (uint256) {
        uint256 others = ~((uint256(type(uint88).max) << PRICE_SHIFT) | (uint256(type(uint40).max) << START_SHIFT));
        return (hot & others) | (newPrice << PRICE_SHIFT) | (newStart << START_SHIFT);
    }

    /// @notice `hot` with `flag` set or cleared.
    function withFlag(uint256 hot, uint256 flag, bool on) internal pure returns (uint256) {
        return on ? hot | flag : hot & ~flag;
    }

    /// @notice `hot` with the three freezing flags replaced.
    function withFreezes(uint256 hot, bool updatable, bool publicPriceFrozen, bool presalePriceFrozen)
        internal
        pure
        returns (uint256)
    {
        hot &= ~(UPDATABLE | PUBLIC_PRICE_FROZEN | PRESALE_PRICE_FROZEN);
        if (updatable) hot |= UPDATABLE;
        if (publicPriceFrozen) hot |= PUBLIC_PRICE_FROZEN;
        if (presalePriceFrozen) hot |= PRESALE_PRICE_FROZEN;
        return hot;
    }

    /// @notice A time as it is stored: 40 bits, all ones for "never".
    function storedTime(uint256 time) internal pure returns (uint256) {
        return uint40(time);
    }

    /// @notice A stored time as it was given.
    function givenTime(uint256 stored) internal pure returns (uint256) {
        return stored == STORED_NEVER ? type(uint256).max : stored;
    }
}
