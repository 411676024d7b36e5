// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IProduct} from "./IProduct.sol";

/// @title What an ERC-721 product contract has beside `IProduct`. The ABI is closed: nothing may be added.
interface IERC721Product is IProduct {
    event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId);
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    function approve(address to, uint256 tokenId) external;
    function balanceOf(address owner) external view returns (uint256);
    function burn(uint256 _tokenId) external;
    function getApproved(uint256 tokenId) external view returns (address);
    function isApprovedForAll(address owner, address operator) external view returns (bool);
    function mintToCaller(address caller, uint256 tokenId, string calldata tokenURI) external returns (uint256);
    function ownerOf(uint256 tokenId) external view returns (address);
    function safeTransferFrom(address from, address to, uint256 tokenId) external;
    function safeTransferFrom(address from, address to, uint256 tokenId, bytes calldata data) external;
    function tokenURI(uint256 tokenId) external view returns (string memory);
    function totalSupply() external view returns (uint256);
    function transferByOwner(address _to, uint256 _tokenId) external;
    function transferFrom(address from, address to, uint256 tokenId) external;
    function updateTokenUri(uint256 _tokenId, string calldata _tokenUri, bool _isFreezeTokenUri) external;
}
