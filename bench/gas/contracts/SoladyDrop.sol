// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC721} from "solady/src/tokens/ERC721.sol";
import {LibString} from "solady/src/utils/LibString.sol";
import {Drop, DropConfig} from "./Drop.sol";

contract SoladyDrop is ERC721, Drop {
    string private _dropName;
    string private _dropSymbol;
    uint256 private _next;

    constructor(DropConfig memory c) Drop(c) {
        (_dropName, _dropSymbol) = (c.name, c.symbol);
    }

    function name() public view override returns (string memory) {
        return _dropName;
    }

    function symbol() public view override returns (string memory) {
        return _dropSymbol;
    }

    function tokenURI(uint256 id) public view override returns (string memory) {
        return bytes(_base).length == 0 ? _prereveal : string.concat(_base, LibString.toString(id));
    }

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

    function _isUsed(address wallet) internal view override returns (bool) {
        return _getAux(wallet) != 0;
    }

    function _setUsed(address wallet) internal override {
        _setAux(wallet, 1);
    }
}
