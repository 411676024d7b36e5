// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IProduct} from "./IProduct.sol";

/// @title What an ERC-1155 product contract has on top of `IProduct`. The ABI is closed: nothing may be added.
interface IERC1155Product is IProduct {
    /// @notice `operator` may, or may no longer, move all tokens of `account`.
    event ApprovalForAll(address indexed account, address indexed operator, bool approved);

    /// @notice Amounts of several ids moved. From the zero address they were minted, to the zero address burned.
    event TransferBatch(
        address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values
    );

    /// @notice An amount of one id moved. From the zero address it was minted, to the zero address burned.
    event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);

    /// @notice The URI of `id`. `value` is the token's own part, without `baseURI`.
    event URI(string value, uint256 indexed id);

    /// @notice Part of the closed ABI; empty. `setURI` sets the default that `uri` gives.
    function DEFAULT_URI() external view returns (string memory);

    /// @notice How much of `id` the account holds.
    function balanceOf(address account, uint256 id) external view returns (uint256);

    /// @notice `balanceOf` for each pair of an account and an id.
    function balanceOfBatch(address[] calldata accounts, uint256[] calldata ids)
        external
        view
        returns (uint256[] memory);

    /// @notice Burns an amount of `id` that the contract's owner holds.
    function burn(uint256 id, uint256 value) external;

    /// @notice Burns amounts of several ids that the contract's owner holds.
    function burnBatch(uint256[] calldata ids, uint256[] calldata values) external;

    /// @notice Whether `operator` may move all tokens of `account`.
    function isApprovedForAll(address account, address operator) external view returns (bool);

    /// @notice Mints the whole supply of `id`, which must have none.
    /// @param account Who gets it. A contract is asked whether it takes it.
    /// @param id Any id without a supply; the caller chooses.
    /// @param amount How many.
    /// @param tokenUri Stands behind `baseURI`; empty: the URI of an earlier supply stays, else the default is given.
    function mintByOwner(address account, uint256 id, uint256 amount, string calldata tokenUri) external;

    /// @notice `mintByOwner` for each place of four lists of one length. No amount may be zero.
    function mintByOwnerBatch(
        address[] calldata to,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        string[] calldata uris
    ) external;

    /// @notice Transfers amounts of several ids; for their holder or an operator. A contract is asked whether it takes them.
    function safeBatchTransferFrom(
        address from,
        address to,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        bytes calldata data
    ) external;

    /// @notice Transfers an amount of `id`; for its holder or an operator. A contract is asked whether it takes it.
    function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes calldata data) external;

    /// @notice Sets the URI of tokens that have none of their own. It stands alone, without `baseURI`.
    function setURI(string calldata _newURI) external;

    /// @notice The same as `totalSupply`; a part of the closed ABI.
    function tokenSupply(uint256) external view returns (uint256);

    /// @notice How much of an id exists.
    function totalSupply(uint256 _id) external view returns (uint256);

    /// @notice Transfers an amount of `id` that the contract's owner holds. Needs `TRANSFER_ROLE`.
    function transferByOwner(address to, uint256 id, uint256 amount) external;

    /// @notice `transferByOwner` for each place of three lists of one length.
    function transferByOwnerBatch(address[] calldata to, uint256[] calldata ids, uint256[] calldata amounts) external;

    /// @notice Replaces a token's own URI, or freezes it, or both.
    /// @param _tokenId An id with a supply.
    /// @param _newUri Another URI than it has; empty: it stays.
    /// @param _isFreezeTokenUri No later change is possible.
    function updateTokenUri(uint256 _tokenId, string calldata _newUri, bool _isFreezeTokenUri) external;

    /// @notice `baseURI` and the token's own URI, or the default of `setURI` where it has none.
    function uri(uint256 _id) external view returns (string memory);
}
