// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IProduct} from "./IProduct.sol";

/// @title What an ERC-721 product contract has on top of `IProduct`. The ABI is closed: nothing may be added.
interface IERC721Product is IProduct {
    /// @notice `approved` may move token `tokenId`; the zero address: nobody beside its owner and operators.
    event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId);

    /// @notice `operator` may, or may no longer, move all tokens of `owner`.
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);

    /// @notice A token moved. From the zero address it was minted, to the zero address burned.
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    /// @notice Lets `to` move token `tokenId`; the zero address takes it back.
    function approve(address to, uint256 tokenId) external;

    /// @notice How many tokens `owner` holds.
    function balanceOf(address owner) external view returns (uint256);

    /// @notice Burns a token that the contract's owner holds. Its URI is forgotten, but not that it was frozen.
    function burn(uint256 _tokenId) external;

    /// @notice Who may move token `tokenId` beside its owner and operators; the zero address: nobody.
    function getApproved(uint256 tokenId) external view returns (address);

    /// @notice Whether `operator` may move all tokens of `owner`.
    function isApprovedForAll(address owner, address operator) external view returns (bool);

    /// @notice Mints token `tokenId` to `caller`.
    /// @param caller Who gets the token. A contract is asked whether it takes it.
    /// @param tokenId Any id that does not exist; the caller chooses.
    /// @param tokenURI Stands behind `baseURI`; empty: the id itself does.
    /// @return The id.
    function mintToCaller(address caller, uint256 tokenId, string calldata tokenURI) external returns (uint256);

    /// @notice Who holds token `tokenId`; reverts for a token that does not exist.
    function ownerOf(uint256 tokenId) external view returns (address);

    /// @notice As `transferFrom`; a contract is asked whether it takes the token.
    function safeTransferFrom(address from, address to, uint256 tokenId) external;

    /// @notice As `transferFrom`; a contract is asked whether it takes the token, and gets `data`.
    function safeTransferFrom(address from, address to, uint256 tokenId, bytes calldata data) external;

    /// @notice `baseURI` and the token's own URI, or `baseURI` and its id where it has none.
    function tokenURI(uint256 tokenId) external view returns (string memory);

    /// @notice How many tokens exist.
    function totalSupply() external view returns (uint256);

    /// @notice Transfers a token that the contract's owner holds. Needs `TRANSFER_ROLE`.
    function transferByOwner(address _to, uint256 _tokenId) external;

    /// @notice Transfers a token; for its holder, an operator, or whom the token is approved for.
    function transferFrom(address from, address to, uint256 tokenId) external;

    /// @notice Replaces a token's own URI, or freezes it, or both.
    /// @param _tokenId A token that exists.
    /// @param _tokenUri The new URI; empty: it stays.
    /// @param _isFreezeTokenUri No later change is possible.
    function updateTokenUri(uint256 _tokenId, string calldata _tokenUri, bool _isFreezeTokenUri) external;
}
