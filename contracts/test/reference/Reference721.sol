// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC721, ERC721URIStorage} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721URIStorage.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "../../src/products/ProductTypes.sol";
import {ReferenceProduct} from "./ReferenceProduct.sol";

/// @title The ERC-721 product as a composition of OpenZeppelin 4.9.
contract Reference721 is ERC721URIStorage, ReferenceProduct {
    string public constant NAME = "ERC721NFTProduct";
    uint256 public constant VERSION = 10100;

    uint256 public totalSupply;
    string private _mintedUri;

    constructor(ProductDeployment memory d, ProductRuntime memory r, RolesAddresses[] memory lists, address service)
        ERC721(d.name, d.symbol)
        ReferenceProduct(d, r, lists, service)
    {}

    function mintToCaller(address caller, uint256 tokenId, string calldata uri)
        external
        onlyRole(MINT_ROLE)
        nonReentrant
        returns (uint256)
    {
        _mintedUri = uri;
        _safeMint(caller, tokenId);
        return tokenId;
    }

    function updateTokenUri(uint256 id, string calldata uri, bool freeze) external onlyRole(UPDATE_TOKEN_ROLE) {
        require(_exists(id), "Token: Token does not exist");
        require(metadataUpdatable, "Token: Metadata is frozen");
        require(!freezeTokenUris[id], "Token: Token is frozen");
        require(freeze || bytes(uri).length != 0, "Token: Token URI is missing");
        if (bytes(uri).length != 0) _setTokenURI(id, uri);
        if (freeze) {
            freezeTokenUris[id] = true;
            emit PermanentURI(tokenURI(id), id);
        }
    }

    function transferByOwner(address to, uint256 id) external onlyRole(TRANSFER_ROLE) {
        require(tokensTransferable, "Transfer: Transfers are disabled");
        _safeTransfer(owner, to, id, "");
    }

    function burn(uint256 id) external onlyRole(BURN_ROLE) {
        require(tokensBurnable, "Burn: Burns are disabled");
        require(_exists(id), "Burn: Token does not exist");
        require(ownerOf(id) == owner, "Burn: not held by contract owner");
        _burn(id);
    }

    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == 0x2a55205a || interfaceId == 0x49064906 || ERC721.supportsInterface(interfaceId);
    }

    /// @dev OpenZeppelin calls it before it asks the receiver: by then everything is written.
    function _afterTokenTransfer(address from, address to, uint256 id, uint256 batchSize) internal override {
        super._afterTokenTransfer(from, to, id, batchSize);
        if (from == address(0)) {
            totalSupply += 1;
            _setTokenURI(id, _mintedUri);
        }
        if (to == address(0)) totalSupply -= 1;
    }

    function _baseURI() internal view override returns (string memory) {
        return baseURI;
    }

    function _frozenMetadata() internal pure override returns (string memory) {
        return "Update: Metadata is frozen";
    }
}
