// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Supply arithmetic, kept free of assembly so that the SMT checker can prove it (contracts/test/smt).
/// @dev Invariant: minted + reserve <= max < 2^32. Under it nothing here wraps.
library Supply {
    /// @notice Tokens that can be sold without touching the reserve.
    function forSale(uint256 minted, uint256 reserve, uint256 max) internal pure returns (uint256) {
        unchecked {
            return max - minted - reserve;
        }
    }

    /// @notice Reverts unless `amount` can be sold.
    function checkSale(uint256 minted, uint256 reserve, uint256 max, uint256 amount) internal pure {
        unchecked {
            require(amount <= max - minted - reserve, "Not enough tokens left");
        }
    }

    /// @notice Reverts unless `amount` can be taken from the reserve.
    function checkReserveMint(uint256 reserve, uint256 amount) internal pure {
        require(amount <= reserve, "Not enough reserved");
    }
}
