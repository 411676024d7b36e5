// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DeploymentConfig, RuntimeConfig} from "../src/CollectionTypes.sol";
import {ICollection} from "../src/ICollection.sol";
import {Reference} from "./reference/Reference.sol";
import {Mute, Receiver, Treasury} from "./support/Actors.sol";
import {Fixture} from "./support/Fixture.sol";
import {Merkle} from "./support/Merkle.sol";
import {Vm, vm} from "./support/Vm.sol";

/// @title V25: the core and the reference model answer every call alike (and with it most of V1 to V20).
/// @dev Each run deploys one configuration twice and sends both the same random calls. Compared after each call:
///   success, answer or revert data, logs, balance and every view. A run is a function of its seed.
contract DifferentialTest is Fixture {
    uint256 internal constant CALLS_PER_RUN = 64;
    uint256 internal constant CALL_GAS = 12_000_000;

    ICollection private _core;
    ICollection private _model;
    uint256 private _seed;
    uint256 private _paid;
    uint256 private _withdrawn;
    uint256 private _step;
    address[] private _people;
    address[][] private _lists;
    string[] private _texts;

    /// @notice V25, V1, V2, V18.
    function testFuzz_theCoreAgreesWithTheReferenceModel(uint256 seed) external {
        _seed = seed;
        _gatherPeople();
        _deployBoth();
        _compareViews();
        for (_step = 1; _step <= CALLS_PER_RUN; ++_step) {
            _randomCall();
            _compareViews();
            if (_step % 8 == 0) _compareTokens(0, _core.totalSupply() + 2);
        }
        _checkLedger();
    }

    // ------------------------------------------------------------------ the world

    function _gatherPeople() private {
        vm.deal(address(this), 1e30);
        _people = [OWNER, SERVICE, STRANGER, BUYER, address(0xe1), address(0xe2), address(0xe3)];
        for (uint256 i; i < 3; ++i) {
            _people.push(address(new Receiver()));
        }
        _people.push(address(new Treasury()));
        _people.push(address(new Mute()));
        _lists.push();
        _lists.push([BUYER]);
        _lists.push([BUYER, _people[4], STRANGER]);
        _lists.push([_people[7], BUYER, _people[5], _people[4], _people[8], OWNER, SERVICE]);
        bytes memory long = new bytes(300);
        for (uint256 i; i < long.length; ++i) {
            long[i] = bytes1(uint8(97 + i % 26));
        }
        _texts = ["", "x", "ipfs://", "ipfs://folder/", "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy"];
        _texts.push("https://example.org/{id}");
        _texts.push(string(long));
        _texts.push(unicode"\"quoted\" \\ 🎈");
    }

    function _deployBoth() private {
        DeploymentConfig memory d = deployment();
        RuntimeConfig memory r = _randomRuntime();
        r.metadataUpdatable = _chance(75);
        if (r.publicMintStart == 2 ** 40 - 1 || r.publicMintStart == 2 ** 40) r.publicMintStart = NOW;
        if (r.presaleMintStart == 2 ** 40 - 1 || r.presaleMintStart == 2 ** 40) r.presaleMintStart = NOW;
        d.name = _text();
        d.symbol = _text();
        d.owner = _person();
        d.maxSupply = _chance(10) ? 70_000 : 1 + _random(90);
        d.reservedSupply = _random(d.maxSupply < 20 ? d.maxSupply + 1 : 20);
        d.tokensPerMint = d.maxSupply == 70_000 ? 65_000 + _random(1_000) : 1 + _random(d.maxSupply);
        d.treasuryAddress = payable(_chance(60) ? _people[10] : _person());
        bool service = _chance(70);
        vm.recordLogs();
        bool alone = _chance(30);
        _core = alone ? standalone(d, r) : clone(d, r, service);
        Vm.Log[] memory coreLogs = vm.getRecordedLogs();
        _model = ICollection(address(new Reference(d, r, alone || service ? SERVICE : address(0))));
        Vm.Log[] memory modelLogs = vm.getRecordedLogs();
        for (uint256 i; i < modelLogs.length; ++i) {
            // The sender of a role event, a fourth topic, is who deployed.
            check(coreLogs[i].emitter == address(_core), "a log of somebody else");
            check(coreLogs[i].topics[0] == modelLogs[i].topics[0], "initial log differs");
            if (modelLogs[i].topics.length > 2) {
                check(coreLogs[i].topics[1] == modelLogs[i].topics[1], "initial log: first argument");
                check(coreLogs[i].topics[2] == modelLogs[i].topics[2], "initial log: second argument");
            }
        }
        check(coreLogs.length == modelLogs.length + (alone ? 0 : 1), "number of initial logs");
    }

    function _randomRuntime() private returns (RuntimeConfig memory r) {
        r = runtime();
        r.baseURI = _chance(50) ? "" : _text();
        r.prerevealTokenURI = _text();
        r.publicMintPrice = _chance(15) ? 0 : _random(0.02 ether);
        r.presaleMintPrice = _chance(15) ? 0 : _random(0.02 ether);
        r.publicMintPriceFrozen = _chance(50);
        r.presaleMintPriceFrozen = _chance(50);
        r.publicMintStart = _time();
        r.presaleMintStart = _time();
        r.presaleMerkleRoot = Merkle.root(_list());
        r.royaltiesBps = _random(10_000);
        r.royaltiesAddress = _chance(20) ? TREASURY : _person();
    }

    // ------------------------------------------------------------------ calls

    function _randomCall() private {
        uint256 kind = _random(100);
        address from = _person();
        if (kind < 18) return _both(from, _value(), abi.encodeCall(ICollection.mint, (_amount())));
        if (kind < 28) return _presale(from);
        if (kind < 36) {
            return _both(_adminLike(), 0, abi.encodeCall(ICollection.reserveMint, (_to(), _amount() % 41)));
        }
        if (kind < 58) return _move(from);
        if (kind < 62) return _both(_holder(), 0, abi.encodeCall(ICollection.approve, (_to(), _id())));
        if (kind < 65) {
            return _both(from, 0, abi.encodeCall(ICollection.setApprovalForAll, (_person(), _chance(60))));
        }
        if (kind < 76) return _update();
        if (kind < 80) return _withdraw();
        if (kind < 92) return _role(from);
        if (kind < 96) return vm.warp(block.timestamp + _random(2_000));
        if (kind < 97) return _both(from, 0, abi.encodeCall(ICollection.initialize, (deployment(), runtime())));
        Receiver(payable(_people[7 + _random(3)]))
            .set(Receiver.Answer(_chance(35) ? 0 : _random(14)), _person(), _chance(20));
        Treasury(payable(_people[10])).set(_chance(20));
    }

    function _presale(address from) private {
        address[] memory list = _list();
        bytes32[] memory proof = new bytes32[](_random(2));
        if (list.length != 0) {
            uint256 index = _random(list.length);
            if (_chance(80)) from = list[index];
            proof = Merkle.proof(list, index);
        }
        uint256 amount = _chance(70) ? 1 + _random(3) : _amount();
        _both(from, _value(), abi.encodeCall(ICollection.presaleMint, (amount, proof)));
    }

    function _move(address from) private {
        uint256 id = _id();
        address holder = _ownerOf(id);
        if (_chance(80)) from = holder;
        address sender = _chance(70) ? from : _person();
        uint256 kind = _random(3);
        if (kind == 0) _both(sender, 0, abi.encodeCall(ICollection.transferFrom, (from, _to(), id)));
        if (kind == 1) {
            _both(sender, 0, abi.encodeWithSignature("safeTransferFrom(address,address,uint256)", from, _to(), id));
        }
        if (kind == 2) {
            _both(
                sender,
                0,
                abi.encodeWithSignature("safeTransferFrom(address,address,uint256,bytes)", from, _to(), id, "data")
            );
        }
        _compareTokens(id < 2 ? 0 : id - 2, id > 2 ** 255 ? id : id + 3);
    }

    function _update() private {
        RuntimeConfig memory now_ = _model.getInfo().runtimeConfig;
        RuntimeConfig memory other = _randomRuntime();
        if (_chance(30)) now_.baseURI = other.baseURI;
        if (_chance(20)) now_.prerevealTokenURI = other.prerevealTokenURI;
        if (_chance(10)) now_.metadataUpdatable = !now_.metadataUpdatable;
        if (_chance(20)) now_.publicMintPrice = _chance(10) ? 2 ** 88 - _random(2) : other.publicMintPrice;
        if (_chance(20)) now_.presaleMintPrice = _chance(10) ? 2 ** 88 - _random(2) : other.presaleMintPrice;
        if (_chance(10)) now_.publicMintPriceFrozen = other.publicMintPriceFrozen;
        if (_chance(10)) now_.presaleMintPriceFrozen = other.presaleMintPriceFrozen;
        if (_chance(30)) now_.publicMintStart = other.publicMintStart;
        if (_chance(30)) now_.presaleMintStart = other.presaleMintStart;
        if (_chance(30)) now_.presaleMerkleRoot = other.presaleMerkleRoot;
        if (_chance(20)) now_.royaltiesBps = _random(10_100);
        if (_chance(20)) now_.royaltiesAddress = other.royaltiesAddress;
        _both(_adminLike(), 0, abi.encodeCall(ICollection.updateConfig, (now_)));
    }

    function _withdraw() private {
        address treasury = _core.treasuryAddress();
        uint256 before = address(_core).balance;
        _both(_adminLike(), 0, abi.encodeCall(ICollection.withdrawFees, ()));
        check(treasury == _core.treasuryAddress(), "the treasury moved");
        _withdrawn += before - address(_core).balance;
    }

    function _role(address from) private {
        uint256 kind = _random(5);
        bytes32 role = _chance(45) ? ADMIN : _chance(80) ? DEFAULT_ADMIN : keccak256("OTHER");
        if (_chance(50)) from = _model.owner();
        if (kind == 0) _both(from, 0, abi.encodeCall(ICollection.grantRole, (role, _person())));
        if (kind == 1) _both(from, 0, abi.encodeCall(ICollection.revokeRole, (role, _person())));
        if (kind == 2) {
            _both(from, 0, abi.encodeCall(ICollection.renounceRole, (role, _chance(80) ? from : _person())));
        }
        if (kind == 3) _both(from, 0, abi.encodeCall(ICollection.transferOwnership, (_to())));
        if (kind == 4) _both(_adminLike(), 0, abi.encodeCall(ICollection.transferAdminRights, (_to())));
    }

    /// @dev Sends one call to both and compares everything that comes of it.
    function _both(address from, uint256 value, bytes memory data) private {
        address origin = _chance(70) ? from : STRANGER;
        (bool ok, bytes memory answer, Vm.Log[] memory logs) = _send(_core, from, origin, value, data);
        uint256 balance = address(_core).balance;
        (bool ok2, bytes memory answer2, Vm.Log[] memory logs2) = _send(_model, from, origin, value, data);
        check(ok == ok2, "one succeeded, the other did not");
        check(keccak256(answer) == keccak256(answer2), "answers differ");
        check(balance == address(_model).balance, "balances differ");
        // Of a call that failed, the recorder keeps logs too; a receiver that calls itself for ever leaves as many as
        // the gas allows.
        if (ok) _compareLogs(logs, logs2);
    }

    function _send(ICollection target, address from, address origin, uint256 value, bytes memory data)
        private
        returns (bool ok, bytes memory answer, Vm.Log[] memory logs)
    {
        vm.deal(from, 1e24);
        vm.recordLogs();
        vm.prank(from, origin);
        (ok, answer) = address(target).call{value: value, gas: CALL_GAS}(data);
        logs = vm.getRecordedLogs();
    }

    function _compareLogs(Vm.Log[] memory core, Vm.Log[] memory model) private view {
        uint256 next;
        for (uint256 i; i < model.length; ++i) {
            if (model[i].emitter != address(_model) || _clearsApproval(model, i)) continue;
            check(next < core.length, "a log is missing");
            while (core[next].emitter != address(_core)) ++next;
            check(keccak256(core[next].data) == keccak256(model[i].data), "log data differ");
            check(keccak256(abi.encode(core[next].topics)) == keccak256(abi.encode(model[i].topics)), "topics differ");
            ++next;
        }
        check(next == core.length, "a log too many");
    }

    /// @dev erc721a's `Approval` to zero ahead of a transfer, which the core leaves out.
    function _clearsApproval(Vm.Log[] memory logs, uint256 i) private pure returns (bool) {
        if (logs[i].topics[0] != ICollection.Approval.selector || logs[i].topics[2] != 0) return false;
        if (i + 1 == logs.length || logs[i + 1].topics[0] != ICollection.Transfer.selector) return false;
        return logs[i + 1].topics[3] == logs[i].topics[3];
    }

    // ------------------------------------------------------------------ views

    function _compareViews() private view {
        _same(abi.encodeCall(ICollection.getInfo, ()));
        _same(abi.encodeCall(ICollection.name, ()));
        _same(abi.encodeCall(ICollection.symbol, ()));
        _same(abi.encodeCall(ICollection.owner, ()));
        _same(abi.encodeCall(ICollection.maxSupply, ()));
        _same(abi.encodeCall(ICollection.reservedSupply, ()));
        _same(abi.encodeCall(ICollection.reserveRemaining, ()));
        _same(abi.encodeCall(ICollection.availableSupply, ()));
        _same(abi.encodeCall(ICollection.totalSupply, ()));
        _same(abi.encodeCall(ICollection.tokensPerMint, ()));
        _same(abi.encodeCall(ICollection.treasuryAddress, ()));
        _same(abi.encodeCall(ICollection.baseURI, ()));
        _same(abi.encodeCall(ICollection.prerevealTokenURI, ()));
        _same(abi.encodeCall(ICollection.contractURI, ()));
        _same(abi.encodeCall(ICollection.metadataUpdatable, ()));
        _same(abi.encodeCall(ICollection.mintingActive, ()));
        _same(abi.encodeCall(ICollection.presaleActive, ()));
        _same(abi.encodeCall(ICollection.publicMintPrice, ()));
        _same(abi.encodeCall(ICollection.publicMintStart, ()));
        _same(abi.encodeCall(ICollection.presaleMintPrice, ()));
        _same(abi.encodeCall(ICollection.presaleMintStart, ()));
        _same(abi.encodeCall(ICollection.presaleMerkleRoot, ()));
        _same(abi.encodeCall(ICollection.VERSION, ()));
        _same(abi.encodeCall(ICollection.ADMIN_ROLE, ()));
        _same(abi.encodeCall(ICollection.DEFAULT_ADMIN_ROLE, ()));
        _same(abi.encodeCall(ICollection.ROYALTIES_BASIS, ()));
        _same(abi.encodeCall(ICollection.getRoleAdmin, (ADMIN)));
        _same(abi.encodeCall(ICollection.balanceOf, (address(0))));
        uint256 salt = uint256(keccak256(abi.encode(_seed, _step)));
        _same(abi.encodeCall(ICollection.royaltyInfo, (1, salt >> (salt % 256))));
        _same(abi.encodeCall(ICollection.supportsInterface, (bytes4(bytes32(salt)))));
        for (uint256 i; i < _people.length; ++i) {
            address person = _people[i];
            _same(abi.encodeCall(ICollection.balanceOf, (person)));
            _same(abi.encodeCall(ICollection.hasRole, (ADMIN, person)));
            _same(abi.encodeCall(ICollection.hasRole, (DEFAULT_ADMIN, person)));
            _same(abi.encodeCall(ICollection.hasRole, (keccak256("OTHER"), person)));
            _same(abi.encodeCall(ICollection.isApprovedForAll, (person, _people[salt % _people.length])));
        }
        address[] memory list = _lists[1 + salt % 3];
        uint256 index = (salt >> 8) % list.length;
        _same(abi.encodeCall(ICollection.isWhitelisted, (list[index], Merkle.proof(list, index))));
    }

    function _compareTokens(uint256 from, uint256 to) private view {
        for (uint256 id = from; id < to; ++id) {
            _same(abi.encodeCall(ICollection.ownerOf, (id)));
            _same(abi.encodeCall(ICollection.getApproved, (id)));
            if (id % 7 == 0) _same(abi.encodeCall(ICollection.tokenURI, (id)));
        }
    }

    function _same(bytes memory question) private view {
        (bool ok, bytes memory answer) = address(_core).staticcall(question);
        (bool ok2, bytes memory answer2) = address(_model).staticcall(question);
        check(ok == ok2 && keccak256(answer) == keccak256(answer2), "a view differs");
    }

    /// @dev V1 and V2 of the core alone, at the end of a run.
    function _checkLedger() private view {
        uint256 minted = _core.totalSupply();
        check(minted + _core.reserveRemaining() <= _core.maxSupply(), "V1: minted + reserve <= max");
        uint256 held;
        for (uint256 i; i < _people.length; ++i) {
            held += _core.balanceOf(_people[i]);
        }
        check(held == minted, "V1: sum of balances = minted");
    }

    // ------------------------------------------------------------------ dice

    function _random(uint256 below) private returns (uint256) {
        _seed = uint256(keccak256(abi.encode(_seed)));
        return _seed % below;
    }

    function _chance(uint256 percent) private returns (bool) {
        return _random(100) < percent;
    }

    function _person() private returns (address) {
        return _people[_random(_people.length)];
    }

    function _to() private returns (address) {
        return _chance(3) ? address(0) : _person();
    }

    function _adminLike() private returns (address) {
        return _chance(40) ? _model.owner() : _chance(40) ? SERVICE : _person();
    }

    function _id() private returns (uint256) {
        return _chance(3) ? NEVER - _random(2) : _random(_model.totalSupply() + 2);
    }

    function _ownerOf(uint256 id) private returns (address) {
        try _model.ownerOf(id) returns (address owner) {
            return owner;
        } catch {
            return _person();
        }
    }

    function _holder() private returns (address) {
        return _chance(70) ? _ownerOf(_id()) : _person();
    }

    function _amount() private returns (uint256) {
        uint256 perMint = _model.tokensPerMint();
        if (_chance(4)) return [uint256(2 ** 128), 2 ** 128 + 1, NEVER, 2 ** 32][_random(4)];
        if (_chance(10)) return perMint + 1;
        return _random(perMint > 45 ? 46 : perMint + 1);
    }

    function _value() private returns (uint256) {
        return _chance(50) ? 1 ether : _chance(50) ? 0 : _random(0.1 ether);
    }

    function _time() private returns (uint256) {
        uint256 kind = _random(10);
        if (kind == 0) return NEVER;
        if (kind == 1) return 0;
        if (kind == 2) return 2 ** 40 - 2 + _random(3);
        return NOW - 1_000 + _random(3_000);
    }

    function _text() private returns (string memory) {
        return _texts[_random(_texts.length)];
    }

    function _list() private returns (address[] memory) {
        return _lists[_random(_lists.length)];
    }
}
