// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC721A} from "erc721a4/contracts/ERC721A.sol";
import {Drop, DropConfig} from "./Drop.sol";

contract Erc721aDrop is ERC721A, Drop {
    constructor(DropConfig memory c) ERC721A(c.name, c.symbol) Drop(c) {}

    function _minted() internal view override returns (uint256) {
        return _totalMinted();
    }

    function _give(address to, uint256 amount) internal override {
        _mint(to, amount);
    }

    function _isUsed(address wallet) internal view override returns (bool) {
        return _getAux(wallet) != 0;
    }

    function _setUsed(address wallet) internal override {
        _setAux(wallet, 1);
    }

    function _baseURI() internal view override returns (string memory) {
        return _base;
    }
}
