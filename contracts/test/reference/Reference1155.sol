// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "../../src/products/ProductTypes.sol";
import {ReferenceProduct} from "./ReferenceProduct.sol";

/// @title The ERC-1155 product as a composition of OpenZeppelin 4.9.
contract Reference1155 is ERC1155, ReferenceProduct {
    string public constant NAME = "ERC1155NFTProduct";
    uint256 public constant VERSION = 10001;
    string public constant DEFAULT_URI = "";

    string public name;
    string public symbol;
    mapping(uint256 => uint256) public tokenSupply;
    mapping(uint256 => string) private _uris;

    constructor(ProductDeployment memory d, ProductRuntime memory r, RolesAddresses[] memory lists, address service)
        ERC1155(DEFAULT_URI)
        ReferenceProduct(d, r, lists, service)
    {
        (name, symbol) = (d.name, d.symbol);
    }

    function mintByOwner(address to, uint256 id, uint256 amount, string calldata tokenUri)
        external
        onlyRole(MINT_ROLE)
        nonReentrant
    {
        require(tokenSupply[id] == 0, "NFT: token already minted");
        _mintOne(to, id, amount, tokenUri);
    }

    function mintByOwnerBatch(
        address[] calldata to,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        string[] calldata uris
    ) external onlyRole(MINT_ROLE) nonReentrant {
        require(
            to.length == ids.length && ids.length == amounts.length && amounts.length == uris.length,
            "Mismatched input arrays"
        );
        for (uint256 i; i < ids.length; ++i) {
            require(tokenSupply[ids[i]] == 0, "One of tokens is already minted");
            require(amounts[i] > 0, "NFT: all amounts must be > 0");
            _mintOne(to[i], ids[i], amounts[i], uris[i]);
        }
    }

    function _mintOne(address to, uint256 id, uint256 amount, string calldata tokenUri) private {
        if (bytes(tokenUri).length != 0) {
            _uris[id] = tokenUri;
            emit URI(tokenUri, id);
        }
        tokenSupply[id] += amount;
        _mint(to, id, amount, "");
    }

    function updateTokenUri(uint256 id, string calldata newUri, bool freeze) external onlyRole(UPDATE_TOKEN_ROLE) {
        require(tokenSupply[id] != 0, "Token does not exist");
        require(metadataUpdatable, "Metadata is frozen");
        require(!freezeTokenUris[id], "Token is frozen");
        require(freeze || bytes(newUri).length != 0, "Either _newUri or _isFreezeTokenUri=true required");
        if (bytes(newUri).length != 0) {
            require(keccak256(bytes(newUri)) != keccak256(bytes(_uris[id])), "New token URI is same as updated");
            _uris[id] = newUri;
            emit URI(newUri, id);
        }
        if (freeze) {
            freezeTokenUris[id] = true;
            emit PermanentURI(_uris[id], id);
        }
    }

    function setURI(string calldata newURI) external onlyRole(UPDATE_CONTRACT_ROLE) {
        require(metadataUpdatable, "Metadata is frozen");
        _setURI(newURI);
    }

    function burn(uint256 id, uint256 value) external onlyRole(BURN_ROLE) {
        require(tokensBurnable, "Burns are disabled");
        _burn(owner, id, value);
        tokenSupply[id] -= value;
    }

    function burnBatch(uint256[] calldata ids, uint256[] calldata values) external onlyRole(BURN_ROLE) {
        require(tokensBurnable, "Burns are disabled");
        _burnBatch(owner, ids, values);
        for (uint256 i; i < ids.length; ++i) {
            tokenSupply[ids[i]] -= values[i];
        }
    }

    function transferByOwner(address to, uint256 id, uint256 amount) external onlyRole(TRANSFER_ROLE) {
        require(tokensTransferable, "Transfers are disabled");
        _safeTransferFrom(owner, to, id, amount, "");
    }

    function transferByOwnerBatch(address[] calldata to, uint256[] calldata ids, uint256[] calldata amounts)
        external
        onlyRole(TRANSFER_ROLE)
    {
        require(tokensTransferable, "Transfers are disabled");
        require(to.length == ids.length && ids.length == amounts.length, "Mismatched input arrays");
        for (uint256 i; i < ids.length; ++i) {
            _safeTransferFrom(owner, to[i], ids[i], amounts[i], "");
        }
    }

    function totalSupply(uint256 id) external view returns (uint256) {
        return tokenSupply[id];
    }

    function uri(uint256 id) public view override returns (string memory) {
        return bytes(_uris[id]).length == 0 ? super.uri(id) : string.concat(baseURI, _uris[id]);
    }

    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == 0x2a55205a || super.supportsInterface(interfaceId);
    }

    function _frozenMetadata() internal pure override returns (string memory) {
        return "Metadata is frozen";
    }
}
