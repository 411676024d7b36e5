// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Base64} from "@openzeppelin/contracts/utils/Base64.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ContractInfo, DeploymentConfig, RuntimeConfig} from "../CollectionTypes.sol";
import {ICollection} from "../ICollection.sol";
import {Args, CollectionArgs} from "./CollectionArgs.sol";
import {CollectionSale} from "./CollectionSale.sol";
import {ConfigRules} from "./ConfigRules.sol";
import {HotWord} from "./HotWord.sol";

/// @title Configuration: how a collection begins, what of it changes, and how it is read.
abstract contract CollectionCore is CollectionSale {
    /// @inheritdoc ICollection
    uint256 public constant VERSION = 2_00_00;
    /// @inheritdoc ICollection
    uint16 public constant ROYALTIES_BASIS = 10_000;

    bytes32 private constant BATCH_METADATA_UPDATE = keccak256("BatchMetadataUpdate(uint256,uint256)");
    bytes32 private constant CONTRACT_URI_UPDATED = keccak256("ContractURIUpdated()");

    /// @inheritdoc ICollection
    function updateConfig(RuntimeConfig calldata newConfig) external {
        uint256 hot = _requireRole(ADMIN_ROLE);
        Args memory args = _args();
        ConfigRules.checkRoyalties(newConfig.royaltiesBps);
        (uint256 oldPrice, uint256 oldStart) = _presaleTerms(hot, args);
        if (hot & HotWord.PUBLIC_PRICE_FROZEN != 0) {
            require(newConfig.publicMintPrice == HotWord.price(hot), "publicMintPrice is frozen");
            require(newConfig.publicMintPriceFrozen, "publicMintPriceFrozen is frozen");
        }
        if (hot & HotWord.PRESALE_PRICE_FROZEN != 0) {
            require(newConfig.presaleMintPrice == oldPrice, "presaleMintPrice is frozen");
            require(newConfig.presaleMintPriceFrozen, "presaleMintPriceFrozen is frozen");
        }
        bool newBase = !_same(newConfig.baseURI, _baseURI(hot, args));
        bool newPrereveal = !_same(newConfig.prerevealTokenURI, _prerevealURI(hot, args));
        if (hot & HotWord.UPDATABLE == 0) {
            require(!newConfig.metadataUpdatable, "Cannot unfreeze metadata");
            require(!newBase && !newPrereveal, "Metadata is frozen");
        }
        ConfigRules.checkSales(
            newConfig.publicMintPrice, newConfig.presaleMintPrice, newConfig.publicMintStart, newConfig.presaleMintStart
        );
        require(
            bytes(newConfig.baseURI).length + bytes(newConfig.prerevealTokenURI).length
                <= CollectionArgs.MAX_STRING_BYTES,
            "Strings too long"
        );

        if (newBase) {
            _movedBaseURI = _storeText(newConfig.baseURI);
            hot |= HotWord.BASE_URI_MOVED;
        }
        if (newPrereveal) {
            _movedPrerevealURI = _storeText(newConfig.prerevealTokenURI);
            hot |= HotWord.PREREVEAL_MOVED;
        }
        if (newConfig.presaleMintPrice != oldPrice || HotWord.storedTime(newConfig.presaleMintStart) != oldStart) {
            _movedPresale = _joinPresale(newConfig.presaleMintPrice, HotWord.storedTime(newConfig.presaleMintStart));
            hot |= HotWord.PRESALE_MOVED;
        }
        if (newConfig.presaleMerkleRoot != _presaleRoot(hot, args)) {
            _movedRoot = newConfig.presaleMerkleRoot;
            hot |= HotWord.ROOT_MOVED;
        }
        bool newRoyalties;
        {
            (uint256 oldBps, address oldReceiver) = _royalties(hot, args);
            newRoyalties = newConfig.royaltiesBps != oldBps || newConfig.royaltiesAddress != oldReceiver;
        }
        if (newRoyalties) {
            _movedRoyalties = newConfig.royaltiesBps | (uint256(uint160(newConfig.royaltiesAddress)) << 16);
            hot |= HotWord.ROYALTIES_MOVED;
        }
        hot = HotWord.withPublicSale(hot, newConfig.publicMintPrice, HotWord.storedTime(newConfig.publicMintStart));
        hot = HotWord.withFreezes(
            hot, newConfig.metadataUpdatable, newConfig.publicMintPriceFrozen, newConfig.presaleMintPriceFrozen
        );
        _setHot(hot);
        if (newBase || newPrereveal) _logUriChange(HotWord.minted(hot));
        if (newRoyalties) _logRoyaltyChange();
    }

    // -------------------------------------------------------------- reading

    /// @inheritdoc ICollection
    function getInfo() external view returns (ContractInfo memory info) {
        uint256 hot = _hot;
        Args memory args = _args();
        info.version = VERSION;
        info.deploymentConfig = DeploymentConfig({
            name: args.name,
            symbol: args.symbol,
            owner: _owner(hot),
            maxSupply: HotWord.maxSupply(hot),
            reservedSupply: args.reservedSupply,
            tokensPerMint: _tokensPerMint(hot, args),
            treasuryAddress: payable(args.treasury)
        });
        info.runtimeConfig = _runtimeConfig(hot, args);
    }

    /// @inheritdoc ICollection
    function name() external view returns (string memory) {
        return _args().name;
    }

    /// @inheritdoc ICollection
    function symbol() external view returns (string memory) {
        return _args().symbol;
    }

    /// @inheritdoc ICollection
    function baseURI() external view returns (string memory) {
        return _baseURI(_hot, _args());
    }

    /// @inheritdoc ICollection
    function prerevealTokenURI() external view returns (string memory) {
        return _prerevealURI(_hot, _args());
    }

    /// @inheritdoc ICollection
    function tokenURI(uint256 tokenId) external view returns (string memory) {
        require(_exists(tokenId), "Token does not exist");
        uint256 hot = _hot;
        Args memory args = _args();
        string memory base = _baseURI(hot, args);
        if (bytes(base).length == 0) return _prerevealURI(hot, args);
        return string.concat(base, Strings.toString(tokenId));
    }

    /// @inheritdoc ICollection
    function contractURI() external view returns (string memory) {
        (uint256 bps, address receiver) = _royalties(_hot, _args());
        bytes memory json = abi.encodePacked(
            '{"seller_fee_basis_points": ',
            Strings.toString(bps),
            ', "fee_recipient": "',
            Strings.toHexString(receiver),
            '"}'
        );
        return string.concat("data:application/json;base64,", Base64.encode(json));
    }

    /// @inheritdoc ICollection
    function royaltyInfo(uint256 tokenId, uint256 salePrice)
        external
        view
        returns (address receiver, uint256 royaltyAmount)
    {
        tokenId; // one rate for all tokens; the name is part of the ABI
        uint256 bps;
        (bps, receiver) = _royalties(_hot, _args());
        royaltyAmount = (salePrice * bps) / ROYALTIES_BASIS;
    }

    /// @inheritdoc ICollection
    function supportsInterface(bytes4 interfaceId) external view returns (bool) {
        // ERC-165, ERC-721, ERC-721 metadata, AccessControl, ERC-2981, ERC-4906
        return interfaceId == 0x01ffc9a7 || interfaceId == 0x80ac58cd || interfaceId == 0x5b5e139f
            || interfaceId == 0x7965db0b || interfaceId == 0x2a55205a || interfaceId == 0x49064906;
    }

    /// @inheritdoc ICollection
    function maxSupply() external view returns (uint256) {
        return HotWord.maxSupply(_hot);
    }

    /// @inheritdoc ICollection
    function reserveRemaining() external view returns (uint256) {
        return HotWord.reserve(_hot);
    }

    /// @inheritdoc ICollection
    function reservedSupply() external view returns (uint256) {
        return _args().reservedSupply;
    }

    /// @inheritdoc ICollection
    function tokensPerMint() external view returns (uint256) {
        return _tokensPerMint(_hot, _args());
    }

    /// @inheritdoc ICollection
    function treasuryAddress() external view returns (address payable) {
        return _treasury();
    }

    /// @inheritdoc ICollection
    function metadataUpdatable() external view returns (bool) {
        return _hot & HotWord.UPDATABLE != 0;
    }

    /// @inheritdoc ICollection
    function publicMintPrice() external view returns (uint256) {
        return HotWord.price(_hot);
    }

    /// @inheritdoc ICollection
    function publicMintStart() external view returns (uint256) {
        return HotWord.givenTime(HotWord.start(_hot));
    }

    /// @inheritdoc ICollection
    function presaleMintPrice() external view returns (uint256) {
        (uint256 price,,) = _presale(_hot);
        return price;
    }

    /// @inheritdoc ICollection
    function presaleMintStart() external view returns (uint256) {
        (, uint256 start,) = _presale(_hot);
        return HotWord.givenTime(start);
    }

    /// @inheritdoc ICollection
    function presaleMerkleRoot() external view returns (bytes32) {
        (,, bytes32 root) = _presale(_hot);
        return root;
    }

    // -------------------------------------------------------------- inside

    /// @dev Stores the first hot word and says who has which role.
    function _begin(uint256 hot, address firstOwner, bool grantServiceAdmin) internal {
        address serviceAdmin = _serviceAdmin();
        bool grants = grantServiceAdmin && serviceAdmin != firstOwner;
        _setHot(hot | (grants ? HotWord.SERVICE_IS_ADMIN : 0));
        emit RoleGranted(ADMIN_ROLE, firstOwner, msg.sender);
        emit RoleGranted(DEFAULT_ADMIN_ROLE, firstOwner, msg.sender);
        emit OwnershipTransferred(address(0), firstOwner);
        if (grants) emit RoleGranted(ADMIN_ROLE, serviceAdmin, msg.sender);
        emit Initialized(1);
    }

    function _runtimeConfig(uint256 hot, Args memory args) private view returns (RuntimeConfig memory config) {
        config.baseURI = _baseURI(hot, args);
        config.metadataUpdatable = hot & HotWord.UPDATABLE != 0;
        config.publicMintPrice = HotWord.price(hot);
        config.publicMintPriceFrozen = hot & HotWord.PUBLIC_PRICE_FROZEN != 0;
        config.presaleMintPriceFrozen = hot & HotWord.PRESALE_PRICE_FROZEN != 0;
        config.publicMintStart = HotWord.givenTime(HotWord.start(hot));
        (config.presaleMintPrice, config.presaleMintStart) = _presaleTerms(hot, args);
        config.presaleMintStart = HotWord.givenTime(config.presaleMintStart);
        config.presaleMerkleRoot = _presaleRoot(hot, args);
        config.prerevealTokenURI = _prerevealURI(hot, args);
        (config.royaltiesBps, config.royaltiesAddress) = _royalties(hot, args);
    }

    /// @dev Presale price, and start in stored form.
    function _presaleTerms(uint256 hot, Args memory args) private view returns (uint256 price, uint256 start) {
        if (hot & HotWord.PRESALE_MOVED == 0) return (args.presalePrice, args.presaleStart);
        return _splitPresale(_movedPresale);
    }

    function _presaleRoot(uint256 hot, Args memory args) private view returns (bytes32) {
        return hot & HotWord.ROOT_MOVED == 0 ? args.presaleRoot : _movedRoot;
    }

    function _baseURI(uint256 hot, Args memory args) private view returns (string memory) {
        return hot & HotWord.BASE_URI_MOVED == 0 ? args.baseURI : _loadText(_movedBaseURI);
    }

    function _prerevealURI(uint256 hot, Args memory args) private view returns (string memory) {
        return hot & HotWord.PREREVEAL_MOVED == 0 ? args.prerevealTokenURI : _loadText(_movedPrerevealURI);
    }

    function _royalties(uint256 hot, Args memory args) private view returns (uint256 bps, address receiver) {
        if (hot & HotWord.ROYALTIES_MOVED == 0) return (args.royaltiesBps, args.royaltiesAddress);
        uint256 moved = _movedRoyalties;
        return (uint16(moved), address(uint160(moved >> 16)));
    }

    function _tokensPerMint(uint256 hot, Args memory args) private pure returns (uint256 perMint) {
        perMint = HotWord.perMint(hot);
        if (perMint == HotWord.PER_MINT_IN_ARGS) perMint = args.tokensPerMint;
    }

    /// @dev The zero address stands for the empty text.
    function _storeText(string memory text) private returns (address) {
        return bytes(text).length == 0 ? address(0) : _store(bytes(text));
    }

    function _loadText(address blob) private view returns (string memory) {
        return blob == address(0) ? "" : string(_code(blob, 1, blob.code.length - 1));
    }

    function _same(string calldata a, string memory b) private pure returns (bool) {
        return bytes(a).length == bytes(b).length && keccak256(bytes(a)) == keccak256(bytes(b));
    }

    /// @dev ERC-4906, for ids 0 to `minted`-1; declared as an event it would be in the ABI.
    function _logUriChange(uint256 minted) private {
        bytes32 topic = BATCH_METADATA_UPDATE;
        if (minted == 0) return;
        assembly ("memory-safe") {
            mstore(0, 0)
            mstore(32, sub(minted, 1))
            log1(0, 64, topic)
        }
    }

    /// @dev ERC-7572, since `contractURI` holds the royalties.
    function _logRoyaltyChange() private {
        bytes32 topic = CONTRACT_URI_UPDATED;
        assembly ("memory-safe") {
            log1(0, 0, topic)
        }
    }
}
