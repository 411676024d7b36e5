// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IProduct} from "../../src/products/IProduct.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "../../src/products/ProductTypes.sol";
import {Mute} from "./Actors.sol";
import {ProductFixture} from "./ProductFixture.sol";
import {ProductReceiver} from "./ProductReceiver.sol";
import {Vm, vm} from "./Vm.sol";

/// @title What the differential tests of both kinds of products share: people, configurations, comparisons.
/// @dev A run is a function of its seed.
abstract contract ProductDifferential is ProductFixture {
    uint256 internal constant CALLS_PER_RUN = 16;
    uint256 private constant CALL_GAS = 12_000_000;

    address internal _core;
    address internal _model;
    address internal _service;
    uint256 internal _step;
    uint256 private _seed;
    address[] internal _people;
    string[] private _texts;
    bytes32[] private _roles;

    function _gather(uint256 seed) internal {
        _seed = seed;
        _people = [OWNER, STRANGER, BUYER, address(0xe1), address(0xe2)];
        for (uint256 i; i < 3; ++i) {
            _people.push(address(new ProductReceiver()));
        }
        _people.push(address(new Mute()));
        _people.push(address(operator));
        _texts = ["", "x", "ipfs://", "ipfs://folder/", CID_URI, unicode"\"quoted\" \\ 🎈"];
        _texts.push("ipfs://bafkreiaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        _texts.push("ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei5");
        _texts.push("https://example.org/a/rather/long/path/of/sixty/six/bytes/in/all/1");
        bytes memory long = new bytes(300);
        for (uint256 i; i < long.length; ++i) {
            long[i] = bytes1(uint8(97 + i % 26));
        }
        _texts.push(string(long));
        _roles = [MINT, UPDATE_CONTRACT, UPDATE_TOKEN, BURN, TRANSFER, ADMIN, DEFAULT_ADMIN, keccak256("OTHER")];
    }

    /// @dev Compares the logs of the two deployments; the sender of a role event is who deployed.
    function _compareFirstLogs(Vm.Log[] memory core, Vm.Log[] memory model, bool alone) internal view {
        for (uint256 i; i < model.length; ++i) {
            check(core[i].emitter == _core && core[i].topics[0] == model[i].topics[0], "initial log differs");
            if (model[i].topics.length < 3) continue;
            check(core[i].topics[1] == model[i].topics[1], "initial log: first argument");
            check(core[i].topics[2] == model[i].topics[2], "initial log: second argument");
        }
        check(core.length == model.length + (alone ? 0 : 1), "number of initial logs");
    }

    function _randomDeployment() internal returns (ProductDeployment memory) {
        return ProductDeployment({name: _text(), symbol: _text(), owner: _person(), tokensBurnable: _chance(80)});
    }

    function _randomRuntime() internal returns (ProductRuntime memory) {
        return ProductRuntime({
            baseURI: _chance(60) ? "" : _text(),
            metadataUpdatable: _chance(90),
            tokensTransferable: _chance(90),
            royaltiesBps: _random(10_001),
            royaltiesAddress: _person()
        });
    }

    function _randomLists(bool wrong) internal returns (RolesAddresses[] memory lists) {
        lists = new RolesAddresses[](_random(4));
        for (uint256 i; i < lists.length; ++i) {
            lists[i].role = _roles[wrong && _chance(5) ? _random(8) : i];
            lists[i].addresses = new address[](_random(4));
            lists[i].frozen = wrong && _chance(5);
            for (uint256 k; k < lists[i].addresses.length; ++k) {
                lists[i].addresses[k] = _person();
            }
        }
    }

    /// @dev Calls that both kinds of products have.
    function _commonCall() internal {
        uint256 kind = _random(12);
        address from = _chance(60) ? IProduct(_model).owner() : _person();
        bytes32 role = _role();
        if (kind < 2) return _both(from, abi.encodeCall(IProduct.grantRole, (role, _person())));
        if (kind < 4) return _both(from, abi.encodeCall(IProduct.revokeRole, (role, _person())));
        if (kind < 5) {
            return _both(from, abi.encodeCall(IProduct.renounceRole, (role, _chance(80) ? from : _person())));
        }
        if (kind < 6) return _both(from, abi.encodeCall(IProduct.transferOwnership, (_to())));
        if (kind < 7 && _chance(20)) return _both(_staff(), abi.encodeCall(IProduct.revokeNFTPortPermissions, ()));
        if (kind < 8) {
            return _both(from, abi.encodeCall(IProduct.initialize, (deployment(), runtime(), noLists())));
        }
        if (kind < 11) return _update();
        ProductReceiver(_people[5 + _random(3)])
            .set(ProductReceiver.Answer(_chance(30) ? 0 : _random(10)), _people[_random(5)]);
    }

    function _update() private {
        IProduct model = IProduct(_model);
        ProductRuntime memory r = ProductRuntime({
            baseURI: _chance(30) ? _text() : model.baseURI(),
            metadataUpdatable: _chance(95),
            tokensTransferable: _chance(95),
            royaltiesBps: _chance(50) ? _random(10_200) : model.royaltiesBasisPoints(),
            royaltiesAddress: _chance(50) ? _person() : model.royaltiesAddress()
        });
        _both(_staff(), abi.encodeCall(IProduct.update, (r, _randomLists(true), _chance(5))));
    }

    /// @dev Sends one call to both and compares everything that comes of it.
    function _both(address from, bytes memory data) internal {
        (bool ok, bytes memory answer, Vm.Log[] memory logs) = _send(_core, from, data);
        (bool ok2, bytes memory answer2, Vm.Log[] memory logs2) = _send(_model, from, data);
        check(ok == ok2, "one succeeded, the other did not");
        check(keccak256(answer) == keccak256(answer2), "answers differ");
        if (ok) _compareLogs(logs, logs2);
    }

    function _send(address target, address from, bytes memory data)
        private
        returns (bool ok, bytes memory answer, Vm.Log[] memory logs)
    {
        vm.recordLogs();
        vm.prank(from);
        (ok, answer) = target.call{gas: CALL_GAS}(data);
        logs = vm.getRecordedLogs();
    }

    function _compareLogs(Vm.Log[] memory core, Vm.Log[] memory model) private pure {
        (uint256 i, uint256 k) = (0, 0);
        while (true) {
            while (i < core.length && _isMetadataUpdate(core[i])) ++i;
            while (k < model.length && _isMetadataUpdate(model[k])) ++k;
            if (i == core.length || k == model.length) break;
            check(keccak256(core[i].data) == keccak256(model[k].data), "log data differ");
            check(keccak256(abi.encode(core[i].topics)) == keccak256(abi.encode(model[k].topics)), "topics differ");
            (++i, ++k);
        }
        check(i == core.length && k == model.length, "number of logs");
    }

    /// @dev ERC-4906: OpenZeppelin's also come with each mint. ERC721.t.sol tests ours.
    function _isMetadataUpdate(Vm.Log memory log) private pure returns (bool) {
        return log.topics[0] == keccak256("MetadataUpdate(uint256)")
            || log.topics[0] == keccak256("BatchMetadataUpdate(uint256,uint256)");
    }

    function _compareCommonViews() internal view {
        _same(abi.encodeCall(IProduct.NAME, ()));
        _same(abi.encodeCall(IProduct.VERSION, ()));
        _same(abi.encodeCall(IProduct.ROYALTIES_BASIS, ()));
        _same(abi.encodeCall(IProduct.name, ()));
        _same(abi.encodeCall(IProduct.symbol, ()));
        _same(abi.encodeCall(IProduct.owner, ()));
        _same(abi.encodeCall(IProduct.baseURI, ()));
        _same(abi.encodeCall(IProduct.contractURI, ()));
        _same(abi.encodeCall(IProduct.metadataUpdatable, ()));
        _same(abi.encodeCall(IProduct.tokensTransferable, ()));
        _same(abi.encodeCall(IProduct.tokensBurnable, ()));
        _same(abi.encodeCall(IProduct.royaltiesAddress, ()));
        _same(abi.encodeCall(IProduct.royaltiesBasisPoints, ()));
        uint256 salt = uint256(keccak256(abi.encode(_seed, _step)));
        _same(abi.encodeCall(IProduct.royaltyInfo, (1, salt >> (salt % 256))));
        _same(abi.encodeCall(IProduct.supportsInterface, (bytes4(bytes32(salt)))));
        _same(abi.encodeCall(IProduct.getRoleAdmin, (_roles[salt % 8])));
        for (uint256 i; i < _people.length; ++i) {
            _same(abi.encodeCall(IProduct.hasRole, (_roles[(salt >> i) % 8], _people[i])));
        }
    }

    /// @dev Who has which role, all of it.
    function _compareRoles() internal view {
        for (uint256 i; i < _people.length; ++i) {
            for (uint256 k; k < _roles.length; ++k) {
                _same(abi.encodeCall(IProduct.hasRole, (_roles[k], _people[i])));
            }
        }
    }

    function _same(bytes memory question) internal view {
        (bool ok, bytes memory answer) = _core.staticcall(question);
        (bool ok2, bytes memory answer2) = _model.staticcall(question);
        check(ok == ok2 && keccak256(answer) == keccak256(answer2), "a view differs");
    }

    // ------------------------------------------------------------------ chance

    function _random(uint256 below) internal returns (uint256) {
        _seed = uint256(keccak256(abi.encode(_seed)));
        return _seed % below;
    }

    function _chance(uint256 percent) internal returns (bool) {
        return _random(100) < percent;
    }

    function _person() internal returns (address) {
        return _people[_random(_people.length)];
    }

    function _to() internal returns (address) {
        return _chance(3) ? address(0) : _person();
    }

    /// @dev Somebody who probably may: the owner, the service, or else anybody.
    function _staff() internal returns (address) {
        return _chance(45) ? IProduct(_model).owner() : _chance(60) ? _service : _person();
    }

    function _text() internal returns (string memory) {
        return _chance(30) ? CID_URI : _texts[_random(_texts.length)];
    }

    function _role() private returns (bytes32) {
        return _roles[_random(_roles.length)];
    }
}
