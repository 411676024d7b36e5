// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Collection} from "../../src/Collection.sol";
import {CollectionFactory} from "../../src/CollectionFactory.sol";
import {DeploymentConfig, RuntimeConfig} from "../../src/CollectionTypes.sol";
import {ICollection} from "../../src/ICollection.sol";
import {vm} from "./Vm.sol";

/// @title People, a plain configuration and ways to deploy it.
abstract contract Fixture {
    bytes32 internal constant ADMIN = keccak256("ADMIN_ROLE");
    bytes32 internal constant DEFAULT_ADMIN = 0;
    uint256 internal constant NEVER = type(uint256).max;
    uint256 internal constant NOW = 1_800_000_000;

    address internal constant OWNER = address(0x0a11ce);
    address internal constant SERVICE = address(0x5e47);
    address internal constant STRANGER = address(0x57a9);
    address internal constant BUYER = address(0xb0e4);
    address internal constant TREASURY = address(0x74ea);
    address internal constant ROYALTIES = address(0x40fa);

    CollectionFactory internal factory;
    uint256 private _intents;

    function setUp() public virtual {
        vm.warp(NOW);
        factory = new CollectionFactory(address(this), SERVICE);
        vm.deal(BUYER, 1_000 ether);
        vm.deal(STRANGER, 1_000 ether);
    }

    function deployment() internal pure returns (DeploymentConfig memory) {
        return DeploymentConfig({
            name: "Lighthouse Postcards",
            symbol: "LHP",
            owner: OWNER,
            maxSupply: 100,
            reservedSupply: 10,
            tokensPerMint: 40,
            treasuryAddress: payable(TREASURY)
        });
    }

    function runtime() internal pure returns (RuntimeConfig memory) {
        return RuntimeConfig({
            baseURI: "",
            metadataUpdatable: true,
            publicMintPrice: 0.01 ether,
            publicMintPriceFrozen: true,
            presaleMintPrice: 0.005 ether,
            presaleMintPriceFrozen: true,
            publicMintStart: NOW - 10,
            presaleMintStart: NOW - 10,
            prerevealTokenURI: "ipfs://prereveal",
            presaleMerkleRoot: keccak256(abi.encodePacked(BUYER)),
            royaltiesBps: 500,
            royaltiesAddress: ROYALTIES
        });
    }

    function clone(DeploymentConfig memory d, RuntimeConfig memory r, bool service) internal returns (ICollection) {
        bytes memory initData = abi.encode(d, r, service);
        vm.prank(SERVICE);
        return ICollection(factory.deploy(bytes32(++_intents), d.owner, initData));
    }

    function clone() internal returns (ICollection) {
        return clone(deployment(), runtime(), true);
    }

    function standalone(DeploymentConfig memory d, RuntimeConfig memory r) internal returns (ICollection) {
        vm.prank(SERVICE);
        return ICollection(address(new Collection(d, r)));
    }

    /// @dev Calls as `from`: a wallet that signed the transaction itself, or a contract that somebody else called.
    function act(address from, ICollection target, uint256 value, bytes memory data)
        internal
        returns (bool ok, bytes memory answer)
    {
        vm.prank(from, from.code.length == 0 ? from : STRANGER);
        (ok, answer) = address(target).call{value: value}(data);
    }

    function refuses(address from, ICollection target, uint256 value, bytes memory data, string memory reason)
        internal
    {
        (bool ok, bytes memory answer) = act(from, target, value, data);
        check(!ok, string.concat("was allowed, should be: ", reason));
        check(keccak256(answer) == keccak256(abi.encodeWithSignature("Error(string)", reason)), string(answer));
    }

    function refuses(address from, ICollection target, uint256 value, bytes memory data, bytes4 selector) internal {
        (bool ok, bytes memory answer) = act(from, target, value, data);
        check(!ok && bytes4(answer) == selector && answer.length == 4, "another error");
    }

    function allows(address from, ICollection target, uint256 value, bytes memory data) internal {
        (bool ok, bytes memory answer) = act(from, target, value, data);
        check(ok, string(answer));
    }

    function check(bool holds, string memory what) internal pure {
        require(holds, what);
    }
}
