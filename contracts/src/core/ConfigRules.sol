// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title What a configuration must fulfil, in constructor, `initialize` and `updateConfig` alike.
library ConfigRules {
    function checkDeployment(
        uint256 maxSupply,
        uint256 tokensPerMint,
        address treasury,
        address owner,
        uint256 reservedSupply
    ) internal pure {
        require(maxSupply != 0, "Maximum supply must be non-zero");
        require(tokensPerMint != 0, "Tokens per mint must be non-zero");
        require(treasury != address(0), "Treasury address cannot be null");
        require(owner != address(0), "Contract must have an owner");
        require(reservedSupply <= maxSupply, "Reserve greater than supply");
        require(tokensPerMint <= maxSupply, "Tokens per mint greater than supply");
        require(maxSupply <= type(uint32).max, "Supply too large");
    }

    function checkRoyalties(uint256 royaltiesBps) internal pure {
        require(royaltiesBps <= 10_000, "Royalties too high");
    }

    function checkSales(uint256 publicPrice, uint256 presalePrice, uint256 publicStart, uint256 presaleStart)
        internal
        pure
    {
        require((publicPrice | presalePrice) >> 88 == 0, "Price too large");
        require(_fitsTime(publicStart) && _fitsTime(presaleStart), "Start time too large");
    }

    function _fitsTime(uint256 time) private pure returns (bool) {
        return time < type(uint40).max || time == type(uint256).max;
    }
}
