// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ProductDeployment, ProductRuntime, RolesAddresses} from "./ProductTypes.sol";

/// @title What both kinds of product contracts have. The ABI is closed: nothing may be added.
/// @dev Refusals are strings, whose wording frontends match on.
interface IProduct {
    /// @notice The contract was set up; once, with version 1.
    event Initialized(uint8 version);

    /// @notice The contract has another owner.
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    /// @notice The URI of token `_id` can never change again.
    /// @param _value Of an ERC-721 the whole URI, of an ERC-1155 the part behind `baseURI`.
    /// @param _id The token.
    event PermanentURI(string _value, uint256 indexed _id);

    /// @notice No URI of any token can ever change again.
    event PermanentURIGlobal();

    /// @notice Part of the closed ABI; never emitted, because every role has the same admin.
    event RoleAdminChanged(bytes32 indexed role, bytes32 indexed previousAdminRole, bytes32 indexed newAdminRole);

    /// @notice `account` has `role` from now on, granted by `sender` or by a list of `update`.
    event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);

    /// @notice `account` lost `role`.
    event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);

    /// @notice May replace the lists of roles; an admin has every role but `DEFAULT_ADMIN_ROLE`.
    function ADMIN_ROLE() external view returns (bytes32);

    /// @notice May burn tokens that the contract's owner holds, where tokens are burnable.
    function BURN_ROLE() external view returns (bytes32);

    /// @notice Grants and revokes roles. The owner alone has it.
    function DEFAULT_ADMIN_ROLE() external view returns (bytes32);

    /// @notice May mint tokens.
    function MINT_ROLE() external view returns (bytes32);

    /// @notice The kind of the contract, the same for every contract of the kind. `name` is the collection's.
    function NAME() external view returns (string memory);

    /// @notice 10,000: royalties are in hundredths of a per cent.
    function ROYALTIES_BASIS() external view returns (uint16);

    /// @notice May transfer tokens that the contract's owner holds, while tokens are transferable.
    function TRANSFER_ROLE() external view returns (bytes32);

    /// @notice May call `update`, and of an ERC-1155 product `setURI`.
    function UPDATE_CONTRACT_ROLE() external view returns (bytes32);

    /// @notice May change and freeze the URI of one token.
    function UPDATE_TOKEN_ROLE() external view returns (bytes32);

    /// @notice The version of the kind, as major, minor and patch with two digits each: 10100 is 1.1.0.
    function VERSION() external view returns (uint256);

    /// @notice What stands in front of each token's own URI; may be empty.
    function baseURI() external view returns (string memory);

    /// @notice Royalties as marketplaces read them: a JSON document in a `data:` URI.
    function contractURI() external view returns (string memory);

    /// @notice Whether the URI of a token is frozen. A token that is burned and minted again is still frozen.
    function freezeTokenUris(uint256) external view returns (bool);

    /// @notice The role whose members grant and revoke `role`.
    function getRoleAdmin(bytes32 role) external view returns (bytes32);

    /// @notice Grants `role` to `account`. Granting `DEFAULT_ADMIN_ROLE` does nothing.
    function grantRole(bytes32 role, address account) external;

    /// @notice Whether `account` may do what `role` may. The owner may do everything.
    function hasRole(bytes32 role, address account) external view returns (bool);

    /// @notice Sets a clone up, once; reverts on every later call.
    /// @param deploymentConfig What is fixed from now on.
    /// @param runtimeConfig What `update` can replace.
    /// @param rolesAddresses The first list of each role that is named.
    function initialize(
        ProductDeployment calldata deploymentConfig,
        ProductRuntime calldata runtimeConfig,
        RolesAddresses[] calldata rolesAddresses
    ) external;

    /// @notice Whether URIs may still change. False for ever once it is false.
    function metadataUpdatable() external view returns (bool);

    /// @notice The collection's name.
    function name() external view returns (string memory);

    /// @notice The owner: holds what `burn` and `transferByOwner` work on, and may do everything.
    function owner() external view returns (address);

    /// @notice Gives the caller's own `role` up; `account` must be the caller.
    function renounceRole(bytes32 role, address account) external;

    /// @notice Takes `ADMIN_ROLE` from the account that set the contract up: for clones the service. Admins may call it.
    function revokeNFTPortPermissions() external;

    /// @notice Takes `role` from `account`, and takes the account off the role's list.
    function revokeRole(bytes32 role, address account) external;

    /// @notice Who receives royalties.
    function royaltiesAddress() external view returns (address);

    /// @notice Royalties in hundredths of a per cent of a sale.
    function royaltiesBasisPoints() external view returns (uint256);

    /// @notice ERC-2981: receiver and amount of the royalties of a sale at `salePrice`, in its unit. The same for every token.
    function royaltyInfo(uint256, uint256 salePrice) external view returns (address, uint256);

    /// @notice Lets `operator` move all tokens of the caller, or no longer.
    function setApprovalForAll(address operator, bool approved) external;

    /// @notice ERC-165.
    function supportsInterface(bytes4 interfaceId) external view returns (bool);

    /// @notice The collection's symbol.
    function symbol() external view returns (string memory);

    /// @notice Whether tokens can be burned; fixed at the deployment.
    function tokensBurnable() external view returns (bool);

    /// @notice Whether `transferByOwner` works; once false, false for ever. Holders' own transfers always work.
    function tokensTransferable() external view returns (bool);

    /// @notice Makes `newOwner` the owner, who has every right of an owner at once.
    function transferOwnership(address newOwner) external;

    /// @notice Replaces the configuration as a whole. What is frozen must stay as it is.
    /// @param newConfig The new values; `metadataUpdatable` and `tokensTransferable` go from true to false only.
    /// @param rolesAddresses Replaces the list of each role that is named; admins only. Empty: lists stay.
    /// @param isRevokeNFTPortPermissions Does what `revokeNFTPortPermissions` does, too.
    function update(
        ProductRuntime calldata newConfig,
        RolesAddresses[] calldata rolesAddresses,
        bool isRevokeNFTPortPermissions
    ) external;
}
