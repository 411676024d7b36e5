// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ERC1155Supply} from "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155Supply.sol";
import {ERC1155URIStorage} from "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155URIStorage.sol";

/// @title What one would write with OpenZeppelin 4.9 for the same calls: supply and URI of each id, a role.
contract Composition1155 is ERC1155Supply, ERC1155URIStorage, AccessControl {
    bytes32 private constant MINT_ROLE = keccak256("MINT_ROLE");

    bool public tokensBurnable = true;

    constructor(address minter) ERC1155("") {
        _grantRole(MINT_ROLE, minter);
    }

    function mintByOwner(address to, uint256 id, uint256 amount, string calldata newUri) external onlyRole(MINT_ROLE) {
        require(totalSupply(id) == 0, "minted");
        _setURI(id, newUri);
        _mint(to, id, amount, "");
    }

    function burn(uint256 id, uint256 amount) external onlyRole(MINT_ROLE) {
        require(tokensBurnable, "disabled");
        _burn(msg.sender, id, amount);
    }

    function uri(uint256 id) public view override(ERC1155, ERC1155URIStorage) returns (string memory) {
        return super.uri(id);
    }

    function supportsInterface(bytes4 id) public view override(ERC1155, AccessControl) returns (bool) {
        return super.supportsInterface(id);
    }

    function _beforeTokenTransfer(
        address by,
        address from,
        address to,
        uint256[] memory ids,
        uint256[] memory amounts,
        bytes memory data
    ) internal override(ERC1155, ERC1155Supply) {
        super._beforeTokenTransfer(by, from, to, ids, amounts, data);
    }
}
