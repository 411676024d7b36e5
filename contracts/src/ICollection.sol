// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ContractInfo, DeploymentConfig, RuntimeConfig} from "./CollectionTypes.sol";

/// @title A Mintyard collection: an ERC-721 with public sale, presale, reserve, reveal, royalties and treasury.
/// @dev The interface is closed: 52 functions, 8 events, 12 errors. Every other refusal is a `require` string.
///   ERC-4906 `BatchMetadataUpdate` and ERC-7572 `ContractURIUpdated` are sent as raw logs.
interface ICollection {
    /// @notice The caller is neither the token's owner nor one of the owner's operators.
    error ApprovalCallerNotOwnerNorApproved();
    /// @notice The token whose approval is asked for does not exist.
    error ApprovalQueryForNonexistentToken();
    /// @notice A token cannot be approved to its own owner.
    error ApprovalToCurrentOwner();
    /// @notice Nobody can be their own operator.
    error ApproveToCaller();
    /// @notice The zero address has no balance.
    error BalanceQueryForZeroAddress();
    /// @notice Tokens cannot be minted to the zero address.
    error MintToZeroAddress();
    /// @notice A mint needs at least one token.
    error MintZeroQuantity();
    /// @notice The token does not exist.
    error OwnerQueryForNonexistentToken();
    /// @notice The caller may not move this token.
    error TransferCallerNotOwnerNorApproved();
    /// @notice `from` does not own the token.
    error TransferFromIncorrectOwner();
    /// @notice The receiving contract did not accept the token.
    error TransferToNonERC721ReceiverImplementer();
    /// @notice Tokens cannot be sent to the zero address.
    error TransferToZeroAddress();

    /// @notice `approved` may move `tokenId`; the next transfer ends it without a further event.
    event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId);
    /// @notice `operator` may, or may no longer, move all tokens of `owner`.
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);
    /// @notice The contract is set up (1), or locked for good because it is a template (255).
    event Initialized(uint8 version);
    /// @notice The collection has a new owner.
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
    /// @notice Declared for compatibility; role admins never change.
    event RoleAdminChanged(bytes32 indexed role, bytes32 indexed previousAdminRole, bytes32 indexed newAdminRole);
    /// @notice `account` got `role` from `sender`.
    event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
    /// @notice `account` lost `role` by an act of `sender`.
    event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);
    /// @notice `tokenId` moved; `from` is zero for a mint.
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    /// @notice Sets a fresh clone up, called by its factory; everything else is born initialised.
    /// @param deploymentConfig What is fixed from now on.
    /// @param runtimeConfig    What `updateConfig` can replace.
    function initialize(DeploymentConfig calldata deploymentConfig, RuntimeConfig calldata runtimeConfig) external;

    /// @notice Buys `amount` tokens in the public sale. What is paid beyond the price comes back to the caller.
    /// @param amount 1 to `tokensPerMint`.
    function mint(uint256 amount) external payable;

    /// @notice Buys `amount` tokens in the presale; each listed wallet has one call.
    /// @param amount 1 to `tokensPerMint`.
    /// @param proof  Merkle path of the caller's leaf (keccak256 of the 20 address bytes), leaf side first.
    function presaleMint(uint256 amount, bytes32[] calldata proof) external payable;

    /// @notice Mints `amount` tokens of the reserve to `to`, free of charge. Needs ADMIN_ROLE.
    function reserveMint(address to, uint256 amount) external;

    /// @notice Sends the whole balance to the treasury. Needs ADMIN_ROLE.
    function withdrawFees() external;

    /// @notice Replaces the runtime configuration, within the freezing rules. Needs ADMIN_ROLE.
    /// @param newConfig The whole record; send unchanged what is to stay.
    function updateConfig(RuntimeConfig calldata newConfig) external;

    /// @notice Lets `to` move `tokenId`; the zero address takes that back.
    function approve(address to, uint256 tokenId) external;

    /// @notice Lets `operator` move all of the caller's tokens, or no longer.
    function setApprovalForAll(address operator, bool approved) external;

    /// @notice Moves `tokenId` without asking the receiver.
    function transferFrom(address from, address to, uint256 tokenId) external;

    /// @notice Moves `tokenId`; a receiving contract must accept it.
    function safeTransferFrom(address from, address to, uint256 tokenId) external;

    /// @notice Moves `tokenId` and hands `_data` to a receiving contract, which must accept it.
    function safeTransferFrom(address from, address to, uint256 tokenId, bytes calldata _data) external;

    /// @notice Hands the collection over in one step; both roles move along. Needs DEFAULT_ADMIN_ROLE.
    function transferOwnership(address newOwner) external;

    /// @notice Moves the caller's ADMIN_ROLE to `to`. The owner uses `transferOwnership` instead.
    function transferAdminRights(address to) external;

    /// @notice Gives `role` to `account`. Needs DEFAULT_ADMIN_ROLE.
    function grantRole(bytes32 role, address account) external;

    /// @notice Takes `role` from `account`. Needs DEFAULT_ADMIN_ROLE.
    function revokeRole(bytes32 role, address account) external;

    /// @notice Gives up the caller's own `role`.
    /// @param account Must be the caller.
    function renounceRole(bytes32 role, address account) external;

    /// @notice Role that mints the reserve, updates the configuration and sends the fees to the treasury.
    function ADMIN_ROLE() external view returns (bytes32);

    /// @notice Role that grants and revokes all roles and moves the ownership.
    function DEFAULT_ADMIN_ROLE() external view returns (bytes32);

    /// @notice What 100 % is in `royaltiesBps`.
    function ROYALTIES_BASIS() external view returns (uint16);

    /// @notice Version of this code as X_YY_ZZ.
    function VERSION() external view returns (uint256);

    /// @notice Tokens left for sale, without the reserve.
    function availableSupply() external view returns (uint256);

    /// @notice Number of tokens that `owner` holds.
    function balanceOf(address owner) external view returns (uint256);

    /// @notice Folder of the token metadata; empty before the reveal.
    function baseURI() external view returns (string memory);

    /// @notice ERC-7572 record of the collection: royalty rate and receiver, as a JSON data URL.
    function contractURI() external view returns (string memory);

    /// @notice Who may move `tokenId` besides its owner and the owner's operators.
    function getApproved(uint256 tokenId) external view returns (address);

    /// @notice Version and the whole configuration.
    function getInfo() external view returns (ContractInfo memory info);

    /// @notice The role that grants and revokes `role`: DEFAULT_ADMIN_ROLE for each.
    function getRoleAdmin(bytes32 role) external view returns (bytes32);

    /// @notice Whether `account` has `role`.
    function hasRole(bytes32 role, address account) external view returns (bool);

    /// @notice Whether `operator` may move all tokens of `owner`.
    function isApprovedForAll(address owner, address operator) external view returns (bool);

    /// @notice Whether `proof` admits `wallet` to the presale; reverts for a wallet that used its call.
    function isWhitelisted(address wallet, bytes32[] calldata proof) external view returns (bool);

    /// @notice Largest number of tokens there will ever be.
    function maxSupply() external view returns (uint256);

    /// @notice Whether the two URIs can still change.
    function metadataUpdatable() external view returns (bool);

    /// @notice Whether the public sale takes buyers now.
    function mintingActive() external view returns (bool);

    /// @notice Name of the collection.
    function name() external view returns (string memory);

    /// @notice Owner of the collection.
    function owner() external view returns (address);

    /// @notice Owner of `tokenId`.
    function ownerOf(uint256 tokenId) external view returns (address);

    /// @notice Metadata of every token before the reveal.
    function prerevealTokenURI() external view returns (string memory);

    /// @notice Whether the presale takes buyers now.
    function presaleActive() external view returns (bool);

    /// @notice Root of the presale's Merkle tree.
    function presaleMerkleRoot() external view returns (bytes32);

    /// @notice Presale price of one token in wei.
    function presaleMintPrice() external view returns (uint256);

    /// @notice The presale is open after this time (Unix seconds); zero means that there is no presale.
    function presaleMintStart() external view returns (uint256);

    /// @notice Public price of one token in wei.
    function publicMintPrice() external view returns (uint256);

    /// @notice The public sale is open after this time (Unix seconds); 2^256-1 means never.
    function publicMintStart() external view returns (uint256);

    /// @notice Reserved tokens that are not minted yet.
    function reserveRemaining() external view returns (uint256);

    /// @notice Size of the reserve at deployment.
    function reservedSupply() external view returns (uint256);

    /// @notice ERC-2981: what a sale of `tokenId` at `salePrice` owes, and to whom.
    function royaltyInfo(uint256 tokenId, uint256 salePrice)
        external
        view
        returns (address receiver, uint256 royaltyAmount);

    /// @notice ERC-165: ERC-721, its metadata, AccessControl, ERC-2981 and ERC-4906.
    function supportsInterface(bytes4 interfaceId) external view returns (bool);

    /// @notice Ticker of the collection.
    function symbol() external view returns (string memory);

    /// @notice `baseURI` followed by the id; before the reveal `prerevealTokenURI`.
    function tokenURI(uint256 tokenId) external view returns (string memory);

    /// @notice Most tokens one sale call may buy.
    function tokensPerMint() external view returns (uint256);

    /// @notice Tokens minted so far; ids are 0 to this number minus one.
    function totalSupply() external view returns (uint256);

    /// @notice Where `withdrawFees` sends the balance; fixed for ever.
    function treasuryAddress() external view returns (address payable);
}
