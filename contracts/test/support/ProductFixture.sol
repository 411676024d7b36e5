// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1155Product} from "../../src/products/IERC1155Product.sol";
import {IERC721Product} from "../../src/products/IERC721Product.sol";
import {ProductOperator} from "../../src/products/ProductOperator.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "../../src/products/ProductTypes.sol";
import {vm} from "./Vm.sol";

/// @title People, a plain configuration and ways to deploy a product.
abstract contract ProductFixture {
    bytes32 internal constant DEFAULT_ADMIN = 0;
    bytes32 internal constant ADMIN = keccak256("ADMIN_ROLE");
    bytes32 internal constant MINT = keccak256("MINT_ROLE");
    bytes32 internal constant UPDATE_CONTRACT = keccak256("UPDATE_CONTRACT_ROLE");
    bytes32 internal constant UPDATE_TOKEN = keccak256("UPDATE_TOKEN_ROLE");
    bytes32 internal constant BURN = keccak256("BURN_ROLE");
    bytes32 internal constant TRANSFER = keccak256("TRANSFER_ROLE");

    address internal constant OWNER = address(0x0a11ce);
    address internal constant RELAYER = address(0x4e1a);
    address internal constant STRANGER = address(0x57a9);
    address internal constant BUYER = address(0xb0e4);
    address internal constant ROYALTIES = address(0x40fa);
    /// @dev CIDv1 of the raw block "hello world\n".
    string internal constant CID_URI = "ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4";

    ProductOperator internal operator;
    uint256 private _intents;

    function setUp() public virtual {
        operator = new ProductOperator(address(this), RELAYER);
    }

    function deployment() internal pure returns (ProductDeployment memory) {
        return ProductDeployment({name: "Lighthouse Prints", symbol: "LHP", owner: OWNER, tokensBurnable: true});
    }

    function runtime() internal pure returns (ProductRuntime memory) {
        return ProductRuntime({
            baseURI: "",
            metadataUpdatable: true,
            tokensTransferable: true,
            royaltiesBps: 500,
            royaltiesAddress: ROYALTIES
        });
    }

    function noLists() internal pure returns (RolesAddresses[] memory) {}

    function listOf(bytes32 role, address account, bool frozen) internal pure returns (RolesAddresses[] memory lists) {
        lists = new RolesAddresses[](1);
        lists[0] = RolesAddresses({role: role, addresses: new address[](account == address(0) ? 0 : 1), frozen: frozen});
        if (account != address(0)) lists[0].addresses[0] = account;
    }

    function clone721(ProductDeployment memory d, ProductRuntime memory r, RolesAddresses[] memory lists)
        internal
        returns (IERC721Product)
    {
        bytes32 intent = nextIntent();
        vm.prank(RELAYER);
        return IERC721Product(operator.deployERC721(intent, d, r, lists));
    }

    function clone721() internal returns (IERC721Product) {
        return clone721(deployment(), runtime(), noLists());
    }

    function clone1155(ProductDeployment memory d, ProductRuntime memory r, RolesAddresses[] memory lists)
        internal
        returns (IERC1155Product)
    {
        bytes32 intent = nextIntent();
        vm.prank(RELAYER);
        return IERC1155Product(operator.deployERC1155(intent, d, r, lists));
    }

    function clone1155() internal returns (IERC1155Product) {
        return clone1155(deployment(), runtime(), noLists());
    }

    function nextIntent() internal returns (bytes32) {
        return bytes32(++_intents);
    }

    function act(address from, address target, bytes memory data) internal returns (bool ok, bytes memory answer) {
        vm.prank(from);
        (ok, answer) = target.call(data);
    }

    function refuses(address from, address target, bytes memory data, string memory reason) internal {
        refusesWith(from, target, data, abi.encodeWithSignature("Error(string)", reason));
    }

    function refusesWith(address from, address target, bytes memory data, bytes memory reason) internal {
        (bool ok, bytes memory answer) = act(from, target, data);
        check(!ok, string.concat("was allowed, should be: ", string(reason)));
        check(keccak256(answer) == keccak256(reason), string(answer));
    }

    function allows(address from, address target, bytes memory data) internal returns (bytes memory answer) {
        bool ok;
        (ok, answer) = act(from, target, data);
        check(ok, string(answer));
    }

    function same(string memory a, string memory b) internal pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }

    function check(bool holds, string memory what) internal pure {
        require(holds, what);
    }
}
