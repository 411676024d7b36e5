// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC721NFTProduct} from "../../src/products/ERC721NFTProduct.sol";
import {IERC721Product} from "../../src/products/IERC721Product.sol";
import {IProduct} from "../../src/products/IProduct.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "../../src/products/ProductTypes.sol";
import {Reference721} from "../reference/Reference721.sol";
import {ProductDifferential} from "../support/ProductDifferential.sol";
import {Vm, vm} from "../support/Vm.sol";

/// @title The ERC-721 product and its reference model answer every call alike.
contract Differential721Test is ProductDifferential {
    uint256 private constant IDS = 8;

    function testFuzz_theErc721ProductAgreesWithTheReferenceModel(uint256 seed) external {
        _gather(seed);
        _deployBoth();
        for (_step = 1; _step <= CALLS_PER_RUN; ++_step) {
            _randomCall();
            _compareCommonViews();
            _compareTokens();
        }
        _compareRoles();
        _checkLedger();
    }

    function _deployBoth() private {
        (ProductDeployment memory d, ProductRuntime memory r) = (_randomDeployment(), _randomRuntime());
        RolesAddresses[] memory lists = _randomLists(false);
        bool alone = _chance(30);
        _service = alone ? RELAYER : address(operator);
        vm.recordLogs();
        if (alone) {
            vm.prank(RELAYER);
            _core = address(new ERC721NFTProduct(d, r, lists));
        } else {
            _core = address(clone721(d, r, lists));
        }
        Vm.Log[] memory logs = vm.getRecordedLogs();
        _model = address(new Reference721(d, r, lists, _service));
        _compareFirstLogs(logs, vm.getRecordedLogs(), alone);
    }

    function _randomCall() private {
        uint256 kind = _random(100);
        if (kind < 30) return _both(_staff(), abi.encodeCall(IERC721Product.mintToCaller, (_to(), _id(), _text())));
        if (kind < 40) {
            return _both(_staff(), abi.encodeCall(IERC721Product.updateTokenUri, (_id(), _text(), _chance(15))));
        }
        if (kind < 48) return _both(_staff(), abi.encodeCall(IERC721Product.burn, (_id())));
        if (kind < 56) return _both(_staff(), abi.encodeCall(IERC721Product.transferByOwner, (_to(), _id())));
        if (kind < 70) return _move();
        if (kind < 75) return _both(_holder(), abi.encodeCall(IERC721Product.approve, (_to(), _id())));
        if (kind < 79) {
            return _both(_person(), abi.encodeCall(IProduct.setApprovalForAll, (_person(), _chance(70))));
        }
        _commonCall();
    }

    function _move() private {
        uint256 id = _id();
        address from = _chance(80) ? _ownerOf(id) : _person();
        address sender = _chance(60) ? from : _person();
        uint256 kind = _random(3);
        if (kind == 0) return _both(sender, abi.encodeCall(IERC721Product.transferFrom, (from, _to(), id)));
        bytes memory data;
        if (kind == 1) {
            data = abi.encodeWithSignature("safeTransferFrom(address,address,uint256)", from, _to(), id);
        } else {
            data = abi.encodeWithSignature("safeTransferFrom(address,address,uint256,bytes)", from, _to(), id, "data");
        }
        _both(sender, data);
    }

    function _compareTokens() private view {
        _same(abi.encodeCall(IERC721Product.totalSupply, ()));
        for (uint256 id; id < IDS; ++id) {
            _same(abi.encodeCall(IERC721Product.ownerOf, (id)));
            _same(abi.encodeCall(IERC721Product.getApproved, (id)));
            if ((id + _step) % 3 != 0) continue;
            _same(abi.encodeCall(IERC721Product.tokenURI, (id)));
            _same(abi.encodeCall(IProduct.freezeTokenUris, (id)));
        }
        _same(abi.encodeCall(IERC721Product.ownerOf, (type(uint256).max)));
        _same(abi.encodeCall(IERC721Product.tokenURI, (type(uint256).max)));
        _same(abi.encodeCall(IERC721Product.balanceOf, (address(0))));
        for (uint256 i; i < _people.length; ++i) {
            _same(abi.encodeCall(IERC721Product.balanceOf, (_people[i])));
        }
        _same(
            abi.encodeCall(
                IERC721Product.isApprovedForAll, (_people[_step % _people.length], _people[_step / 3 % _people.length])
            )
        );
    }

    /// @dev The sum of balances is the supply, and the number of tokens with an owner.
    function _checkLedger() private view {
        IERC721Product core = IERC721Product(_core);
        uint256 held;
        for (uint256 i; i < _people.length; ++i) {
            held += core.balanceOf(_people[i]);
        }
        check(held == core.totalSupply(), "sum of balances = supply");
    }

    function _id() private returns (uint256) {
        return _chance(3) ? type(uint256).max : _random(IDS);
    }

    function _ownerOf(uint256 id) private returns (address) {
        try IERC721Product(_model).ownerOf(id) returns (address holder) {
            return holder;
        } catch {
            return _person();
        }
    }

    function _holder() private returns (address) {
        return _chance(80) ? _ownerOf(_id()) : _person();
    }
}
