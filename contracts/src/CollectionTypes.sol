// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice What is fixed when a collection is deployed. `owner` alone moves later, by `transferOwnership`.
struct DeploymentConfig {
    string name;
    string symbol;
    address owner;
    uint256 maxSupply;
    uint256 reservedSupply;
    uint256 tokensPerMint;
    address payable treasuryAddress;
}

/// @notice What `updateConfig` replaces as a whole, within the freezing rules.
struct RuntimeConfig {
    string baseURI;
    bool metadataUpdatable;
    uint256 publicMintPrice;
    bool publicMintPriceFrozen;
    uint256 presaleMintPrice;
    bool presaleMintPriceFrozen;
    uint256 publicMintStart;
    uint256 presaleMintStart;
    string prerevealTokenURI;
    bytes32 presaleMerkleRoot;
    uint256 royaltiesBps;
    address royaltiesAddress;
}

/// @notice The record that `getInfo` answers with.
struct ContractInfo {
    uint256 version;
    DeploymentConfig deploymentConfig;
    RuntimeConfig runtimeConfig;
}
