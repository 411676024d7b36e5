// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ProductDeployment, ProductRuntime, RolesAddresses} from "./ProductTypes.sol";

/// @title What both kinds of product contracts have. The ABI is closed: nothing may be added.
/// @dev Refusals are strings, whose wording frontends match on.
interface IProduct {
    event Initialized(uint8 version);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
    event PermanentURI(string _value, uint256 indexed _id);
    event PermanentURIGlobal();
    event RoleAdminChanged(bytes32 indexed role, bytes32 indexed previousAdminRole, bytes32 indexed newAdminRole);
    event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
    event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);

    function ADMIN_ROLE() external view returns (bytes32);
    function BURN_ROLE() external view returns (bytes32);
    function DEFAULT_ADMIN_ROLE() external view returns (bytes32);
    function MINT_ROLE() external view returns (bytes32);
    function NAME() external view returns (string memory);
    function ROYALTIES_BASIS() external view returns (uint16);
    function TRANSFER_ROLE() external view returns (bytes32);
    function UPDATE_CONTRACT_ROLE() external view returns (bytes32);
    function UPDATE_TOKEN_ROLE() external view returns (bytes32);
    function VERSION() external view returns (uint256);
    function baseURI() external view returns (string memory);
    function contractURI() external view returns (string memory);
    function freezeTokenUris(uint256) external view returns (bool);
    function getRoleAdmin(bytes32 role) external view returns (bytes32);
    function grantRole(bytes32 role, address account) external;
    function hasRole(bytes32 role, address account) external view returns (bool);
    function initialize(
        ProductDeployment calldata deploymentConfig,
        ProductRuntime calldata runtimeConfig,
        RolesAddresses[] calldata rolesAddresses
    ) external;
    function metadataUpdatable() external view returns (bool);
    function name() external view returns (string memory);
    function owner() external view returns (address);
    function renounceRole(bytes32 role, address account) external;
    function revokeNFTPortPermissions() external;
    function revokeRole(bytes32 role, address account) external;
    function royaltiesAddress() external view returns (address);
    function royaltiesBasisPoints() external view returns (uint256);
    function royaltyInfo(uint256, uint256 salePrice) external view returns (address, uint256);
    function setApprovalForAll(address operator, bool approved) external;
    function supportsInterface(bytes4 interfaceId) external view returns (bool);
    function symbol() external view returns (string memory);
    function tokensBurnable() external view returns (bool);
    function tokensTransferable() external view returns (bool);
    function transferOwnership(address newOwner) external;
    function update(
        ProductRuntime calldata newConfig,
        RolesAddresses[] calldata rolesAddresses,
        bool isRevokeNFTPortPermissions
    ) external;
}
