// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC1155NFTProduct} from "../../src/products/ERC1155NFTProduct.sol";
import {IERC1155Product} from "../../src/products/IERC1155Product.sol";
import {IProduct} from "../../src/products/IProduct.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "../../src/products/ProductTypes.sol";
import {Reference1155} from "../reference/Reference1155.sol";
import {ProductDifferential} from "../support/ProductDifferential.sol";
import {Vm, vm} from "../support/Vm.sol";

/// @title The ERC-1155 product and its reference model answer every call alike.
contract Differential1155Test is ProductDifferential {
    uint256 private constant IDS = 6;

    function testFuzz_theErc1155ProductAgreesWithTheReferenceModel(uint256 seed) external {
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
            _core = address(new ERC1155NFTProduct(d, r, lists));
        } else {
            _core = address(clone1155(d, r, lists));
        }
        Vm.Log[] memory logs = vm.getRecordedLogs();
        _model = address(new Reference1155(d, r, lists, _service));
        _compareFirstLogs(logs, vm.getRecordedLogs(), alone);
    }

    function _randomCall() private {
        uint256 kind = _random(100);
        if (kind < 18) {
            return _both(_staff(), abi.encodeCall(IERC1155Product.mintByOwner, (_to(), _id(), _amount(), _text())));
        }
        if (kind < 28) return _mintBatch();
        if (kind < 36) {
            return _both(_staff(), abi.encodeCall(IERC1155Product.updateTokenUri, (_id(), _text(), _chance(15))));
        }
        if (kind < 38) return _both(_staff(), abi.encodeCall(IERC1155Product.setURI, (_text())));
        if (kind < 44) return _both(_staff(), abi.encodeCall(IERC1155Product.burn, (_id(), _amount())));
        if (kind < 48) {
            (uint256[] memory ids, uint256[] memory amounts) = _idsAndAmounts();
            return _both(_staff(), abi.encodeCall(IERC1155Product.burnBatch, (ids, amounts)));
        }
        if (kind < 54) {
            return _both(_staff(), abi.encodeCall(IERC1155Product.transferByOwner, (_to(), _id(), _amount())));
        }
        if (kind < 60) return _transferByOwnerBatch();
        if (kind < 75) return _move();
        if (kind < 79) {
            return _both(_person(), abi.encodeCall(IProduct.setApprovalForAll, (_person(), _chance(70))));
        }
        _commonCall();
    }

    function _mintBatch() private {
        (uint256[] memory ids, uint256[] memory amounts) = _idsAndAmounts();
        address[] memory to = new address[](ids.length);
        string[] memory uris = new string[](_chance(95) ? ids.length : 1);
        for (uint256 i; i < to.length; ++i) {
            to[i] = _to();
        }
        for (uint256 i; i < uris.length; ++i) {
            uris[i] = _text();
        }
        _both(_staff(), abi.encodeCall(IERC1155Product.mintByOwnerBatch, (to, ids, amounts, uris)));
    }

    function _transferByOwnerBatch() private {
        (uint256[] memory ids, uint256[] memory amounts) = _idsAndAmounts();
        address[] memory to = new address[](_chance(95) ? ids.length : 1);
        for (uint256 i; i < to.length; ++i) {
            to[i] = _to();
        }
        _both(_staff(), abi.encodeCall(IERC1155Product.transferByOwnerBatch, (to, ids, amounts)));
    }

    function _move() private {
        address from = _person();
        address sender = _chance(60) ? from : _person();
        if (_chance(50)) {
            return _both(
                sender, abi.encodeCall(IERC1155Product.safeTransferFrom, (from, _to(), _id(), _amount() % 4, "data"))
            );
        }
        (uint256[] memory ids, uint256[] memory amounts) = _idsAndAmounts();
        for (uint256 i; i < amounts.length; ++i) {
            amounts[i] %= 3;
        }
        _both(sender, abi.encodeCall(IERC1155Product.safeBatchTransferFrom, (from, _to(), ids, amounts, "data")));
    }

    function _compareTokens() private view {
        address[] memory accounts = new address[](_people.length);
        uint256[] memory ids = new uint256[](_people.length);
        for (uint256 id; id < IDS; ++id) {
            for (uint256 i; i < _people.length; ++i) {
                (accounts[i], ids[i]) = (_people[i], id);
            }
            _same(abi.encodeCall(IERC1155Product.balanceOfBatch, (accounts, ids)));
            _same(abi.encodeCall(IERC1155Product.tokenSupply, (id)));
            _same(abi.encodeCall(IERC1155Product.totalSupply, (id)));
            if ((id + _step) % 3 != 0) continue;
            _same(abi.encodeCall(IERC1155Product.uri, (id)));
            _same(abi.encodeCall(IProduct.freezeTokenUris, (id)));
            _same(abi.encodeCall(IERC1155Product.balanceOf, (_people[_step % _people.length], id)));
        }
        _same(abi.encodeCall(IERC1155Product.DEFAULT_URI, ()));
        _same(abi.encodeCall(IERC1155Product.balanceOf, (address(0), 1)));
        _same(abi.encodeCall(IERC1155Product.balanceOfBatch, (accounts, new uint256[](1))));
        _same(
            abi.encodeCall(
                IERC1155Product.isApprovedForAll, (_people[_step % _people.length], _people[_step / 3 % _people.length])
            )
        );
    }

    /// @dev The sum of balances of an id is its supply.
    function _checkLedger() private view {
        IERC1155Product core = IERC1155Product(_core);
        for (uint256 id; id < IDS; ++id) {
            uint256 held;
            for (uint256 i; i < _people.length; ++i) {
                held += core.balanceOf(_people[i], id);
            }
            check(held == core.totalSupply(id), "sum of balances = supply");
        }
    }

    function _idsAndAmounts() private returns (uint256[] memory ids, uint256[] memory amounts) {
        ids = new uint256[](_random(4));
        amounts = new uint256[](_chance(95) ? ids.length : 1);
        for (uint256 i; i < ids.length; ++i) {
            ids[i] = _id();
        }
        for (uint256 i; i < amounts.length; ++i) {
            amounts[i] = _amount();
        }
    }

    function _id() private returns (uint256) {
        return _random(IDS);
    }

    function _amount() private returns (uint256) {
        return _chance(3) ? type(uint256).max - _random(2) : _random(5);
    }
}
