// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DeploymentConfig} from "../src/CollectionTypes.sol";
import {ICollection} from "../src/ICollection.sol";
import {Treasury} from "./support/Actors.sol";
import {Fixture} from "./support/Fixture.sol";

contract RolesTest is Fixture {
    address private constant ADMIN_WALLET = address(0xad);
    address private constant HEIR = address(0x4e14);
    bytes32 private constant OTHER = keccak256("OTHER");

    function grant(bytes32 role, address to) private pure returns (bytes memory) {
        return abi.encodeCall(ICollection.grantRole, (role, to));
    }

    function revoke(bytes32 role, address to) private pure returns (bytes memory) {
        return abi.encodeCall(ICollection.revokeRole, (role, to));
    }

    function own(address to) private pure returns (bytes memory) {
        return abi.encodeCall(ICollection.transferOwnership, (to));
    }

    function hand(address to) private pure returns (bytes memory) {
        return abi.encodeCall(ICollection.transferAdminRights, (to));
    }

    function missing(address from, ICollection c, bytes memory data, string memory role) private {
        refuses(from, c, 0, data, string.concat("AccessControl: account ", hexOf(from), " is missing role ", role));
    }

    string private constant ADMIN_TEXT = "0xa49807205ce4d355092ef5a8a18f56e8913cf4a201fbe287825b095693c21775";
    string private constant DEFAULT_TEXT = "0x0000000000000000000000000000000000000000000000000000000000000000";

    function test_V5_everyFunctionByEveryCaller() external {
        ICollection[2] memory all = [clone(), standalone(deployment(), runtime())];
        for (uint256 i; i < 2; ++i) {
            ICollection c = all[i];
            allows(OWNER, c, 0, own(HEIR)); // OWNER is the ex-owner from here on
            allows(HEIR, c, 0, grant(ADMIN, ADMIN_WALLET));
            address[3] memory admins = [HEIR, ADMIN_WALLET, SERVICE];
            for (uint256 j; j < 3; ++j) {
                allows(admins[j], c, 0, abi.encodeCall(ICollection.updateConfig, (runtime())));
                allows(admins[j], c, 0, abi.encodeCall(ICollection.reserveMint, (BUYER, 1)));
                allows(admins[j], c, 0, abi.encodeCall(ICollection.withdrawFees, ()));
            }
            address[2] memory others = [OWNER, STRANGER];
            for (uint256 j; j < 2; ++j) {
                missing(others[j], c, abi.encodeCall(ICollection.updateConfig, (runtime())), ADMIN_TEXT);
                missing(others[j], c, abi.encodeCall(ICollection.reserveMint, (BUYER, 1)), ADMIN_TEXT);
                missing(others[j], c, abi.encodeCall(ICollection.withdrawFees, ()), ADMIN_TEXT);
                missing(others[j], c, hand(STRANGER), ADMIN_TEXT);
            }
            address[4] memory powerless = [OWNER, STRANGER, ADMIN_WALLET, SERVICE];
            for (uint256 j; j < 4; ++j) {
                missing(powerless[j], c, grant(ADMIN, STRANGER), DEFAULT_TEXT);
                missing(powerless[j], c, grant(DEFAULT_ADMIN, powerless[j]), DEFAULT_TEXT);
                missing(powerless[j], c, revoke(ADMIN, SERVICE), DEFAULT_TEXT);
                missing(powerless[j], c, revoke(DEFAULT_ADMIN, HEIR), DEFAULT_TEXT);
                missing(powerless[j], c, own(STRANGER), DEFAULT_TEXT);
            }
            check(c.getRoleAdmin(ADMIN) == DEFAULT_ADMIN && c.getRoleAdmin(OTHER) == DEFAULT_ADMIN, "role admin");
        }
    }

    function test_V5_grantsRevocationsAndRenouncing() external {
        ICollection c = clone();
        bytes32[3] memory roles = [ADMIN, DEFAULT_ADMIN, OTHER];
        address[3] memory accounts = [STRANGER, OWNER, SERVICE];
        for (uint256 i; i < 3; ++i) {
            // A second holder of DEFAULT_ADMIN, so that the owner can lose its own and get it back.
            allows(OWNER, c, 0, grant(DEFAULT_ADMIN, HEIR));
            for (uint256 j; j < 3; ++j) {
                allows(HEIR, c, 0, grant(roles[i], accounts[j]));
                check(c.hasRole(roles[i], accounts[j]), "granted");
                allows(HEIR, c, 0, revoke(roles[i], accounts[j]));
                check(!c.hasRole(roles[i], accounts[j]), "revoked");
                allows(HEIR, c, 0, grant(roles[i], accounts[j]));
                bytes memory renounce = abi.encodeCall(ICollection.renounceRole, (roles[i], accounts[j]));
                refuses(BUYER, c, 0, renounce, "AccessControl: can only renounce roles for self");
                allows(accounts[j], c, 0, renounce);
                check(!c.hasRole(roles[i], accounts[j]), "renounced");
                allows(HEIR, c, 0, grant(roles[i], accounts[j]));
            }
        }
    }

    function test_V6_ownershipMovesWithBothRoles() external {
        ICollection[2] memory all = [clone(), standalone(deployment(), runtime())];
        for (uint256 i; i < 2; ++i) {
            ICollection c = all[i];
            refuses(OWNER, c, 0, own(address(0)), "Contract must have an owner");
            refuses(OWNER, c, 0, own(OWNER), "Already the owner");
            allows(OWNER, c, 0, grant(ADMIN, HEIR));
            allows(OWNER, c, 0, grant(DEFAULT_ADMIN, HEIR));
            allows(OWNER, c, 0, own(HEIR));
            check(c.owner() == HEIR && c.getInfo().deploymentConfig.owner == HEIR, "new owner");
            check(c.hasRole(ADMIN, HEIR) && c.hasRole(DEFAULT_ADMIN, HEIR), "both roles");
            check(!c.hasRole(ADMIN, OWNER) && !c.hasRole(DEFAULT_ADMIN, OWNER), "none left");
            allows(HEIR, c, 0, own(STRANGER));
            check(!c.hasRole(ADMIN, HEIR) && !c.hasRole(DEFAULT_ADMIN, HEIR), "nor from before");
            allows(STRANGER, c, 0, revoke(ADMIN, STRANGER));
            check(!c.hasRole(ADMIN, STRANGER), "an owner without ADMIN");
            allows(STRANGER, c, 0, own(OWNER));
            check(c.hasRole(ADMIN, OWNER), "the next one has it");
        }
    }

    function test_V7_serviceAdminIsVisibleRevocableAndOptional() external {
        check(!clone(deployment(), runtime(), false).hasRole(ADMIN, SERVICE), "left out");
        ICollection c = clone();
        check(c.hasRole(ADMIN, SERVICE) && !c.hasRole(DEFAULT_ADMIN, SERVICE), "ADMIN alone");
        allows(OWNER, c, 0, own(HEIR));
        check(c.hasRole(ADMIN, SERVICE), "survives a new owner");
        allows(HEIR, c, 0, revoke(ADMIN, SERVICE));
        check(!c.hasRole(ADMIN, SERVICE), "revoked");
        allows(HEIR, c, 0, grant(ADMIN, SERVICE));
        allows(SERVICE, c, 0, hand(ADMIN_WALLET));
        check(!c.hasRole(ADMIN, SERVICE) && c.hasRole(ADMIN, ADMIN_WALLET), "handed on");
    }

    function test_V7_aServiceThatOwnsTheCollectionKeepsNothingAfterSellingIt() external {
        DeploymentConfig memory d = deployment();
        d.owner = SERVICE;
        ICollection c = clone(d, runtime(), true);
        check(c.hasRole(ADMIN, SERVICE) && c.hasRole(DEFAULT_ADMIN, SERVICE), "owner");
        allows(SERVICE, c, 0, own(HEIR));
        check(!c.hasRole(ADMIN, SERVICE) && !c.hasRole(DEFAULT_ADMIN, SERVICE), "nothing");
        c = clone();
        allows(OWNER, c, 0, own(SERVICE));
        allows(SERVICE, c, 0, own(HEIR));
        check(!c.hasRole(ADMIN, SERVICE) && !c.hasRole(DEFAULT_ADMIN, SERVICE), "nor as a second owner");
    }

    function test_adminRightsMove() external {
        ICollection c = clone();
        refuses(SERVICE, c, 0, hand(address(0)), "Admin cannot be null");
        refuses(SERVICE, c, 0, hand(SERVICE), "Already an admin");
        refuses(SERVICE, c, 0, hand(OWNER), "Already an admin");
        refuses(OWNER, c, 0, hand(STRANGER), "Use transferOwnership");
        allows(SERVICE, c, 0, hand(STRANGER));
        check(c.hasRole(ADMIN, STRANGER) && !c.hasRole(ADMIN, SERVICE), "moved");
    }

    function test_V9_feesReachTheTreasuryWhole() external {
        Treasury treasury = new Treasury();
        DeploymentConfig memory d = deployment();
        d.treasuryAddress = payable(address(treasury));
        ICollection[2] memory all = [clone(d, runtime(), true), standalone(d, runtime())];
        for (uint256 i; i < 2; ++i) {
            uint256 before = address(treasury).balance;
            allows(BUYER, all[i], 1 ether, abi.encodeCall(ICollection.mint, (7)));
            treasury.set(true);
            string memory reason = "Address: unable to send value, recipient may have reverted";
            refuses(SERVICE, all[i], 0, abi.encodeCall(ICollection.withdrawFees, ()), reason);
            check(address(all[i]).balance == 0.07 ether, "kept");
            treasury.set(false);
            allows(SERVICE, all[i], 0, abi.encodeCall(ICollection.withdrawFees, ()));
            check(address(treasury).balance - before == 0.07 ether && address(all[i]).balance == 0, "all of it");
        }
        d.treasuryAddress = payable(OWNER);
        ICollection c = clone(d, runtime(), true);
        allows(BUYER, c, 1 ether, abi.encodeCall(ICollection.mint, (1)));
        uint256 owned = OWNER.balance;
        allows(OWNER, c, 0, abi.encodeCall(ICollection.withdrawFees, ()));
        check(OWNER.balance - owned == 0.01 ether, "an owner that is the treasury");
    }

    function hexOf(address account) private pure returns (string memory) {
        bytes memory digits = "0123456789abcdef";
        bytes memory text = new bytes(42);
        (text[0], text[1]) = ("0", "x");
        for (uint256 i; i < 40; ++i) {
            text[2 + i] = digits[(uint160(account) >> (4 * (39 - i))) & 15];
        }
        return string(text);
    }
}
