// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IProduct} from "./IProduct.sol";

/// @title What an ERC-1155 product contract has beside `IProduct`. The ABI is closed: nothing may be added.
interface IERC1155Product is IProduct {
    event ApprovalForAll(address indexed account, address indexed operator, bool approved);
    event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values);
    event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
    event URI(string value, uint256 indexed id);

    function DEFAULT_URI() external view returns (string memory);
    function balanceOf(address account, uint256 id) external view returns (uint256);
    function balanceOfBatch(
        address[] calldata accounts,
        uint256[] calldata ids
    ) external view returns (uint256[] memory);
    function burn(uint256 id, uint256 value) external;
    function burnBatch(uint256[] calldata ids, uint256[] calldata values) external;
    function isApprovedForAll(address account, address operator) external view returns (bool);
    function mintByOwner(address account, uint256 id, uint256 amount, string calldata tokenUri) external;
    function mintByOwnerBatch(
        address[] calldata to,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        string[] calldata uris
    ) external;
    function safeBatchTransferFrom(
        address from,
        address to,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        bytes calldata data
    ) external;
    function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes calldata data) external;
    function setURI(string calldata _newURI) external;
    function tokenSupply(uint256) external view returns (uint256);
    function totalSupply(uint256 _id) external view returns (uint256);
    function transferByOwner(address to, uint256 id, uint256 amount) external;
    function transferByOwnerBatch(address[] calldata to, uint256[] calldata ids, uint256[] calldata amounts) external;
    function updateTokenUri(uint256 _tokenId, string calldata _newUri, bool _isFreezeTokenUri) external;
    function uri(uint256 _id) external view returns (string memory);
}
