// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ERC1155NFTProduct} from "../../src/products/ERC1155NFTProduct.sol";
import {ERC721NFTProduct} from "../../src/products/ERC721NFTProduct.sol";
import {IERC1155Product} from "../../src/products/IERC1155Product.sol";
import {IERC721Product} from "../../src/products/IERC721Product.sol";
import {IProduct} from "../../src/products/IProduct.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "../../src/products/ProductTypes.sol";
import {ProductFixture} from "../support/ProductFixture.sol";
import {ProductReceiver} from "../support/ProductReceiver.sol";
import {Vm, vm} from "../support/Vm.sol";

/// @title What the specification says of products and random calls would not show: orders, layout, beginnings.
contract ProductsTest is ProductFixture {
    function update(ProductRuntime memory r, RolesAddresses[] memory lists, bool revoke)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeCall(IProduct.update, (r, lists, revoke));
    }

    function uriOf(uint256 id, string memory uri, bool freeze) private pure returns (bytes memory) {
        return abi.encodeCall(IERC721Product.updateTokenUri, (id, uri, freeze));
    }

    // ------------------------------------------------------------------ beginnings

    function test_initializeWorksOnceAndFromTheOperatorOnly() external {
        bytes memory init = abi.encodeCall(IProduct.initialize, (deployment(), runtime(), noLists()));
        address[4] memory begun =
            [address(clone721()), address(clone1155()), operator.template721(), operator.template1155()];
        for (uint256 i; i < 4; ++i) {
            refuses(address(operator), begun[i], init, "Initializable: contract is already initialized");
        }
        // A clone's code that somebody else deployed: nobody can begin it but the operator, which never will.
        address bare = address(0xba4e);
        vm.etch(bare, begun[0].code);
        refuses(STRANGER, bare, init, "Only the operator can initialize");
        vm.etch(bare, begun[1].code);
        refuses(STRANGER, bare, init, "Only the operator can initialize");
        address[2] memory alone = [
            address(new ERC721NFTProduct(deployment(), runtime(), noLists())),
            address(new ERC1155NFTProduct(deployment(), runtime(), noLists()))
        ];
        for (uint256 i; i < 2; ++i) {
            refuses(address(this), alone[i], init, "Initializable: contract is already initialized");
            check(IProduct(alone[i]).hasRole(ADMIN, address(this)), "the deployer is an admin");
        }
    }

    function test_aDeployerThatOwnsTheProductKeepsNothingAfterSellingIt() external {
        ProductDeployment memory d = deployment();
        d.owner = address(this);
        ERC721NFTProduct p = new ERC721NFTProduct(d, runtime(), noLists());
        p.transferOwnership(BUYER);
        check(!p.hasRole(ADMIN, address(this)) && !p.hasRole(MINT, address(this)), "nothing is kept");
        check(p.hasRole(ADMIN, BUYER) && p.owner() == BUYER, "all of it moved");
        // And back to the initialiser, and away again.
        vm.prank(BUYER);
        p.transferOwnership(address(this));
        check(!p.hasRole(ADMIN, BUYER) && !p.hasRole(MINT, BUYER), "a former owner keeps nothing");
        p.transferOwnership(BUYER);
        check(!p.hasRole(ADMIN, address(this)), "nothing is kept");
    }

    // ------------------------------------------------------------------ roles

    function test_aListReplacesWhatListsGaveAndNothingElse() external {
        IERC721Product p = clone721(deployment(), runtime(), listOf(MINT, BUYER, false));
        vm.prank(OWNER);
        p.grantRole(MINT, STRANGER);
        allows(OWNER, address(p), update(runtime(), listOf(MINT, ROYALTIES, false), false));
        check(!p.hasRole(MINT, BUYER) && p.hasRole(MINT, STRANGER) && p.hasRole(MINT, ROYALTIES), "replaced");
        // Named by the list and granted: the grant outlives the list.
        allows(OWNER, address(p), abi.encodeCall(IProduct.grantRole, (MINT, ROYALTIES)));
        allows(OWNER, address(p), update(runtime(), listOf(MINT, address(0), true), false));
        check(p.hasRole(MINT, ROYALTIES) && p.hasRole(MINT, STRANGER), "granted");
        refuses(
            OWNER,
            address(p),
            update(runtime(), listOf(MINT, BUYER, false), false),
            "GranularRoles: role 0x154c00819833dac601ee5ddded6fda79d9d8b506b911b3dbd54cdb95fe6c3686 is frozen"
        );
        refuses(
            OWNER,
            address(p),
            update(runtime(), listOf(ADMIN, BUYER, false), false),
            "GranularRoles: invalid role 0xa49807205ce4d355092ef5a8a18f56e8913cf4a201fbe287825b095693c21775"
        );
    }

    function test_whatNeedsAnAdmin() external {
        IERC721Product p = clone721(deployment(), runtime(), listOf(UPDATE_CONTRACT, STRANGER, false));
        refuses(
            STRANGER, address(p), update(runtime(), listOf(MINT, BUYER, false), false), "GranularRoles: not an admin"
        );
        string memory missing = "AccessControl: account 0x00000000000000000000000000000000000057a9 is missing role "
            "0xa49807205ce4d355092ef5a8a18f56e8913cf4a201fbe287825b095693c21775";
        refuses(STRANGER, address(p), update(runtime(), noLists(), true), missing);
        refuses(STRANGER, address(p), abi.encodeCall(IProduct.revokeNFTPortPermissions, ()), missing);
        allows(STRANGER, address(p), update(runtime(), noLists(), false));
        allows(address(operator), address(p), update(runtime(), noLists(), true));
        check(!p.hasRole(ADMIN, address(operator)), "the service left");
        refuses(
            STRANGER, address(p), abi.encodeCall(IProduct.transferOwnership, (STRANGER)), "GranularRoles: not the owner"
        );
        refuses(
            OWNER, address(p), abi.encodeCall(IProduct.transferOwnership, (OWNER)), "GranularRoles: already the owner"
        );
        refuses(
            OWNER, address(p), abi.encodeCall(IProduct.transferOwnership, (address(0))), "Contract must have an owner"
        );
    }

    // ------------------------------------------------------------------ ERC-721

    function test_721RefusalsComeInTheirOrder() external {
        ProductDeployment memory d = deployment();
        d.tokensBurnable = false;
        ProductRuntime memory r = runtime();
        IERC721Product p = clone721(d, r, noLists());
        vm.prank(OWNER);
        p.mintToCaller(OWNER, 5, "");
        check(same(p.tokenURI(5), ""), "neither URI nor base");
        refuses(OWNER, address(p), uriOf(6, "", false), "Token: Token does not exist");
        refuses(OWNER, address(p), uriOf(5, "", false), "Token: Token URI is missing");
        vm.recordLogs();
        allows(OWNER, address(p), uriOf(5, "a", true));
        Vm.Log[] memory logs = vm.getRecordedLogs();
        check(logs.length == 2 && logs[0].topics[0] == keccak256("MetadataUpdate(uint256)"), "ERC-4906");
        check(abi.decode(logs[0].data, (uint256)) == 5, "its id");
        check(same(abi.decode(logs[1].data, (string)), "a") && logs[1].topics[1] == bytes32(uint256(5)), "PermanentURI");
        check(p.freezeTokenUris(5), "frozen");
        refuses(OWNER, address(p), uriOf(5, "", false), "Token: Token is frozen");
        r.metadataUpdatable = false;
        allows(OWNER, address(p), update(r, noLists(), false));
        refuses(OWNER, address(p), uriOf(5, "", false), "Token: Metadata is frozen");
        r.baseURI = "b";
        refuses(OWNER, address(p), update(r, noLists(), false), "Update: Metadata is frozen");
        (r.baseURI, r.metadataUpdatable, r.tokensTransferable, r.royaltiesBps) = ("", true, false, 10_001);
        refuses(OWNER, address(p), update(r, noLists(), false), "Cannot set royalties to over 100%");
        r.royaltiesBps = 10_000;
        allows(OWNER, address(p), update(r, noLists(), false));
        check(!p.metadataUpdatable(), "never thawed");
        refuses(
            OWNER,
            address(p),
            abi.encodeCall(IERC721Product.transferByOwner, (BUYER, 6)),
            "Transfer: Transfers are disabled"
        );
        refuses(OWNER, address(p), abi.encodeCall(IERC721Product.burn, (6)), "Burn: Burns are disabled");
    }

    function test_721BurnsAndTokensMintedAgain() external {
        IERC721Product p = clone721();
        vm.prank(OWNER);
        p.mintToCaller(BUYER, 1, CID_URI);
        refuses(OWNER, address(p), abi.encodeCall(IERC721Product.burn, (2)), "Burn: Token does not exist");
        refuses(OWNER, address(p), abi.encodeCall(IERC721Product.burn, (1)), "Burn: not held by contract owner");
        vm.prank(OWNER);
        p.mintToCaller(OWNER, 2, CID_URI);
        allows(OWNER, address(p), uriOf(2, "https://a", false));
        allows(OWNER, address(p), uriOf(2, CID_URI, true));
        check(same(p.tokenURI(2), CID_URI), "back to a digest");
        allows(OWNER, address(p), abi.encodeCall(IERC721Product.burn, (2)));
        check(p.totalSupply() == 1 && p.balanceOf(OWNER) == 0, "burned");
        vm.prank(OWNER);
        p.mintToCaller(OWNER, 2, "");
        check(same(p.tokenURI(2), "") && p.freezeTokenUris(2), "no URI of before, frozen still");
    }

    function test_721BaseUriChangesAreAnnounced() external {
        IERC721Product p = clone721();
        ProductRuntime memory r = runtime();
        r.baseURI = "https://example.org/";
        vm.recordLogs();
        allows(OWNER, address(p), update(r, noLists(), false));
        Vm.Log[] memory logs = vm.getRecordedLogs();
        check(logs.length == 1 && logs[0].topics[0] == keccak256("BatchMetadataUpdate(uint256,uint256)"), "ERC-4906");
        check(keccak256(logs[0].data) == keccak256(abi.encode(0, type(uint256).max)), "all ids");
        allows(OWNER, address(p), abi.encodeCall(IERC721Product.mintToCaller, (BUYER, 12, "")));
        check(same(p.tokenURI(12), "https://example.org/12"), "base and id");
        r.baseURI = "";
        allows(OWNER, address(p), update(r, noLists(), false));
        check(same(p.baseURI(), "") && same(p.tokenURI(12), ""), "empty again");
    }

    function test_interfaces() external {
        IProduct[2] memory all = [IProduct(clone721()), IProduct(clone1155())];
        bytes4[4][2] memory known = [
            [bytes4(0x01ffc9a7), 0x80ac58cd, 0x5b5e139f, 0x2a55205a],
            [bytes4(0x01ffc9a7), 0xd9b67a26, 0x0e89341c, 0x2a55205a]
        ];
        for (uint256 i; i < 2; ++i) {
            for (uint256 k; k < 4; ++k) {
                check(all[i].supportsInterface(known[i][k]), "known");
            }
            check(!all[i].supportsInterface(0xffffffff) && !all[i].supportsInterface(0x7965db0b), "unknown");
            // ERC-4906 is of ERC-721; ERC-1155 has its own event.
            check(all[i].supportsInterface(0x49064906) == (i == 0), "says that it announces updates");
        }
    }

    function test_viewsOfATemplateAnswerAsOfAContractWithoutSettings() external {
        address[2] memory templates = [operator.template721(), operator.template1155()];
        for (uint256 i; i < 2; ++i) {
            IProduct p = IProduct(templates[i]);
            check(same(p.name(), "") && same(p.symbol(), "") && same(p.baseURI(), ""), "no texts");
            check(p.royaltiesBasisPoints() == 0 && p.royaltiesAddress() == address(0), "no royalties");
            (address receiver, uint256 amount) = p.royaltyInfo(1, 10_000);
            check(receiver == address(0) && amount == 0 && bytes(p.contractURI()).length != 0, "asks for nothing");
            check(p.owner() == address(0) && !p.metadataUpdatable() && !p.tokensTransferable(), "nobody's");
        }
        check(same(IERC1155Product(templates[1]).uri(7), ""), "no URI");
        refuses(STRANGER, templates[0], abi.encodeCall(IERC721Product.tokenURI, (7)), "ERC721: invalid token ID");
    }

    function test_listsOfOneRoleInOneCallAreOne() external {
        IERC721Product p = IERC721Product(clone721());
        RolesAddresses[] memory lists = new RolesAddresses[](3);
        lists[0] = RolesAddresses(MINT, new address[](1), true);
        lists[0].addresses[0] = BUYER;
        lists[1] = RolesAddresses(BURN, new address[](1), false);
        lists[1].addresses[0] = BUYER;
        lists[2] = RolesAddresses(MINT, new address[](2), false);
        lists[2].addresses[0] = STRANGER;
        lists[2].addresses[1] = BUYER;
        allows(OWNER, address(p), update(runtime(), lists, false));
        check(p.hasRole(MINT, BUYER) && p.hasRole(MINT, STRANGER) && p.hasRole(BURN, BUYER), "all are members");
        refuses(
            OWNER,
            address(p),
            update(runtime(), lists, false),
            string.concat("GranularRoles: role ", Strings.toHexString(uint256(MINT), 32), " is frozen")
        );
        // The next list replaces all of them.
        IERC721Product q = IERC721Product(clone721());
        lists[0].frozen = false;
        allows(OWNER, address(q), update(runtime(), lists, false));
        RolesAddresses[] memory one = new RolesAddresses[](1);
        one[0] = RolesAddresses(MINT, new address[](0), false);
        allows(OWNER, address(q), update(runtime(), one, false));
        check(!q.hasRole(MINT, BUYER) && !q.hasRole(MINT, STRANGER) && q.hasRole(BURN, BUYER), "the list is empty");
    }

    function test_receiversHearWhoAndWhat() external {
        ProductReceiver receiver = new ProductReceiver();
        IERC721Product p = clone721();
        vm.prank(OWNER);
        p.mintToCaller(BUYER, 1, "");
        vm.prank(BUYER);
        p.safeTransferFrom(BUYER, address(receiver), 1, "some data");
        check(receiver.operator() == BUYER && receiver.from() == BUYER, "who");
        check(keccak256(receiver.data()) == keccak256("some data"), "what");
        IERC1155Product q = clone1155();
        vm.prank(OWNER);
        q.mintByOwner(address(receiver), 1, 3, "");
        check(receiver.operator() == OWNER && receiver.from() == address(0) && receiver.data().length == 0, "a mint");
    }

    function test_aReceiverCannotMintFromTheCallbackOfAMint() external {
        ProductReceiver receiver = new ProductReceiver();
        receiver.set(ProductReceiver.Answer.Mint, address(0));
        IERC721Product p = clone721(deployment(), runtime(), listOf(MINT, address(receiver), false));
        bytes memory mint = abi.encodeCall(IERC721Product.mintToCaller, (address(receiver), 1, ""));
        refuses(OWNER, address(p), mint, "ReentrancyGuard: reentrant call");
        IERC1155Product q = clone1155(deployment(), runtime(), listOf(MINT, address(receiver), false));
        mint = abi.encodeCall(IERC1155Product.mintByOwner, (address(receiver), 1, 1, ""));
        refuses(OWNER, address(q), mint, "ReentrancyGuard: reentrant call");
        receiver.set(ProductReceiver.Answer.SwallowedMint, address(0));
        allows(OWNER, address(q), mint);
        check(q.totalSupply(1) == 1 && q.totalSupply(2) == 0, "the inner mint did nothing");
    }

    function test_anApprovalEndsWithATransfer() external {
        IERC721Product p = clone721();
        vm.prank(OWNER);
        p.mintToCaller(BUYER, 9, "");
        vm.prank(BUYER);
        p.approve(STRANGER, 9);
        check(p.getApproved(9) == STRANGER, "approved");
        vm.prank(BUYER);
        p.transferFrom(BUYER, OWNER, 9);
        check(p.getApproved(9) == address(0), "nobody is approved by the new owner");
        refuses(
            STRANGER,
            address(p),
            abi.encodeCall(IERC721Product.transferFrom, (OWNER, STRANGER, 9)),
            "ERC721: caller is not token owner or approved"
        );
    }

    // ------------------------------------------------------------------ ERC-1155

    function test_1155IdsMayComeAgainAfterTheirLastBurn() external {
        IERC1155Product p = clone1155();
        bytes memory mint = abi.encodeCall(IERC1155Product.mintByOwner, (OWNER, 1, 2, CID_URI));
        allows(OWNER, address(p), mint);
        refuses(OWNER, address(p), mint, "NFT: token already minted");
        allows(OWNER, address(p), abi.encodeCall(IERC1155Product.burn, (1, 1)));
        refuses(OWNER, address(p), mint, "NFT: token already minted");
        allows(OWNER, address(p), abi.encodeCall(IERC1155Product.burn, (1, 1)));
        allows(OWNER, address(p), abi.encodeCall(IERC1155Product.mintByOwner, (OWNER, 1, 5, "")));
        check(p.totalSupply(1) == 5 && same(p.uri(1), CID_URI), "with the URI of before");
        allows(OWNER, address(p), abi.encodeCall(IERC1155Product.mintByOwner, (OWNER, 2, 0, "")));
        allows(OWNER, address(p), abi.encodeCall(IERC1155Product.mintByOwner, (OWNER, 2, 1, "")));
        allows(OWNER, address(p), abi.encodeCall(IERC1155Product.setURI, ("default")));
        check(same(p.uri(2), "default") && same(p.uri(3), "default"), "the default");
    }

    // ------------------------------------------------------------------ what a freeze holds

    function test_aFrozenContractKeepsWhatIsShownOfTokensWithoutAUri() external {
        IERC1155Product p = clone1155();
        bytes memory other = abi.encodeCall(IERC1155Product.setURI, ("other"));
        allows(OWNER, address(p), abi.encodeCall(IERC1155Product.setURI, ("default")));
        allows(OWNER, address(p), abi.encodeCall(IERC1155Product.mintByOwner, (OWNER, 1, 1, "")));
        ProductRuntime memory r = runtime();
        r.metadataUpdatable = false;
        allows(OWNER, address(p), update(r, noLists(), false));
        refuses(OWNER, address(p), other, "Metadata is frozen");
        check(same(p.uri(1), "default"), "as it was frozen");
        // Who may not change it hears that first.
        refuses(
            STRANGER,
            address(p),
            other,
            string.concat(
                "AccessControl: account ",
                Strings.toHexString(STRANGER),
                " is missing role ",
                Strings.toHexString(uint256(UPDATE_CONTRACT), 32)
            )
        );
    }

    /// @dev As the original's: docs/contracts.md tells holders what a freeze does not hold.
    function test_aFreezeOfATokenHoldsItsOwnUriAndNoLongerThanItLives() external {
        IERC721Product p = clone721();
        allows(OWNER, address(p), abi.encodeCall(IERC721Product.mintToCaller, (OWNER, 1, "a")));
        allows(OWNER, address(p), uriOf(1, "", true));
        refuses(OWNER, address(p), uriOf(1, "b", false), "Token: Token is frozen");
        ProductRuntime memory r = runtime();
        r.baseURI = "base/";
        allows(OWNER, address(p), update(r, noLists(), false));
        check(same(p.tokenURI(1), "base/a"), "the base URI is the contract's");
        allows(OWNER, address(p), abi.encodeCall(IERC721Product.burn, (1)));
        allows(OWNER, address(p), abi.encodeCall(IERC721Product.mintToCaller, (OWNER, 1, "c")));
        check(same(p.tokenURI(1), "base/c") && p.freezeTokenUris(1), "another token under the same id, frozen too");
        refuses(OWNER, address(p), uriOf(1, "d", false), "Token: Token is frozen");
        IERC1155Product q = clone1155();
        allows(OWNER, address(q), abi.encodeCall(IERC1155Product.mintByOwner, (OWNER, 1, 1, "a")));
        allows(OWNER, address(q), abi.encodeCall(IERC1155Product.updateTokenUri, (1, "", true)));
        allows(OWNER, address(q), abi.encodeCall(IERC1155Product.burn, (1, 1)));
        allows(OWNER, address(q), abi.encodeCall(IERC1155Product.mintByOwner, (OWNER, 1, 0, "b")));
        allows(OWNER, address(q), abi.encodeCall(IERC1155Product.mintByOwner, (OWNER, 1, 0, "c")));
        check(same(q.uri(1), "c") && q.totalSupply(1) == 0, "of an id that nobody holds");
    }

    /// @dev As the original's: both end ADMIN_ROLE, and a list is its role's.
    function test_aListedAccountKeepsItsRoleUntilTheListIsReplaced() external {
        IERC721Product p = clone721(deployment(), runtime(), listOf(MINT, OWNER, false));
        vm.prank(OWNER);
        p.transferOwnership(BUYER);
        check(p.hasRole(MINT, OWNER) && !p.hasRole(ADMIN, OWNER) && !p.hasRole(BURN, OWNER), "listed still");
        IERC721Product q = clone721(deployment(), runtime(), listOf(MINT, address(operator), false));
        vm.prank(OWNER);
        q.revokeNFTPortPermissions();
        check(q.hasRole(MINT, address(operator)) && !q.hasRole(ADMIN, address(operator)), "listed still");
        allows(BUYER, address(p), update(runtime(), listOf(MINT, address(0), false), false));
        allows(OWNER, address(q), update(runtime(), listOf(MINT, address(0), false), false));
        check(!p.hasRole(MINT, OWNER) && !q.hasRole(MINT, address(operator)), "replaced by nobody");
    }

    // ------------------------------------------------------------------ layout

    function slot(IProduct p, uint256 index) private view returns (uint256) {
        return uint256(vm.load(address(p), bytes32(index)));
    }

    function entry(uint256 key, uint256 place) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(key, place)));
    }

    /// @dev Where everything lies. A change here is a new version of the contract, never a silent edit.
    function test_layout() external {
        IERC721Product p = clone721(deployment(), runtime(), listOf(BURN, BUYER, true));
        vm.prank(OWNER);
        p.mintToCaller(BUYER, 9, CID_URI);
        vm.prank(OWNER);
        p.grantRole(MINT, BUYER);
        uint256 flags = 1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 12;
        check(slot(p, 0) == (flags << 224) | (1 << 160) | uint160(OWNER), "hot word");
        check(slot(p, entry(uint160(BUYER), 1)) == 1 | 1 << 65 | 1 << 76, "wallet word");
        check(slot(p, entry(uint256(BURN), 2)) == 1, "lists");
        check(slot(p, entry(9, 6)) == uint256(sha256("hello world\n")), "digests");
        check(slot(p, entry(9, 9)) == uint160(BUYER), "token word");
        vm.prank(BUYER);
        p.approve(STRANGER, 9);
        check(slot(p, entry(9, 9)) == uint160(BUYER) | 1 << 160, "approved");
        check(slot(p, entry(9, 10)) == uint160(STRANGER), "approvals");
        allows(OWNER, address(p), uriOf(9, "text", true));
        check(slot(p, entry(9, 6)) == 0 && slot(p, entry(9, 7)) == uint256(bytes32("text")) + 8, "texts");
        check(slot(p, entry(9, 8)) == 1, "frozen URIs");
        ProductRuntime memory r = runtime();
        (r.baseURI, r.royaltiesBps, r.royaltiesAddress) = ("b/", 7, STRANGER);
        allows(OWNER, address(p), update(r, noLists(), false));
        check(keccak256(address(uint160(slot(p, 4))).code) == keccak256(hex"00622f"), "base URI");
        check(slot(p, 5) == 7 | (uint256(uint160(STRANGER)) << 16), "royalties");
        check(slot(p, 0) >> 224 == flags | 1 << 6 | 1 << 7, "flags of what was replaced");

        IERC1155Product q = clone1155();
        vm.prank(OWNER);
        q.mintByOwner(BUYER, 9, 4, CID_URI);
        allows(OWNER, address(q), abi.encodeCall(IERC1155Product.setURI, ("d")));
        check(slot(q, entry(9, 9)) == 4 && slot(q, entry(uint160(BUYER), entry(9, 10))) == 4, "supply, balance");
        check(address(uint160(slot(q, 12))).code.length == 2, "default URI");
    }

    function test_cloneCode() external {
        ProductRuntime memory r = runtime();
        r.baseURI = "ipfs://folder/";
        bytes memory want = abi.encodePacked(
            hex"363d3d373d3d3d363d73",
            operator.template721(),
            hex"5af43d82803e903d91602b57fd5bf3",
            ROYALTIES,
            uint16(500),
            uint16(17),
            uint16(3),
            "Lighthouse PrintsLHPipfs://folder/"
        );
        check(keccak256(address(clone721(deployment(), r, noLists())).code) == keccak256(want), "clone code");
    }
}
