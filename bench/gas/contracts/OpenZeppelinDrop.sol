// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC721} from "oz5/token/ERC721/ERC721.sol";
import {Drop, DropConfig} from "./Drop.sol";

contract OpenZeppelinDrop is ERC721, Drop {
    uint256 private _next;

    constructor(DropConfig memory c) ERC721(c.name, c.symbol) Drop(c) {}

    function _minted() internal view override returns (uint256) {
        return _next;
    }

    function _give(address to, uint256 amount) internal override {
        uint256 first = _next;
        _next = first + amount;
        for (uint256 i; i < amount; ++i) {
            _mint(to, first + i);
        }
    }

    function _baseURI() internal view override returns (string memory) {
        return _base;
    }
}
