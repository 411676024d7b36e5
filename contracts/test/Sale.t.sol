// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DeploymentConfig, RuntimeConfig} from "../src/CollectionTypes.sol";
import {ICollection} from "../src/ICollection.sol";
import {Mute, Rebuyer, Receiver} from "./support/Actors.sol";
import {Fixture} from "./support/Fixture.sol";
import {Merkle} from "./support/Merkle.sol";
import {Vm, vm} from "./support/Vm.sol";

contract SaleTest is Fixture {
    uint256 private constant PRICE = 0.01 ether;
    bytes32[] private _noProof;

    function mintOf(uint256 amount) private pure returns (bytes memory) {
        return abi.encodeCall(ICollection.mint, (amount));
    }

    function presaleOf(uint256 amount, bytes32[] memory proof) private pure returns (bytes memory) {
        return abi.encodeCall(ICollection.presaleMint, (amount, proof));
    }

    function reserveOf(address to, uint256 amount) private pure returns (bytes memory) {
        return abi.encodeCall(ICollection.reserveMint, (to, amount));
    }

    function both() private returns (ICollection[2] memory) {
        return [clone(), standalone(deployment(), runtime())];
    }

    function test_V1_supplyAndReserveNeverOversell() external {
        DeploymentConfig memory d = deployment();
        (d.maxSupply, d.reservedSupply) = (50, 15);
        ICollection c = clone(d, runtime(), true);
        refuses(BUYER, c, PRICE * 36, mintOf(36), "Not enough tokens left");
        allows(BUYER, c, PRICE * 35, mintOf(35));
        refuses(BUYER, c, PRICE, mintOf(1), "Not enough tokens left");
        refuses(OWNER, c, 0, reserveOf(STRANGER, 16), "Not enough reserved");
        allows(OWNER, c, 0, reserveOf(STRANGER, 15));
        refuses(OWNER, c, 0, reserveOf(STRANGER, 1), "Not enough reserved");
        check(c.totalSupply() == 50 && c.availableSupply() == 0 && c.reserveRemaining() == 0, "counters");
        for (uint256 id; id < 50; ++id) {
            check(c.ownerOf(id) == (id < 35 ? BUYER : STRANGER), "owner");
        }
    }

    function test_V2_excessComesBackAndTooLittleIsRefused() external {
        ICollection[2] memory all = both();
        for (uint256 i; i < 2; ++i) {
            refuses(BUYER, all[i], PRICE * 3 - 1, mintOf(3), "Payment too small");
            uint256 before = BUYER.balance;
            allows(BUYER, all[i], 1 ether, mintOf(3));
            check(before - BUYER.balance == 3 * PRICE && address(all[i]).balance == 3 * PRICE, "paid the price");
            refuses(BUYER, all[i], 1 ether, mintOf(2 ** 128 + 1), "Payment too small");
            refuses(BUYER, all[i], 1 ether, mintOf(NEVER), "Payment too small");
        }
    }

    function test_V2_aPayerWithoutReceiveGetsAnErrorInsteadOfLosingTheExcess() external {
        ICollection c = clone();
        Receiver payer = new Receiver();
        vm.deal(address(payer), 1 ether);
        payer.set(Receiver.Answer.Accept, address(0), true);
        refuses(address(payer), c, PRICE + 1, mintOf(1), "Refund failed");
        allows(address(payer), c, PRICE, mintOf(1));
    }

    function test_V2_aPayerMayBuyAgainFromItsRefund() external {
        ICollection c = clone();
        Rebuyer payer = new Rebuyer(c);
        vm.deal(address(payer), 1 ether);
        payer.buy(0.1 ether);
        check(c.balanceOf(address(payer)) == 3, "three rounds");
        check(address(c).balance == 3 * PRICE && address(payer).balance == 1 ether - 3 * PRICE, "each round paid");
    }

    function test_V3_aReceiverCannotMintFromItsCallback() external {
        ICollection c = clone();
        Receiver r = new Receiver();
        vm.deal(address(r), 10 ether);
        vm.prank(OWNER);
        c.grantRole(ADMIN, address(r));
        Receiver.Answer[3] memory ways =
            [Receiver.Answer.Mint, Receiver.Answer.PresaleMint, Receiver.Answer.ReserveMint];
        for (uint256 i; i < 3; ++i) {
            r.set(ways[i], address(0), false);
            refuses(address(r), c, PRICE, mintOf(1), "ReentrancyGuard: reentrant call");
            refuses(OWNER, c, 0, reserveOf(address(r), 1), "ReentrancyGuard: reentrant call");
        }
        r.set(Receiver.Answer.SwallowedMint, address(0), false);
        allows(address(r), c, PRICE * 2, mintOf(2));
        check(c.totalSupply() == 2 && address(c).balance == 2 * PRICE, "nothing more was minted");
        allows(BUYER, c, PRICE, mintOf(1)); // the lock is open again
    }

    function test_V3_aReceiverMayTransferFromItsCallback() external {
        ICollection c = clone();
        Receiver r = new Receiver();
        Receiver second = new Receiver();
        vm.deal(address(r), 10 ether);
        r.set(Receiver.Answer.PassOnSafely, address(second), false);
        second.set(Receiver.Answer.SwallowedMint, address(0), false);
        allows(address(r), c, PRICE * 3, mintOf(3));
        check(c.balanceOf(address(second)) == 3 && c.totalSupply() == 3, "passed on, none minted on the way");
    }

    function test_V10_presaleIsOncePerWalletByItsOwnProof() external {
        address[] memory list = new address[](5);
        (list[0], list[1], list[2], list[3], list[4]) = (BUYER, OWNER, address(0xe1), address(0xe2), address(0xe3));
        RuntimeConfig memory r = runtime();
        r.presaleMerkleRoot = Merkle.root(list);
        ICollection[2] memory all = [clone(deployment(), r, true), standalone(deployment(), r)];
        for (uint256 i; i < 2; ++i) {
            ICollection c = all[i];
            bytes32[] memory proof = Merkle.proof(list, 0);
            check(c.isWhitelisted(BUYER, proof) && !c.isWhitelisted(STRANGER, proof), "own proof only");
            refuses(STRANGER, c, PRICE, presaleOf(1, proof), "Not whitelisted for presale");
            refuses(BUYER, c, 0.004 ether, presaleOf(1, proof), "Payment too small");
            refuses(BUYER, c, 10 ether, presaleOf(41, proof), "Amount too large");
            refuses(BUYER, c, PRICE, presaleOf(0, proof), ICollection.MintZeroQuantity.selector);
            allows(BUYER, c, 1 ether, presaleOf(2, proof));
            check(address(c).balance == 0.01 ether, "presale price");
            refuses(BUYER, c, PRICE, presaleOf(1, proof), "Already minted");
            refuses(BUYER, c, 0, abi.encodeCall(ICollection.isWhitelisted, (BUYER, proof)), "Already minted");
            // The mark survives the loss of the tokens and a new root.
            allows(BUYER, c, 0, abi.encodeCall(ICollection.transferFrom, (BUYER, STRANGER, 0)));
            allows(BUYER, c, 0, abi.encodeCall(ICollection.transferFrom, (BUYER, STRANGER, 1)));
            r.presaleMerkleRoot = keccak256(abi.encodePacked(BUYER));
            allows(OWNER, c, 0, abi.encodeCall(ICollection.updateConfig, (r)));
            refuses(BUYER, c, PRICE, presaleOf(1, _noProof), "Already minted");
            r.presaleMerkleRoot = Merkle.root(list);
        }
    }

    function test_V10_cutAndInnerNodeProofsAreRefused() external {
        address[] memory list = new address[](4);
        (list[0], list[1], list[2], list[3]) = (BUYER, OWNER, address(0xe1), address(0xe2));
        RuntimeConfig memory r = runtime();
        r.presaleMerkleRoot = Merkle.root(list);
        ICollection c = clone(deployment(), r, true);
        bytes32[] memory whole = Merkle.proof(list, 0);
        bytes32[] memory cut = new bytes32[](1);
        cut[0] = whole[1];
        refuses(BUYER, c, PRICE, presaleOf(1, cut), "Not whitelisted for presale");
        refuses(BUYER, c, PRICE, presaleOf(1, _noProof), "Not whitelisted for presale");
        bytes32[] memory longer = new bytes32[](3);
        (longer[0], longer[1], longer[2]) = (whole[0], whole[1], r.presaleMerkleRoot);
        refuses(BUYER, c, PRICE, presaleOf(1, longer), "Not whitelisted for presale");
    }

    function testFuzz_V10_everyListedWalletOfAnyListIsAdmitted(uint8 length, uint8 index, address stranger) external {
        uint256 size = 1 + (length % 40);
        address[] memory list = new address[](size);
        for (uint256 i; i < size; ++i) {
            list[i] = address(uint160(uint256(keccak256(abi.encode(length, i)))));
        }
        RuntimeConfig memory r = runtime();
        r.presaleMerkleRoot = Merkle.root(list);
        ICollection c = clone(deployment(), r, true);
        uint256 chosen = index % size;
        bytes32[] memory proof = Merkle.proof(list, chosen);
        check(c.isWhitelisted(list[chosen], proof), "listed");
        if (stranger != list[chosen]) check(!c.isWhitelisted(stranger, proof), "not listed");
    }

    function test_V10_startZeroAndRootZeroAdmitNobody() external {
        RuntimeConfig memory r = runtime();
        r.presaleMintStart = 0;
        ICollection c = clone(deployment(), r, true);
        check(!c.presaleActive() && c.presaleMintPrice() == 0.005 ether, "no presale");
        refuses(BUYER, c, PRICE, presaleOf(1, _noProof), "Presale has not started yet");
        (r.presaleMintStart, r.presaleMerkleRoot) = (NOW - 1, 0);
        c = clone(deployment(), r, true);
        check(c.presaleActive(), "open");
        refuses(BUYER, c, PRICE, presaleOf(1, _noProof), "Not whitelisted for presale");
        bytes32[] memory zero = new bytes32[](1);
        refuses(BUYER, c, PRICE, presaleOf(1, zero), "Not whitelisted for presale");
        (r.presaleMintPrice, r.presaleMintStart) = (0, 0);
        c = clone(deployment(), r, true);
        check(c.presaleMintPrice() == 0 && c.presaleMintStart() == 0 && c.presaleMerkleRoot() == 0, "nothing stored");
    }

    function test_V11_windowsOpenOneSecondAfterTheirStart() external {
        RuntimeConfig memory r = runtime();
        (r.publicMintStart, r.presaleMintStart) = (NOW + 100, NOW + 200);
        ICollection[2] memory all = [clone(deployment(), r, true), standalone(deployment(), r)];
        for (uint256 i; i < 2; ++i) {
            ICollection c = all[i];
            vm.warp(NOW + 100);
            check(!c.mintingActive(), "closed at start");
            refuses(BUYER, c, PRICE, mintOf(1), "Minting has not started yet");
            vm.warp(NOW + 101);
            check(c.mintingActive(), "open at start + 1");
            allows(BUYER, c, PRICE, mintOf(1));
            vm.warp(NOW + 200);
            check(!c.presaleActive(), "closed at start");
            refuses(BUYER, c, PRICE, presaleOf(1, _noProof), "Presale has not started yet");
            vm.warp(NOW + 201);
            check(c.presaleActive(), "open at start + 1");
            allows(BUYER, c, PRICE, presaleOf(1, _noProof));
        }
    }

    function test_V11_neverIsNeverAndNothingIsCutTo32Bits() external {
        RuntimeConfig memory r = runtime();
        (r.publicMintStart, r.presaleMintStart) = (NEVER, NEVER);
        ICollection c = clone(deployment(), r, true);
        check(c.publicMintStart() == NEVER && c.presaleMintStart() == NEVER, "round trip");
        uint256 year2200 = 7_258_118_400;
        vm.warp(year2200);
        refuses(BUYER, c, PRICE, mintOf(1), "Minting has not started yet");
        refuses(BUYER, c, PRICE, presaleOf(1, _noProof), "Presale has not started yet");
        (r.publicMintStart, r.presaleMintStart) = (year2200, year2200 + 1);
        c = clone(deployment(), r, true);
        check(!c.mintingActive() && !c.presaleActive(), "not cut");
        vm.warp(year2200 + 2);
        check(c.mintingActive() && c.presaleActive(), "open");
    }

    function test_amountsFollowTokensPerMint() external {
        ICollection[2] memory all = both();
        for (uint256 i; i < 2; ++i) {
            refuses(BUYER, all[i], 1 ether, mintOf(41), "Amount too large");
            refuses(BUYER, all[i], 1 ether, mintOf(0), ICollection.MintZeroQuantity.selector);
            allows(BUYER, all[i], 1 ether, mintOf(40));
            refuses(OWNER, all[i], 0, reserveOf(address(0), 1), ICollection.MintToZeroAddress.selector);
            refuses(OWNER, all[i], 0, reserveOf(BUYER, 0), ICollection.MintZeroQuantity.selector);
        }
    }

    function test_amountsBeyond65534PerMint() external {
        DeploymentConfig memory d = deployment();
        (d.maxSupply, d.tokensPerMint) = (70_000, 65_535);
        RuntimeConfig memory r = runtime();
        r.publicMintPrice = 0;
        ICollection[2] memory all = [clone(d, r, true), standalone(d, r)];
        for (uint256 i; i < 2; ++i) {
            check(all[i].tokensPerMint() == 65_535, "true value");
            refuses(BUYER, all[i], 0, mintOf(65_536), "Amount too large");
            allows(BUYER, all[i], 0, mintOf(65));
        }
    }

    function test_V18_oneTransferLogPerTokenInOrder() external {
        ICollection c = clone();
        vm.recordLogs();
        allows(BUYER, c, 1 ether, mintOf(40));
        Vm.Log[] memory logs = vm.getRecordedLogs();
        check(logs.length == 40, "as many logs as tokens");
        for (uint256 i; i < 40; ++i) {
            check(logs[i].topics[0] == ICollection.Transfer.selector, "topic");
            check(logs[i].topics[1] == 0 && logs[i].topics[2] == bytes32(uint256(uint160(BUYER))), "from, to");
            check(uint256(logs[i].topics[3]) == i && logs[i].data.length == 0, "id in order");
        }
        vm.recordLogs();
        allows(BUYER, c, 0, abi.encodeCall(ICollection.transferFrom, (BUYER, STRANGER, 3)));
        check(vm.getRecordedLogs().length == 1, "a transfer is one log");
    }

    function test_V19_fourReceivers() external {
        ICollection c = clone();
        bytes4 not = ICollection.TransferToNonERC721ReceiverImplementer.selector;
        address mute = address(new Mute());
        refuses(OWNER, c, 0, reserveOf(mute, 1), not);
        Receiver r = new Receiver();
        r.set(Receiver.Answer.WrongValue, address(0), false);
        refuses(OWNER, c, 0, reserveOf(address(r), 1), not);
        r.set(Receiver.Answer.EmptyRevert, address(0), false);
        refuses(OWNER, c, 0, reserveOf(address(r), 1), not);
        r.set(Receiver.Answer.ShortAnswer, address(0), false);
        refuses(OWNER, c, 0, reserveOf(address(r), 1), not);
        r.set(Receiver.Answer.Reason, address(0), false);
        (bool ok, bytes memory answer) = act(OWNER, c, 0, reserveOf(address(r), 1));
        check(!ok && keccak256(answer) == keccak256(abi.encodeWithSelector(Receiver.Refused.selector, 0)), "bubbles up");
        r.set(Receiver.Answer.LongAnswer, address(0), false);
        allows(OWNER, c, 0, reserveOf(address(r), 1));
        r.set(Receiver.Answer.BurnGas, address(0), false);
        vm.prank(OWNER, OWNER);
        (ok,) = address(c).call{gas: 3_000_000}(reserveOf(address(r), 1));
        check(!ok && c.totalSupply() == 1, "a receiver that burns all gas only harms itself");
    }

    function test_V19_theSigningWalletIsNotAskedEvenWithCode() external {
        ICollection c = clone();
        address wallet = address(new Mute()); // stands for a wallet with delegated code
        vm.deal(wallet, 1 ether);
        vm.prank(wallet, wallet);
        (bool ok, bytes memory answer) = address(c).call{value: PRICE}(mintOf(1));
        check(ok && c.balanceOf(wallet) == 1, "minted");
        vm.prank(wallet, STRANGER);
        (ok, answer) = address(c).call{value: PRICE}(mintOf(1));
        check(!ok && bytes4(answer) == ICollection.TransferToNonERC721ReceiverImplementer.selector, "else it is asked");
    }
}
