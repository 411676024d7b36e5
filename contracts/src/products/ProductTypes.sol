// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice What is fixed when a product contract is deployed. `owner` alone moves later, by `transferOwnership`.
struct ProductDeployment {
    string name;
    string symbol;
    address owner;
    bool tokensBurnable;
}

/// @notice What `update` replaces as a whole, within the freezing rules.
struct ProductRuntime {
    string baseURI;
    bool metadataUpdatable;
    bool tokensTransferable;
    uint256 royaltiesBps;
    address royaltiesAddress;
}

/// @notice The list of one role: it replaces the role's former list; `frozen` makes it final.
struct RolesAddresses {
    bytes32 role;
    address[] addresses;
    bool frozen;
}
