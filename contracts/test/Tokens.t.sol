// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DeploymentConfig} from "../src/CollectionTypes.sol";
import {ICollection} from "../src/ICollection.sol";
import {Receiver} from "./support/Actors.sol";
import {Fixture} from "./support/Fixture.sol";
import {Vm, vm} from "./support/Vm.sol";

/// @title Remembers what it was asked.
contract Listener {
    address public operator;
    address public from;
    uint256 public id;
    bytes public data;

    function onERC721Received(address operator_, address from_, uint256 id_, bytes calldata data_)
        external
        returns (bytes4)
    {
        (operator, from, id, data) = (operator_, from_, id_, data_);
        return this.onERC721Received.selector;
    }
}

contract TokensTest is Fixture {
    address private constant OPERATOR = address(0x09);

    function move(address from, address to, uint256 id) private pure returns (bytes memory) {
        return abi.encodeCall(ICollection.transferFrom, (from, to, id));
    }

    function approveTo(address to, uint256 id) private pure returns (bytes memory) {
        return abi.encodeCall(ICollection.approve, (to, id));
    }

    function minted(uint256 amount) private returns (ICollection c) {
        c = clone();
        allows(BUYER, c, 1 ether, abi.encodeCall(ICollection.mint, (amount)));
    }

    function test_V20_approvalsAreClearedByATransfer() external {
        ICollection c = minted(3);
        refuses(STRANGER, c, 0, approveTo(OPERATOR, 1), ICollection.ApprovalCallerNotOwnerNorApproved.selector);
        refuses(BUYER, c, 0, approveTo(BUYER, 1), ICollection.ApprovalToCurrentOwner.selector);
        refuses(BUYER, c, 0, approveTo(OPERATOR, 3), ICollection.OwnerQueryForNonexistentToken.selector);
        vm.recordLogs();
        allows(BUYER, c, 0, approveTo(OPERATOR, 1));
        Vm.Log[] memory logs = vm.getRecordedLogs();
        check(logs.length == 1 && logs[0].topics[0] == ICollection.Approval.selector, "Approval");
        check(c.getApproved(1) == OPERATOR && c.getApproved(0) == address(0) && c.getApproved(2) == address(0), "one");
        allows(OPERATOR, c, 0, move(BUYER, STRANGER, 1));
        check(c.getApproved(1) == address(0) && c.ownerOf(1) == STRANGER, "cleared");
        refuses(OPERATOR, c, 0, move(STRANGER, BUYER, 1), ICollection.TransferCallerNotOwnerNorApproved.selector);
        allows(BUYER, c, 0, approveTo(OPERATOR, 2));
        allows(BUYER, c, 0, approveTo(address(0), 2));
        check(c.getApproved(2) == address(0), "taken back");
        refuses(OPERATOR, c, 0, move(BUYER, STRANGER, 2), ICollection.TransferCallerNotOwnerNorApproved.selector);
        refuses(
            BUYER,
            c,
            0,
            abi.encodeCall(ICollection.getApproved, (3)),
            ICollection.ApprovalQueryForNonexistentToken.selector
        );
    }

    function test_V20_operators() external {
        ICollection c = minted(3);
        bytes memory on = abi.encodeCall(ICollection.setApprovalForAll, (OPERATOR, true));
        refuses(OPERATOR, c, 0, on, ICollection.ApproveToCaller.selector);
        allows(BUYER, c, 0, on);
        check(c.isApprovedForAll(BUYER, OPERATOR) && !c.isApprovedForAll(OPERATOR, BUYER), "one way");
        allows(OPERATOR, c, 0, approveTo(STRANGER, 0));
        allows(OPERATOR, c, 0, move(BUYER, STRANGER, 2));
        allows(BUYER, c, 0, abi.encodeCall(ICollection.setApprovalForAll, (OPERATOR, false)));
        refuses(OPERATOR, c, 0, move(BUYER, STRANGER, 1), ICollection.TransferCallerNotOwnerNorApproved.selector);
    }

    function test_V20_transferRefusals() external {
        ICollection c = minted(2);
        refuses(BUYER, c, 0, move(BUYER, STRANGER, 2), ICollection.OwnerQueryForNonexistentToken.selector);
        refuses(BUYER, c, 0, move(BUYER, STRANGER, NEVER), ICollection.OwnerQueryForNonexistentToken.selector);
        refuses(BUYER, c, 0, move(STRANGER, BUYER, 1), ICollection.TransferFromIncorrectOwner.selector);
        refuses(STRANGER, c, 0, move(BUYER, STRANGER, 1), ICollection.TransferCallerNotOwnerNorApproved.selector);
        refuses(BUYER, c, 0, move(BUYER, address(0), 1), ICollection.TransferToZeroAddress.selector);
        refuses(
            BUYER,
            c,
            0,
            abi.encodeCall(ICollection.balanceOf, (address(0))),
            ICollection.BalanceQueryForZeroAddress.selector
        );
        allows(BUYER, c, 0, move(BUYER, BUYER, 1));
        check(c.balanceOf(BUYER) == 2 && c.ownerOf(0) == BUYER && c.ownerOf(1) == BUYER, "self-transfer is neutral");
    }

    function test_V20_safeTransfersPassTheirData() external {
        ICollection c = minted(3);
        Listener listener = new Listener();
        bytes memory plain =
            abi.encodeWithSignature("safeTransferFrom(address,address,uint256)", BUYER, address(listener), 0);
        allows(BUYER, c, 0, plain);
        check(listener.operator() == BUYER && listener.from() == BUYER && listener.data().length == 0, "no data");
        bytes memory data = "0123456789012345678901234567890123456789";
        allows(
            BUYER,
            c,
            0,
            abi.encodeWithSignature(
                "safeTransferFrom(address,address,uint256,bytes)", BUYER, address(listener), 2, data
            )
        );
        check(listener.id() == 2 && keccak256(listener.data()) == keccak256(data), "data");
        allows(
            BUYER,
            c,
            0,
            abi.encodeWithSignature("safeTransferFrom(address,address,uint256,bytes)", BUYER, STRANGER, 1, data)
        );
        Receiver r = new Receiver();
        r.set(Receiver.Answer.WrongValue, address(0), false);
        refuses(
            STRANGER,
            c,
            0,
            abi.encodeWithSignature("safeTransferFrom(address,address,uint256)", STRANGER, address(r), 1),
            ICollection.TransferToNonERC721ReceiverImplementer.selector
        );
    }

    function test_V20_interfaces() external {
        ICollection c = clone();
        bytes4[6] memory known = [bytes4(0x01ffc9a7), 0x80ac58cd, 0x5b5e139f, 0x7965db0b, 0x2a55205a, 0x49064906];
        for (uint256 i; i < 6; ++i) {
            check(c.supportsInterface(known[i]), "known");
        }
        check(!c.supportsInterface(0xffffffff) && !c.supportsInterface(0x780e9d63), "unknown");
    }

    function test_V21_anOwnerIsFoundWithin32Words() external {
        ICollection c = clone200();
        for (uint256 id; id < 200; ++id) {
            uint256 before = gasleft();
            check(c.ownerOf(id) == BUYER, "owner");
            // 32 cold reads and the call itself; 33 would not fit. Reads of earlier rounds are warm here.
            check(before - gasleft() < 32 * 2_100 + 10_000, "too many words");
        }
        for (uint256 k; k < 200; ++k) {
            uint256 id = (k * 73) % 200;
            allows(BUYER, c, 0, move(BUYER, address(uint160(1_000 + id)), id));
        }
        for (uint256 id; id < 200; ++id) {
            check(c.ownerOf(id) == address(uint160(1_000 + id)), "each moved once");
        }
        check(c.balanceOf(BUYER) == 0, "nothing left");
    }

    function test_V21_oneWordForEach32ndId() external {
        ICollection c = clone200();
        for (uint256 id; id < 200; ++id) {
            bytes32 word = vm.load(address(c), bytes32((uint256(1) << 248) + id));
            check((word != 0) == (id % 32 == 0), "a word at each 32nd id");
        }
    }

    function clone200() private returns (ICollection c) {
        DeploymentConfig memory d = deployment();
        (d.maxSupply, d.reservedSupply) = (1_000, 500);
        c = clone(d, runtime(), true);
        vm.prank(OWNER);
        c.reserveMint(BUYER, 200);
    }
}
