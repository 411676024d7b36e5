// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC721, ERC721URIStorage} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721URIStorage.sol";

/// @title What one would write with OpenZeppelin 4.9 for the same calls: a URI for each token, a role, a counter.
contract Composition721 is ERC721URIStorage, AccessControl {
    bytes32 private constant MINT_ROLE = keccak256("MINT_ROLE");

    uint256 public totalSupply;
    bool public metadataUpdatable = true;
    bool public tokensBurnable = true;

    constructor(string memory name, string memory symbol, address minter) ERC721(name, symbol) {
        _grantRole(MINT_ROLE, minter);
    }

    function mintToCaller(address to, uint256 id, string calldata uri) external onlyRole(MINT_ROLE) returns (uint256) {
        _safeMint(to, id);
        totalSupply += 1;
        _setTokenURI(id, uri);
        return id;
    }

    function updateTokenUri(uint256 id, string calldata uri, bool) external onlyRole(MINT_ROLE) {
        require(metadataUpdatable, "frozen");
        _setTokenURI(id, uri);
    }

    function burn(uint256 id) external onlyRole(MINT_ROLE) {
        require(tokensBurnable, "disabled");
        _burn(id);
        totalSupply -= 1;
    }

    function supportsInterface(bytes4 id) public view override(ERC721URIStorage, AccessControl) returns (bool) {
        return super.supportsInterface(id);
    }
}
