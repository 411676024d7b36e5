// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DeploymentConfig, RuntimeConfig} from "../src/CollectionTypes.sol";
import {ICollection} from "../src/ICollection.sol";
import {Fixture} from "./support/Fixture.sol";
import {vm} from "./support/Vm.sol";

/// @title V23: where everything lies. A change here is a new version of the contract, never a silent edit.
contract LayoutTest is Fixture {
    function slot(ICollection c, uint256 index) private view returns (uint256) {
        return uint256(vm.load(address(c), bytes32(index)));
    }

    function test_V23_hotWord() external {
        ICollection c = clone();
        uint256 start = NOW - 10;
        uint256 flags = 1 | 2 | 4 | 8 | (1 << 10);
        uint256 word = (flags << 240) | (0.01 ether << 152) | (start << 112) | (40 << 96) | (100 << 64) | (10 << 32);
        check(slot(c, 0) == word, "fresh");
        allows(BUYER, c, 1 ether, abi.encodeCall(ICollection.mint, (3)));
        allows(OWNER, c, 0, abi.encodeCall(ICollection.reserveMint, (STRANGER, 4)));
        check(slot(c, 0) == word + 7 - (4 << 32), "minted and reserve");
        allows(OWNER, c, 0, abi.encodeCall(ICollection.revokeRole, (ADMIN, OWNER)));
        check(slot(c, 0) >> 251 == 1, "owner lacks ADMIN");
        allows(OWNER, c, 0, abi.encodeCall(ICollection.revokeRole, (DEFAULT_ADMIN, OWNER)));
        check(slot(c, 0) >> 251 == 3, "owner lacks DEFAULT_ADMIN");
    }

    function test_V23_slotsOfWhatWasReplaced() external {
        ICollection c = clone();
        for (uint256 i = 1; i < 9; ++i) {
            check(slot(c, i) == 0, "nothing stored at first");
        }
        RuntimeConfig memory r = runtime();
        (r.presaleMintPriceFrozen, r.baseURI, r.prerevealTokenURI) = (true, "ipfs://a/", "ipfs://b");
        (r.presaleMintStart, r.presaleMerkleRoot) = (77, keccak256("root"));
        (r.royaltiesBps, r.royaltiesAddress) = (9, STRANGER);
        allows(OWNER, c, 0, abi.encodeCall(ICollection.updateConfig, (r)));
        allows(OWNER, c, 0, abi.encodeCall(ICollection.transferOwnership, (BUYER)));
        check(slot(c, 1) == uint160(BUYER), "owner");
        check(slot(c, 2) == (77 << 88) | 0.005 ether, "presale price and start");
        check(bytes32(slot(c, 3)) == keccak256("root"), "root");
        check(slot(c, 4) == (uint256(uint160(STRANGER)) << 16) | 9, "royalties");
        check(keccak256(address(uint160(slot(c, 5))).code) == keccak256("\x00ipfs://a/"), "base URI blob");
        check(keccak256(address(uint160(slot(c, 6))).code) == keccak256("\x00ipfs://b"), "prereveal URI blob");
        check((slot(c, 0) >> 244) & 63 == 63, "all six are flagged");
    }

    function test_V23_regions() external {
        ICollection c = clone();
        allows(BUYER, c, 1 ether, abi.encodeCall(ICollection.mint, (3)));
        check(slot(c, (1 << 248)) == (3 << 160) | uint160(BUYER), "a run of three");
        allows(BUYER, c, 0, abi.encodeCall(ICollection.approve, (STRANGER, 1)));
        check(slot(c, (1 << 248) + 1) == (1 << 168) | (2 << 160) | uint160(BUYER), "split, approved");
        check(slot(c, (2 << 248) + 1) == uint160(STRANGER), "approved address");
        allows(BUYER, c, 1 ether, abi.encodeCall(ICollection.presaleMint, (1, new bytes32[](0))));
        allows(OWNER, c, 0, abi.encodeCall(ICollection.grantRole, (ADMIN, BUYER)));
        allows(OWNER, c, 0, abi.encodeCall(ICollection.grantRole, (DEFAULT_ADMIN, BUYER)));
        check(slot(c, (3 << 248) | uint160(BUYER)) == (7 << 64) | 4, "wallet word");
        allows(BUYER, c, 0, abi.encodeCall(ICollection.setApprovalForAll, (OWNER, true)));
        bytes32 operators = keccak256(abi.encode(OWNER, keccak256(abi.encode(BUYER, 7))));
        check(slot(c, uint256(operators)) == 1, "operators");
        allows(OWNER, c, 0, abi.encodeCall(ICollection.grantRole, (keccak256("X"), OWNER)));
        bytes32 others = keccak256(abi.encode(OWNER, keccak256(abi.encode(keccak256("X"), 8))));
        check(slot(c, uint256(others)) == 1, "other roles");
    }

    function test_V23_arguments() external {
        DeploymentConfig memory d = deployment();
        RuntimeConfig memory r = runtime();
        bytes memory terms = abi.encodePacked(uint88(0.005 ether), uint40(NOW - 10), r.presaleMerkleRoot);
        arguments(
            d,
            r,
            abi.encodePacked(
                abi.encodePacked(OWNER, uint8(2 | 4 | 32 | 128), terms, TREASURY, uint16(500), ROYALTIES, uint32(10)),
                hex"14030009",
                "Lighthouse PostcardsLHPprereveal"
            )
        );
        (d.treasuryAddress, r.royaltiesAddress, d.reservedSupply) = (payable(OWNER), OWNER, 0);
        (r.presaleMintPrice, r.presaleMintStart, r.presaleMerkleRoot) = (0, 0, 0);
        (r.baseURI, r.prerevealTokenURI) = ("https://a/", "ipfs://b");
        (d.maxSupply, d.tokensPerMint) = (70_000, 65_535);
        bytes memory lengths = hex"14030a08";
        bytes memory head = abi.encodePacked(OWNER, uint8(8 | 16 | 64), uint16(500), uint32(65_535), lengths);
        arguments(d, r, abi.encodePacked(head, "Lighthouse PostcardsLHPhttps://a/ipfs://b"));
        bytes memory long = new bytes(256);
        (d.name, d.symbol, d.tokensPerMint) = (string(long), "", 1);
        lengths = hex"01000000000a0008";
        arguments(d, r, abi.encodePacked(OWNER, uint8(1 | 8 | 16), uint16(500), lengths, long, "https://a/ipfs://b"));
    }

    function arguments(DeploymentConfig memory d, RuntimeConfig memory r, bytes memory want) private {
        bytes memory proxy =
            abi.encodePacked(hex"363d3d373d3d3d363d73", factory.template(), hex"5af43d82803e903d91602b57fd5bf3", want);
        check(keccak256(address(clone(d, r, true)).code) == keccak256(proxy), "clone code");
    }
}
