// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1155Product} from "../../src/products/IERC1155Product.sol";
import {IERC721Product} from "../../src/products/IERC721Product.sol";
import {IProduct} from "../../src/products/IProduct.sol";
import {IProductOperator} from "../../src/products/IProductOperator.sol";
import {ProductOperator} from "../../src/products/ProductOperator.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "../../src/products/ProductTypes.sol";
import {ProductFixture} from "../support/ProductFixture.sol";
import {ProductReceiver} from "../support/ProductReceiver.sol";
import {Vm, vm} from "../support/Vm.sol";

/// @title A target that needs a known amount of gas, or answers at length.
contract Worker {
    uint256 public runs;

    function burnGas(uint256 amount) external {
        uint256 end = gasleft() - amount;
        while (gasleft() > end) {}
        ++runs;
    }

    function refuse(uint256 bytes_) external pure {
        assembly {
            revert(0, bytes_)
        }
    }

    function again(ProductOperator operator, bytes32 intent) external returns (bool) {
        ++runs;
        return operator.isIntentDone(intent);
    }
}

contract OperatorTest is ProductFixture {
    bytes32 private constant INTENT = keccak256("intent");

    function mint(uint256 id) private pure returns (bytes memory) {
        return mint(BUYER, id);
    }

    function mint(address to, uint256 id) private pure returns (bytes memory) {
        return abi.encodeCall(IERC721Product.mintToCaller, (to, id, CID_URI));
    }

    function execute(bytes32 intent, address target, bytes memory data) private pure returns (bytes memory) {
        return abi.encodeCall(IProductOperator.execute, (intent, target, data));
    }

    function one(bytes32 intent, address target, bytes memory data)
        private
        pure
        returns (IProductOperator.Call[] memory calls)
    {
        calls = new IProductOperator.Call[](1);
        calls[0] = IProductOperator.Call(intent, target, data);
    }

    function batch(IProductOperator.Call[] memory calls) private returns (bool[] memory) {
        bytes memory answer = allows(RELAYER, address(operator), abi.encodeCall(IProductOperator.executeBatch, (calls)));
        return abi.decode(answer, (bool[]));
    }

    function done(bytes32 intent) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IProductOperator.IntentDone.selector, intent);
    }

    // ------------------------------------------------------------------ deployments

    function testFuzz_productsStandWherePredictedAndHoldWhatWasAsked(
        bytes32 intent,
        ProductDeployment memory d,
        ProductRuntime memory r,
        bool many
    ) external {
        if (d.owner == address(0)) d.owner = OWNER;
        r.royaltiesBps %= 10_001;
        RolesAddresses[] memory lists = listOf(MINT, STRANGER, true);
        address predicted = many ? operator.predict1155(intent, d, r, lists) : operator.predict721(intent, d, r, lists);
        vm.prank(RELAYER);
        address product =
            many ? operator.deployERC1155(intent, d, r, lists) : operator.deployERC721(intent, d, r, lists);
        check(product == predicted && operator.isIntentDone(intent) && operator.isTarget(product), "predicted");
        IProduct p = IProduct(product);
        check(same(p.name(), d.name) && same(p.symbol(), d.symbol) && same(p.baseURI(), r.baseURI), "texts");
        check(p.owner() == d.owner && p.tokensBurnable() == d.tokensBurnable, "deployment");
        check(p.metadataUpdatable() == r.metadataUpdatable && p.tokensTransferable() == r.tokensTransferable, "flags");
        check(p.royaltiesBasisPoints() == r.royaltiesBps && p.royaltiesAddress() == r.royaltiesAddress, "royalties");
        check(p.hasRole(ADMIN, address(operator)) && p.hasRole(MINT, STRANGER), "roles");
    }

    function test_anIntentDeploysOnceWhateverItsConfiguration() external {
        clone721();
        ProductDeployment memory d = deployment();
        bytes32 first = bytes32(uint256(1));
        bytes memory again = abi.encodeCall(IProductOperator.deployERC1155, (first, d, runtime(), noLists()));
        refusesWith(RELAYER, address(operator), again, done(first));
        refusesWith(RELAYER, address(operator), execute(first, address(1), ""), done(first));
    }

    function test_addressesCommitToEverything() external view {
        ProductDeployment memory d = deployment();
        ProductRuntime memory r = runtime();
        address first = operator.predict721(INTENT, d, r, noLists());
        check(first != operator.predict1155(INTENT, d, r, noLists()), "kind");
        check(first != operator.predict721(keccak256("other"), d, r, noLists()), "intent");
        check(first != operator.predict721(INTENT, d, r, listOf(MINT, OWNER, false)), "lists");
        d.owner = STRANGER;
        check(first != operator.predict721(INTENT, d, r, noLists()), "owner");
        d = deployment();
        r.tokensTransferable = false;
        check(first != operator.predict721(INTENT, d, r, noLists()), "flag");
    }

    function test_whatAProductRefusesLeavesTheIntentUndone() external {
        ProductDeployment memory d = deployment();
        ProductRuntime memory r = runtime();
        r.royaltiesBps = 10_001;
        bytes memory deploy = abi.encodeCall(IProductOperator.deployERC721, (INTENT, d, r, noLists()));
        refuses(RELAYER, address(operator), deploy, "Cannot set royalties to over 100%");
        (d.owner, r.royaltiesBps) = (address(0), 10_000);
        deploy = abi.encodeCall(IProductOperator.deployERC721, (INTENT, d, r, noLists()));
        refuses(RELAYER, address(operator), deploy, "Contract must have an owner");
        (d.owner, d.name) = (OWNER, string(new bytes(24_001)));
        deploy = abi.encodeCall(IProductOperator.deployERC721, (INTENT, d, r, noLists()));
        refuses(RELAYER, address(operator), deploy, "Strings too long");
        check(!operator.isIntentDone(INTENT), "undone");
        d.name = string(new bytes(23_997));
        deploy = abi.encodeCall(IProductOperator.deployERC721, (INTENT, d, r, noLists()));
        IProduct p = IProduct(abi.decode(allows(RELAYER, address(operator), deploy), (address)));
        check(bytes(p.name()).length == 23_997, "longest name");
    }

    function test_creationWithoutGas() external {
        ProductDeployment memory d = deployment();
        d.name = string(new bytes(20_000));
        vm.prank(RELAYER);
        (bool ok, bytes memory why) = address(operator).call{gas: 1_500_000}(
            abi.encodeCall(IProductOperator.deployERC721, (INTENT, d, runtime(), noLists()))
        );
        check(!ok && bytes4(why) == IProductOperator.CreationFailed.selector, "CreationFailed");
    }

    // ------------------------------------------------------------------ single calls

    function test_aCallIsMadeOnce() external {
        IERC721Product p = clone721();
        vm.recordLogs();
        bytes memory answer = allows(RELAYER, address(operator), execute(INTENT, address(p), mint(7)));
        Vm.Log[] memory logs = vm.getRecordedLogs();
        check(abi.decode(abi.decode(answer, (bytes)), (uint256)) == 7, "the target's answer");
        check(logs.length == 2 && logs[1].topics[0] == IProductOperator.IntentExecuted.selector, "logs");
        check(logs[1].topics[1] == INTENT && logs[1].topics[2] == bytes32(uint256(uint160(address(p)))), "topics");
        check(operator.isIntentDone(INTENT) && p.ownerOf(7) == BUYER, "done");
        refusesWith(RELAYER, address(operator), execute(INTENT, address(p), mint(8)), done(INTENT));
    }

    function test_aFailedCallSaysWhyAndMayBeTriedAgain() external {
        IERC721Product p = clone721();
        allows(RELAYER, address(operator), execute(keccak256("first"), address(p), mint(7)));
        refuses(RELAYER, address(operator), execute(INTENT, address(p), mint(7)), "ERC721: token already minted");
        check(!operator.isIntentDone(INTENT), "undone");
        allows(RELAYER, address(operator), execute(INTENT, address(p), mint(8)));
    }

    function test_intentsOfOneWordAreApart() external {
        IERC721Product p = clone721();
        bytes32 base = INTENT & ~bytes32(uint256(0xff));
        for (uint256 i; i < 256; i += 51) {
            bytes32 intent = base | bytes32(i);
            check(!operator.isIntentDone(intent), "not yet");
            allows(RELAYER, address(operator), execute(intent, address(p), mint(i)));
            check(operator.isIntentDone(intent), "done");
        }
        check(!operator.isIntentDone(base | bytes32(uint256(1))), "a neighbour");
    }

    function test_onlyProductsAndAdmittedTargets() external {
        IERC721Product p = clone721();
        Worker worker = new Worker();
        address[5] memory others =
            [address(operator), operator.template721(), operator.template1155(), address(worker), STRANGER];
        for (uint256 i; i < others.length; ++i) {
            check(!operator.isTarget(others[i]), "no target");
            refusesWith(
                RELAYER,
                address(operator),
                execute(INTENT, others[i], mint(1)),
                abi.encodeWithSelector(IProductOperator.TargetRefused.selector, others[i])
            );
        }
        // The same proxy with a template of somebody else.
        ProductOperator other = new ProductOperator(address(this), RELAYER);
        vm.prank(RELAYER);
        check(!operator.isTarget(other.deployERC721(INTENT, deployment(), runtime(), noLists())), "another's product");
        check(operator.isTarget(address(p)), "own product");

        bytes memory admit = abi.encodeCall(IProductOperator.setTarget, (address(worker), true));
        refusesWith(RELAYER, address(operator), admit, missing(RELAYER, DEFAULT_ADMIN));
        allows(address(this), address(operator), admit);
        allows(RELAYER, address(operator), execute(INTENT, address(worker), abi.encodeCall(Worker.burnGas, (1))));
        allows(address(this), address(operator), abi.encodeCall(IProductOperator.setTarget, (address(worker), false)));
        check(!operator.isTarget(address(worker)), "dismissed");
        address[2] memory never = [address(operator), STRANGER];
        for (uint256 i; i < 2; ++i) {
            refusesWith(
                address(this),
                address(operator),
                abi.encodeCall(IProductOperator.setTarget, (never[i], true)),
                abi.encodeWithSelector(IProductOperator.TargetRefused.selector, never[i])
            );
        }
    }

    // ------------------------------------------------------------------ batches

    function test_oneBadCallDoesNotTakeTheOthersDown() external {
        IERC721Product p = clone721();
        ProductReceiver burner = new ProductReceiver();
        burner.set(ProductReceiver.Answer.BurnGas, address(0));
        allows(RELAYER, address(operator), execute(INTENT, address(p), mint(1)));
        IProductOperator.Call[] memory calls = new IProductOperator.Call[](7);
        calls[0] = IProductOperator.Call(keccak256("a"), address(p), mint(2));
        calls[1] = IProductOperator.Call(keccak256("b"), address(p), mint(1)); // a taken id
        calls[2] = IProductOperator.Call(INTENT, address(p), mint(3)); // done before
        calls[3] = IProductOperator.Call(keccak256("d"), STRANGER, mint(4)); // no target
        calls[4] = IProductOperator.Call(keccak256("e"), address(p), mint(address(burner), 5));
        calls[5] = IProductOperator.Call(keccak256("a"), address(p), mint(6)); // twice in the batch
        calls[6] = IProductOperator.Call(keccak256("b"), address(p), mint(7)); // its first call failed
        bool[7] memory want = [true, false, false, false, false, false, true];
        vm.recordLogs();
        bool[] memory got = batch(calls);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < 7; ++i) {
            check(got[i] == want[i], "outcome");
        }
        check(p.totalSupply() == 3 && p.ownerOf(2) == BUYER && p.ownerOf(7) == BUYER, "minted");
        check(operator.isIntentDone(keccak256("a")) && operator.isIntentDone(keccak256("b")), "done");
        check(!operator.isIntentDone(keccak256("d")) && !operator.isIntentDone(keccak256("e")), "undone");
        failed(logs, keccak256("b"), abi.encodeWithSignature("Error(string)", "ERC721: token already minted"));
        failed(logs, INTENT, done(INTENT));
        failed(logs, keccak256("d"), abi.encodeWithSelector(IProductOperator.TargetRefused.selector, STRANGER));
        failed(logs, keccak256("a"), done(keccak256("a")));
    }

    /// @dev The first IntentFailed of the intent has this reason.
    function failed(Vm.Log[] memory logs, bytes32 intent, bytes memory reason) private pure {
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].topics[0] != IProductOperator.IntentFailed.selector || logs[i].topics[1] != intent) continue;
            check(keccak256(abi.decode(logs[i].data, (bytes))) == keccak256(reason), "reason");
            return;
        }
        check(false, "no IntentFailed");
    }

    /// @dev With any amount of gas a batch either reverts as a whole, or does what it does with plenty of it.
    function testFuzz_littleGasNeverMakesACallFail(uint256 gasGiven) external {
        IERC721Product p = clone721();
        Worker worker = new Worker();
        operator.setTarget(address(worker), true);
        IProductOperator.Call[] memory calls = new IProductOperator.Call[](3);
        calls[0] = IProductOperator.Call(keccak256("a"), address(p), mint(1));
        calls[1] =
            IProductOperator.Call(keccak256("b"), address(worker), abi.encodeCall(Worker.burnGas, (uint256(460_000))));
        calls[2] = IProductOperator.Call(keccak256("c"), address(p), mint(2));
        gasGiven = 20_000 + gasGiven % 1_400_000;
        vm.prank(RELAYER);
        (bool ok, bytes memory answer) =
            address(operator).call{gas: gasGiven}(abi.encodeCall(IProductOperator.executeBatch, (calls)));
        if (ok) {
            bool[] memory got = abi.decode(answer, (bool[]));
            check(got[0] && got[1] && got[2] && p.totalSupply() == 2 && worker.runs() == 1, "all of it");
        } else {
            check(p.totalSupply() == 0 && worker.runs() == 0 && !operator.isIntentDone(keccak256("a")), "nothing");
            check(answer.length == 0 || bytes4(answer) == IProductOperator.BatchGasTooLow.selector, "why");
        }
        check(ok || gasGiven < 1_350_000, "enough was not enough");
    }

    function test_aCallBeyondTheLimitFailsHoweverMuchGasIsGiven() external {
        Worker worker = new Worker();
        operator.setTarget(address(worker), true);
        bytes memory greedy = abi.encodeCall(Worker.burnGas, (uint256(600_000)));
        check(!batch(one(INTENT, address(worker), greedy))[0] && !operator.isIntentDone(INTENT), "in a batch");
        allows(RELAYER, address(operator), execute(INTENT, address(worker), greedy));
    }

    function test_longReasonsAreCut() external {
        Worker worker = new Worker();
        operator.setTarget(address(worker), true);
        vm.recordLogs();
        batch(one(INTENT, address(worker), abi.encodeCall(Worker.refuse, (uint256(100_000)))));
        Vm.Log[] memory logs = vm.getRecordedLogs();
        check(abi.decode(logs[0].data, (bytes)).length == 1_024, "1,024 bytes");
    }

    function test_whileACallRunsItsIntentIsDone() external {
        Worker worker = new Worker();
        operator.setTarget(address(worker), true);
        bytes memory data = abi.encodeCall(Worker.again, (operator, INTENT));
        bytes memory answer = allows(RELAYER, address(operator), execute(INTENT, address(worker), data));
        check(abi.decode(abi.decode(answer, (bytes)), (bool)), "marked before the call");
    }

    // ------------------------------------------------------------------ who may

    function missing(address account, bytes32 role) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IProductOperator.MissingRole.selector, account, role);
    }

    function test_onlyRelayersUnlessPaused() external {
        address p = address(clone721());
        bytes32 relayerRole = operator.RELAYER_ROLE();
        bytes[4] memory calls = [
            abi.encodeCall(IProductOperator.deployERC721, (INTENT, deployment(), runtime(), noLists())),
            abi.encodeCall(IProductOperator.deployERC1155, (keccak256("2"), deployment(), runtime(), noLists())),
            execute(keccak256("3"), p, mint(3)),
            abi.encodeCall(IProductOperator.executeBatch, (one(keccak256("4"), p, mint(4))))
        ];
        bytes memory pause = abi.encodeCall(IProductOperator.pause, ());
        bytes memory unpause = abi.encodeCall(IProductOperator.unpause, ());
        refusesWith(RELAYER, address(operator), pause, missing(RELAYER, DEFAULT_ADMIN));
        refusesWith(RELAYER, address(operator), unpause, missing(RELAYER, DEFAULT_ADMIN));
        allows(address(this), address(operator), pause);
        check(operator.paused(), "paused");
        for (uint256 i; i < 4; ++i) {
            refusesWith(
                RELAYER, address(operator), calls[i], abi.encodeWithSelector(IProductOperator.OperatorPaused.selector)
            );
        }
        allows(address(this), address(operator), unpause);
        for (uint256 i; i < 4; ++i) {
            refusesWith(STRANGER, address(operator), calls[i], missing(STRANGER, relayerRole));
            refusesWith(address(this), address(operator), calls[i], missing(address(this), relayerRole));
        }
        operator.revokeRole(relayerRole, RELAYER);
        refusesWith(RELAYER, address(operator), calls[0], missing(RELAYER, relayerRole));
        operator.grantRole(relayerRole, RELAYER);
        operator.grantRole(relayerRole, STRANGER);
        for (uint256 i; i < 4; ++i) {
            allows(i % 2 == 0 ? STRANGER : RELAYER, address(operator), calls[i]);
        }
    }

    function test_nullAddressesAreRefused() external {
        for (uint256 i; i < 2; ++i) {
            try new ProductOperator(i == 0 ? address(0) : OWNER, i == 0 ? OWNER : address(0)) {
                check(false, "was allowed");
            } catch (bytes memory why) {
                check(bytes4(why) == IProductOperator.ZeroAddress.selector, "ZeroAddress");
            }
        }
    }

    function test_revokedOperatorsCanDoNothing() external {
        IERC1155Product p = clone1155();
        allows(OWNER, address(p), abi.encodeCall(IProduct.revokeNFTPortPermissions, ()));
        bytes memory data = abi.encodeCall(IERC1155Product.mintByOwner, (BUYER, 1, 1, ""));
        check(!batch(one(INTENT, address(p), data))[0], "refused");
        check(!p.hasRole(MINT, address(operator)) && p.totalSupply(1) == 0, "for good");
    }
}
