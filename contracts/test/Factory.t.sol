// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CollectionFactory} from "../src/CollectionFactory.sol";
import {CollectionTemplate} from "../src/CollectionTemplate.sol";
import {DeploymentConfig, RuntimeConfig} from "../src/CollectionTypes.sol";
import {ICollection} from "../src/ICollection.sol";
import {ICollectionFactory} from "../src/ICollectionFactory.sol";
import {Fixture} from "./support/Fixture.sol";
import {Vm, vm} from "./support/Vm.sol";

contract FactoryTest is Fixture {
    bytes32 private constant RELAYER = keccak256("RELAYER_ROLE");
    bytes32 private constant INTENT = keccak256("intent");

    function test_V14_initializeWorksOnceAndFromTheFactoryOnly() external {
        bytes memory data = abi.encodeCall(ICollection.initialize, (deployment(), runtime()));
        string memory already = "Initializable: contract is already initialized";
        refuses(OWNER, clone(), 0, data, already);
        refuses(OWNER, standalone(deployment(), runtime()), 0, data, already);
        refuses(OWNER, ICollection(factory.template()), 0, data, already);
        refuses(address(factory), ICollection(factory.template()), 0, data, already);
        // A clone that somebody made by hand.
        bytes memory code = abi.encodePacked(
            hex"3d602d80600a3d3981f3363d3d373d3d3d363d73", factory.template(), hex"5af43d82803e903d91602b57fd5bf3"
        );
        address made;
        assembly {
            made := create(0, add(code, 32), mload(code))
        }
        refuses(OWNER, ICollection(made), 0, data, "Only the factory can initialize");
    }

    function test_V14_theTemplateIsLocked() external {
        vm.recordLogs();
        ICollection template = ICollection(address(new CollectionTemplate(SERVICE)));
        Vm.Log[] memory logs = vm.getRecordedLogs();
        check(logs.length == 1 && logs[0].topics[0] == ICollection.Initialized.selector, "Initialized");
        check(abi.decode(logs[0].data, (uint256)) == 255, "for good");
        check(!template.hasRole(ADMIN, SERVICE) && template.maxSupply() == 0, "nobody's");
        check(template.owner() == address(0) && !template.hasRole(ADMIN, address(0)), "no owner");
        vm.deal(BUYER, 1 ether);
        refuses(BUYER, template, 1, abi.encodeCall(ICollection.mint, (1)), "Amount too large");
    }

    function test_V15_predictedIsActualAndTheIntentDeploysOnce() external {
        bytes memory initData = abi.encode(deployment(), runtime(), true);
        address predicted = factory.predict(INTENT, OWNER, initData);
        vm.recordLogs();
        vm.prank(SERVICE);
        address collection = factory.deploy(INTENT, OWNER, initData);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        Vm.Log memory last = logs[logs.length - 1];
        check(collection == predicted, "predicted = actual");
        check(last.topics[0] == ICollectionFactory.CollectionDeployed.selector && last.topics[1] == INTENT, "event");
        check(last.topics[2] == bytes32(uint256(uint160(collection))), "collection");
        check(last.topics[3] == bytes32(uint256(uint160(OWNER))), "owner");
        vm.prank(SERVICE);
        try factory.deploy(INTENT, OWNER, initData) {
            revert("deployed twice");
        } catch (bytes memory why) {
            bytes memory want = abi.encodeWithSelector(ICollectionFactory.AlreadyDeployed.selector, INTENT, collection);
            check(keccak256(why) == keccak256(want), "AlreadyDeployed");
        }
    }

    function testFuzz_V15_V16_differentRequestsHaveDifferentAddresses(bytes32 a, bytes32 b, address owner, uint8 what)
        external
        view
    {
        vm.assume(a != b && owner != address(0) && owner != OWNER);
        DeploymentConfig memory d = deployment();
        address first = factory.predict(a, OWNER, abi.encode(d, runtime(), true));
        check(first != factory.predict(b, OWNER, abi.encode(d, runtime(), true)), "intent");
        check(first != factory.predict(a, owner, abi.encode(d, runtime(), true)), "owner");
        check(first != factory.predict(a, OWNER, abi.encode(d, runtime(), false)), "service admin");
        RuntimeConfig memory r = runtime();
        // Text moved from one string to the next one is another request.
        (d.name, d.symbol) = what % 2 == 0 ? ("Lighthouse PostcardsL", "HP") : ("Lighthouse Postcard", "sLHP");
        if (what % 3 == 0) (r.baseURI, r.prerevealTokenURI) = ("ipfs://prereveal", "");
        check(first != factory.predict(a, OWNER, abi.encode(d, r, true)), "configuration");
    }

    function test_V15_strangersAndOtherOwnersAreRefused() external {
        bytes memory initData = abi.encode(deployment(), runtime(), true);
        vm.prank(STRANGER);
        fails(
            INTENT, OWNER, initData, abi.encodeWithSelector(ICollectionFactory.MissingRole.selector, STRANGER, RELAYER)
        );
        vm.prank(SERVICE);
        fails(INTENT, BUYER, initData, abi.encodeWithSelector(ICollectionFactory.OwnerMismatch.selector, BUYER, OWNER));
        vm.deal(SERVICE, 1 ether);
        vm.prank(SERVICE);
        (bool ok,) = address(factory).call{value: 1}(abi.encodeCall(factory.deploy, (INTENT, OWNER, initData)));
        check(!ok, "not payable");
    }

    function test_pausing() external {
        bytes memory initData = abi.encode(deployment(), runtime(), true);
        vm.prank(SERVICE);
        (bool ok, bytes memory why) = address(factory).call(abi.encodeCall(factory.pause, ()));
        check(!ok && bytes4(why) == ICollectionFactory.MissingRole.selector, "admin only");
        factory.pause();
        check(factory.paused(), "paused");
        vm.prank(SERVICE);
        fails(INTENT, OWNER, initData, abi.encodeWithSelector(ICollectionFactory.DeploymentsPaused.selector));
        factory.unpause();
        vm.prank(SERVICE);
        factory.deploy(INTENT, OWNER, initData);
    }

    function test_relayersComeAndGo() external {
        bytes memory initData = abi.encode(deployment(), runtime(), true);
        factory.grantRole(RELAYER, STRANGER);
        vm.prank(STRANGER);
        factory.deploy(bytes32(uint256(1)), OWNER, initData);
        factory.revokeRole(RELAYER, SERVICE);
        vm.prank(SERVICE);
        fails(
            INTENT, OWNER, initData, abi.encodeWithSelector(ICollectionFactory.MissingRole.selector, SERVICE, RELAYER)
        );
        vm.prank(STRANGER);
        factory.deploy(bytes32(uint256(2)), OWNER, initData);
        factory.grantRole(RELAYER, BUYER); // takes the free fast place
        vm.prank(BUYER);
        factory.deploy(bytes32(uint256(3)), OWNER, initData);
        vm.prank(BUYER);
        factory.renounceRole(RELAYER, BUYER);
        vm.prank(BUYER);
        fails(INTENT, OWNER, initData, abi.encodeWithSelector(ICollectionFactory.MissingRole.selector, BUYER, RELAYER));
    }

    function test_nullAddressesAreRefused() external {
        try new CollectionFactory(address(0), SERVICE) {
            revert("no admin");
        } catch (bytes memory why) {
            check(bytes4(why) == ICollectionFactory.ZeroAddress.selector, "admin");
        }
        try new CollectionFactory(address(this), address(0)) {
            revert("no relayer");
        } catch (bytes memory why) {
            check(bytes4(why) == ICollectionFactory.ZeroAddress.selector, "relayer");
        }
    }

    function test_malformedDataIsRefused() external {
        bytes memory good = abi.encode(deployment(), runtime(), true);
        bytes memory none;
        for (uint256 size; size < good.length; size += 29) {
            bytes memory cut = new bytes(size);
            for (uint256 i; i < size; ++i) {
                cut[i] = good[i];
            }
            vm.prank(SERVICE);
            try factory.deploy(INTENT, OWNER, cut) {
                // Only padding behind the last text may be missing.
                check(size + 32 > good.length, "cut data were accepted");
            } catch (bytes memory why) {
                check(bytes4(why) != ICollectionFactory.AlreadyDeployed.selector, "nothing was deployed");
            }
        }
        // The words that hold offsets: two records, name and symbol, base URI and prereveal URI.
        uint256 runtimeAt = word(good, 32);
        uint256[6] memory places = [uint256(0), 32, 96, 128, runtimeAt, runtimeAt + 256];
        for (uint256 i; i < 6; ++i) {
            bytes memory bad = abi.encodePacked(good);
            put(bad, places[i], 0xfff0);
            vm.prank(SERVICE);
            fails(INTENT, OWNER, bad, none);
            put(bad, places[i], NEVER - 31);
            vm.prank(SERVICE);
            fails(INTENT, OWNER, bad, abi.encodeWithSignature("Error(string)", "Strings too long"));
        }
        // Lengths that reach behind the data.
        for (uint256 i = 2; i < 6; ++i) {
            bytes memory bad = abi.encodePacked(good);
            uint256 base = i < 4 ? 96 : runtimeAt;
            uint256 text = base + word(bad, places[i]);
            put(bad, text, 2_000);
            vm.prank(SERVICE);
            fails(INTENT, OWNER, bad, none);
            put(bad, text, NEVER);
            vm.prank(SERVICE);
            fails(INTENT, OWNER, bad, abi.encodeWithSignature("Error(string)", "Strings too long"));
        }
    }

    function test_creationWithoutGasIsNotTakenForAnExistingCollection() external {
        DeploymentConfig memory d = deployment();
        d.name = string(new bytes(20_000)); // 4,000,000 gas of code
        bytes memory call = abi.encodeCall(factory.deploy, (INTENT, OWNER, abi.encode(d, runtime(), true)));
        vm.prank(SERVICE);
        (bool ok, bytes memory why) = address(factory).call{gas: 2_000_000}(call);
        check(!ok && bytes4(why) == ICollectionFactory.CreationFailed.selector, "CreationFailed");
    }

    function fails(bytes32 intentId, address owner, bytes memory initData, bytes memory want) private {
        (bool ok, bytes memory why) = address(factory).call(abi.encodeCall(factory.deploy, (intentId, owner, initData)));
        check(!ok, "was deployed");
        check(keccak256(why) == keccak256(want), "another reason");
    }

    function word(bytes memory data, uint256 offset) private pure returns (uint256 value) {
        assembly {
            value := mload(add(add(data, 32), offset))
        }
    }

    function put(bytes memory data, uint256 offset, uint256 value) private pure {
        assembly {
            mstore(add(add(data, 32), offset), value)
        }
    }
}
