// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Collection} from "../src/Collection.sol";
import {ContractInfo, DeploymentConfig, RuntimeConfig} from "../src/CollectionTypes.sol";
import {ICollection} from "../src/ICollection.sol";
import {Fixture} from "./support/Fixture.sol";
import {Vm, vm} from "./support/Vm.sol";

contract ConfigTest is Fixture {
    /// @dev Both ways to deploy refuse with the same words.
    function refusesDeployment(DeploymentConfig memory d, RuntimeConfig memory r, string memory reason) private {
        bytes32 want = keccak256(abi.encodeWithSignature("Error(string)", reason));
        try new Collection(d, r) {
            revert(string.concat("standalone was allowed: ", reason));
        } catch (bytes memory got) {
            check(keccak256(got) == want, string(got));
        }
        bytes memory initData = abi.encode(d, r, true);
        vm.prank(SERVICE);
        try factory.deploy(bytes32(uint256(1)), d.owner, initData) {
            revert(string.concat("clone was allowed: ", reason));
        } catch (bytes memory got) {
            check(keccak256(got) == want, string(got));
        }
    }

    function updateOf(RuntimeConfig memory r) private pure returns (bytes memory) {
        return abi.encodeCall(ICollection.updateConfig, (r));
    }

    function test_V4_deploymentRules() external {
        DeploymentConfig memory d = deployment();
        RuntimeConfig memory r = runtime();
        d.maxSupply = 0;
        refusesDeployment(d, r, "Maximum supply must be non-zero");
        d = deployment();
        d.tokensPerMint = 0;
        refusesDeployment(d, r, "Tokens per mint must be non-zero");
        d = deployment();
        d.treasuryAddress = payable(address(0));
        refusesDeployment(d, r, "Treasury address cannot be null");
        d = deployment();
        d.owner = address(0);
        refusesDeployment(d, r, "Contract must have an owner");
        d = deployment();
        d.reservedSupply = d.maxSupply + 1;
        refusesDeployment(d, r, "Reserve greater than supply");
        d.reservedSupply = d.maxSupply;
        clone(d, r, true);
        d.tokensPerMint = d.maxSupply + 1;
        refusesDeployment(d, r, "Tokens per mint greater than supply");
        d.tokensPerMint = d.maxSupply;
        clone(d, r, true);
    }

    function test_V12_supplyLimit() external {
        DeploymentConfig memory d = deployment();
        RuntimeConfig memory r = runtime();
        d.maxSupply = 2 ** 32;
        refusesDeployment(d, r, "Supply too large");
        (d.maxSupply, d.reservedSupply, d.tokensPerMint) = (2 ** 32 - 1, 2 ** 32 - 2, 2 ** 32 - 1);
        ICollection[2] memory all = [clone(d, r, true), standalone(d, r)];
        for (uint256 i; i < 2; ++i) {
            check(all[i].maxSupply() == 2 ** 32 - 1 && all[i].reservedSupply() == 2 ** 32 - 2, "largest supply");
            check(all[i].tokensPerMint() == 2 ** 32 - 1 && all[i].availableSupply() == 1, "largest amount");
        }
    }

    function test_V12_V4_runtimeLimitsAtDeploymentAndUpdate() external {
        DeploymentConfig memory d = deployment();
        RuntimeConfig memory r = runtime();
        (r.publicMintPriceFrozen, r.presaleMintPriceFrozen) = (false, false);
        ICollection c = clone(d, r, true);
        r.royaltiesBps = 10_001;
        refusesDeployment(d, r, "Royalties too high");
        refuses(OWNER, c, 0, updateOf(r), "Royalties too high");
        r.royaltiesBps = 10_000;
        r.publicMintPrice = 2 ** 88;
        refusesDeployment(d, r, "Price too large");
        refuses(OWNER, c, 0, updateOf(r), "Price too large");
        r.publicMintPrice = 2 ** 88 - 1;
        r.presaleMintPrice = 2 ** 88;
        refusesDeployment(d, r, "Price too large");
        refuses(OWNER, c, 0, updateOf(r), "Price too large");
        r.presaleMintPrice = 2 ** 88 - 1;
        uint256[3] memory bad = [uint256(2 ** 40 - 1), 2 ** 40, NEVER - 1];
        for (uint256 i; i < 3; ++i) {
            r.publicMintStart = bad[i];
            refusesDeployment(d, r, "Start time too large");
            refuses(OWNER, c, 0, updateOf(r), "Start time too large");
            r.publicMintStart = 2 ** 40 - 2;
            r.presaleMintStart = bad[i];
            refusesDeployment(d, r, "Start time too large");
            refuses(OWNER, c, 0, updateOf(r), "Start time too large");
            r.presaleMintStart = 2 ** 40 - 2;
        }
        allows(OWNER, c, 0, updateOf(r));
        sameRuntime(c.getInfo().runtimeConfig, r);
        sameRuntime(clone(d, r, true).getInfo().runtimeConfig, r);
    }

    function test_V12_stringLimit() external {
        DeploymentConfig memory d = deployment();
        RuntimeConfig memory r = runtime();
        (d.name, d.symbol, r.baseURI, r.prerevealTokenURI) = (text(8_000), text(4_000), text(6_000), text(6_001));
        refusesDeployment(d, r, "Strings too long");
        d.name = text(100_000);
        refusesDeployment(d, r, "Strings too long");
        (d.name, r.prerevealTokenURI) = (text(8_000), text(6_000));
        ICollection[2] memory all = [clone(d, r, true), standalone(d, r)];
        for (uint256 i; i < 2; ++i) {
            check(same(all[i].name(), d.name) && same(all[i].symbol(), d.symbol), "longest texts");
            sameRuntime(all[i].getInfo().runtimeConfig, r);
            (r.baseURI, r.prerevealTokenURI) = (text(12_000), text(12_001));
            refuses(OWNER, all[i], 0, updateOf(r), "Strings too long");
            r.prerevealTokenURI = text(12_000);
            allows(OWNER, all[i], 0, updateOf(r));
            sameRuntime(all[i].getInfo().runtimeConfig, r);
            (r.baseURI, r.prerevealTokenURI) = (text(6_000), text(6_000));
        }
    }

    function test_V4_royaltiesNeverExceedThePriceAndNeverWrap() external {
        RuntimeConfig memory r = runtime();
        r.royaltiesBps = 10_000;
        ICollection c = clone(deployment(), r, true);
        (address receiver, uint256 royalty) = c.royaltyInfo(7, 123);
        check(receiver == ROYALTIES && royalty == 123, "all of it");
        (, royalty) = c.royaltyInfo(7, NEVER / 10_000);
        check(royalty == NEVER / 10_000, "largest price");
        (bool ok, bytes memory why) = address(c).staticcall(abi.encodeCall(ICollection.royaltyInfo, (7, NEVER / 9_999)));
        check(!ok && keccak256(why) == keccak256(abi.encodeWithSignature("Panic(uint256)", 0x11)), "overflow reverts");
    }

    function test_V8_frozenPricesAndUrisStay() external {
        RuntimeConfig memory frozen = runtime();
        (frozen.metadataUpdatable, frozen.baseURI) = (false, "ipfs://a/");
        ICollection[2] memory all = [clone(deployment(), frozen, true), standalone(deployment(), frozen)];
        for (uint256 i; i < 2; ++i) {
            ICollection c = all[i];
            RuntimeConfig memory r = abi.decode(abi.encode(frozen), (RuntimeConfig));
            r.publicMintPrice += 1;
            refuses(OWNER, c, 0, updateOf(r), "publicMintPrice is frozen");
            (r.publicMintPrice, r.publicMintPriceFrozen) = (frozen.publicMintPrice, false);
            refuses(OWNER, c, 0, updateOf(r), "publicMintPriceFrozen is frozen");
            (r.publicMintPriceFrozen, r.presaleMintPrice) = (true, 0);
            refuses(OWNER, c, 0, updateOf(r), "presaleMintPrice is frozen");
            (r.presaleMintPrice, r.presaleMintPriceFrozen) = (frozen.presaleMintPrice, false);
            refuses(OWNER, c, 0, updateOf(r), "presaleMintPriceFrozen is frozen");
            (r.presaleMintPriceFrozen, r.metadataUpdatable) = (true, true);
            refuses(OWNER, c, 0, updateOf(r), "Cannot unfreeze metadata");
            (r.metadataUpdatable, r.baseURI) = (false, "ipfs://b/");
            refuses(OWNER, c, 0, updateOf(r), "Metadata is frozen");
            (r.baseURI, r.prerevealTokenURI) = (frozen.baseURI, "ipfs://prereveaL");
            refuses(OWNER, c, 0, updateOf(r), "Metadata is frozen");
            r.prerevealTokenURI = frozen.prerevealTokenURI;
            // The rest stays changeable, and equal values may be sent again.
            (r.publicMintStart, r.presaleMintStart, r.presaleMerkleRoot) = (1, 2, bytes32(uint256(3)));
            (r.royaltiesBps, r.royaltiesAddress) = (1, STRANGER);
            allows(OWNER, c, 0, updateOf(r));
            sameRuntime(c.getInfo().runtimeConfig, r);
        }
    }

    function test_V8_freezingIsPossibleLater() external {
        RuntimeConfig memory r = runtime();
        (r.publicMintPriceFrozen, r.presaleMintPriceFrozen) = (false, false);
        ICollection c = clone(deployment(), r, true);
        (r.publicMintPrice, r.presaleMintPrice) = (1, 2);
        allows(OWNER, c, 0, updateOf(r));
        (r.publicMintPriceFrozen, r.presaleMintPriceFrozen, r.metadataUpdatable) = (true, true, false);
        allows(OWNER, c, 0, updateOf(r));
        sameRuntime(c.getInfo().runtimeConfig, r);
        check(!c.metadataUpdatable() && c.publicMintPrice() == 1 && c.presaleMintPrice() == 2, "frozen");
        r.publicMintPrice = 2;
        refuses(OWNER, c, 0, updateOf(r), "publicMintPrice is frozen");
    }

    function testFuzz_V13_everyGetterEqualsTheRequest(
        DeploymentConfig memory d,
        RuntimeConfig memory r,
        bool service,
        bool ipfs
    ) external {
        d.maxSupply = 1 + d.maxSupply % (2 ** 32 - 1);
        d.reservedSupply %= d.maxSupply + 1;
        d.tokensPerMint = 1 + d.tokensPerMint % d.maxSupply;
        if (d.owner == address(0)) d.owner = OWNER;
        if (d.treasuryAddress == address(0) || ipfs) d.treasuryAddress = payable(d.owner);
        if (ipfs) {
            r.royaltiesAddress = d.owner;
            (r.baseURI, r.prerevealTokenURI) =
            (string.concat("ipfs://", r.baseURI), string.concat("ipfs://", r.prerevealTokenURI));
        }
        (r.publicMintPrice, r.presaleMintPrice) = (r.publicMintPrice % 2 ** 88, r.presaleMintPrice % 2 ** 88);
        (r.publicMintStart, r.presaleMintStart) =
        (r.publicMintStart % (2 ** 40 - 1), r.presaleMintStart % (2 ** 40 - 1));
        r.royaltiesBps %= 10_001;
        ICollection[2] memory all = [clone(d, r, service), standalone(d, r)];
        for (uint256 i; i < 2; ++i) {
            ContractInfo memory info = all[i].getInfo();
            check(info.version == 2_00_00, "version");
            check(keccak256(abi.encode(info.deploymentConfig)) == keccak256(abi.encode(d)), "deployment record");
            sameRuntime(info.runtimeConfig, r);
            check(same(all[i].name(), d.name) && same(all[i].symbol(), d.symbol), "name, symbol");
            check(all[i].owner() == d.owner && all[i].treasuryAddress() == d.treasuryAddress, "owner, treasury");
            check(all[i].reservedSupply() == d.reservedSupply && all[i].tokensPerMint() == d.tokensPerMint, "supply");
            check(same(all[i].baseURI(), r.baseURI) && same(all[i].prerevealTokenURI(), r.prerevealTokenURI), "URIs");
            check(all[i].presaleMintPrice() == r.presaleMintPrice, "presale price");
            check(all[i].presaleMintStart() == r.presaleMintStart, "presale start");
            check(all[i].presaleMerkleRoot() == r.presaleMerkleRoot, "presale root");
            check(all[i].publicMintPrice() == r.publicMintPrice, "public price");
            check(all[i].publicMintStart() == r.publicMintStart, "public start");
        }
    }

    function test_V13_stringsOfEveryOddLength() external {
        uint256[12] memory lengths = [uint256(0), 1, 6, 7, 8, 31, 32, 33, 63, 255, 256, 1_000];
        for (uint256 i; i < lengths.length; ++i) {
            DeploymentConfig memory d = deployment();
            RuntimeConfig memory r = runtime();
            d.name = text(lengths[i]);
            d.symbol = text(lengths[lengths.length - 1 - i]);
            r.baseURI = string.concat("ipfs://", text(lengths[i]));
            r.prerevealTokenURI = i % 2 == 0 ? text(lengths[i]) : string.concat("ipfs://", text(lengths[i]));
            ICollection c = clone(d, r, true);
            check(same(c.name(), d.name) && same(c.symbol(), d.symbol), "name, symbol");
            sameRuntime(c.getInfo().runtimeConfig, r);
        }
    }

    function test_V24_tokenUriAndReveal() external {
        RuntimeConfig memory r = runtime();
        ICollection[2] memory all = [clone(), standalone(deployment(), r)];
        for (uint256 i; i < 2; ++i) {
            ICollection c = all[i];
            refuses(BUYER, c, 0, abi.encodeCall(ICollection.tokenURI, (0)), "Token does not exist");
            r.baseURI = "ipfs://early/";
            vm.recordLogs();
            allows(OWNER, c, 0, updateOf(r));
            check(vm.getRecordedLogs().length == 0, "no tokens, nothing to announce");
            r.baseURI = "";
            allows(OWNER, c, 0, updateOf(r));
            allows(BUYER, c, 1 ether, abi.encodeCall(ICollection.mint, (12)));
            check(same(c.tokenURI(11), "ipfs://prereveal"), "placeholder");
            r.baseURI = "https://example.org/folder/";
            vm.recordLogs();
            allows(OWNER, c, 0, updateOf(r));
            announced(vm.getRecordedLogs(), 1, 11);
            check(same(c.tokenURI(0), "https://example.org/folder/0"), "first");
            check(same(c.tokenURI(11), "https://example.org/folder/11"), "two digits, no suffix");
            r.prerevealTokenURI = "ipfs://other";
            vm.recordLogs();
            allows(OWNER, c, 0, updateOf(r));
            announced(vm.getRecordedLogs(), 1, 11);
            r.baseURI = "";
            allows(OWNER, c, 0, updateOf(r));
            check(same(c.tokenURI(11), "ipfs://other"), "hidden again");
            r.prerevealTokenURI = "";
            allows(OWNER, c, 0, updateOf(r));
            check(same(c.tokenURI(11), ""), "no URI at all");
            r.prerevealTokenURI = "ipfs://prereveal";
        }
    }

    function test_V24_royaltyChangesAreAnnounced() external {
        RuntimeConfig memory r = runtime();
        ICollection c = clone();
        r.royaltiesBps = 501;
        vm.recordLogs();
        allows(OWNER, c, 0, updateOf(r));
        Vm.Log[] memory logs = vm.getRecordedLogs();
        check(logs.length == 1 && logs[0].topics.length == 1 && logs[0].data.length == 0, "one bare log");
        check(logs[0].topics[0] == keccak256("ContractURIUpdated()"), "ERC-7572");
        r.royaltiesAddress = STRANGER;
        vm.recordLogs();
        allows(OWNER, c, 0, updateOf(r));
        check(vm.getRecordedLogs().length == 1, "receiver too");
        vm.recordLogs();
        allows(OWNER, c, 0, updateOf(r));
        check(vm.getRecordedLogs().length == 0, "the same again says nothing");
    }

    function announced(Vm.Log[] memory logs, uint256 count, uint256 last) private pure {
        check(logs.length == count && logs[0].topics.length == 1, "one bare log");
        check(logs[0].topics[0] == keccak256("BatchMetadataUpdate(uint256,uint256)"), "ERC-4906");
        check(keccak256(logs[0].data) == keccak256(abi.encode(0, last)), "ids 0 to minted-1");
    }

    function text(uint256 length) private pure returns (string memory) {
        bytes memory b = new bytes(length);
        for (uint256 i; i < length; ++i) {
            b[i] = bytes1(uint8(97 + i % 26));
        }
        return string(b);
    }

    function same(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }

    function sameRuntime(RuntimeConfig memory a, RuntimeConfig memory b) private pure {
        check(keccak256(abi.encode(a)) == keccak256(abi.encode(b)), "runtime record");
    }
}
