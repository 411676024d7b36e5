// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Supply} from "../../src/core/Supply.sol";

/// @title V1 for the SMT checker: whatever is called in whatever order, the supply is never exceeded.
/// @dev Does with numbers what CollectionSale does with the hot word. Proved by `node contracts/build/smt.ts`.
contract SupplyModel {
    uint256 private _minted;
    uint256 private _reserve;
    uint256 private immutable _max;
    uint256 private immutable _perMint;

    constructor(uint256 max, uint256 reserve, uint256 perMint) {
        require(max != 0 && max < 2 ** 32 && reserve <= max && perMint <= max);
        (_max, _reserve, _perMint) = (max, reserve, perMint);
    }

    function sell(uint256 amount) external {
        require(amount <= _perMint);
        uint256 before = Supply.forSale(_minted, _reserve, _max);
        Supply.checkSale(_minted, _reserve, _max, amount);
        _minted += amount;
        assert(Supply.forSale(_minted, _reserve, _max) == before - amount);
    }

    function mintReserve(uint256 amount) external {
        uint256 before = Supply.forSale(_minted, _reserve, _max);
        Supply.checkReserveMint(_reserve, amount);
        _reserve -= amount;
        _minted += amount;
        assert(Supply.forSale(_minted, _reserve, _max) == before);
    }

    function holds() external view {
        assert(_minted + _reserve <= _max);
        assert(Supply.forSale(_minted, _reserve, _max) <= _max);
        // The fields of the hot word hold them.
        assert(_minted < 2 ** 32 && _reserve < 2 ** 32);
    }
}
