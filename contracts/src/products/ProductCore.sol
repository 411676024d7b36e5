// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Base64} from "@openzeppelin/contracts/utils/Base64.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {CodeBlob} from "../core/CodeBlob.sol";
import {CidText} from "./CidText.sol";
import {IProduct} from "./IProduct.sol";
import {Args, ProductArgs} from "./ProductArgs.sol";
import {ProductRoles} from "./ProductRoles.sol";
import {ProductRuntime, RolesAddresses} from "./ProductTypes.sol";
import {ProductWord} from "./ProductWord.sol";

/// @title What both kinds of products share: configuration, URIs of tokens, the lock.
/// @dev Name, symbol, first base URI and first royalties are packed into contract code (ProductArgs.sol); a value that
///   `update` replaced has a slot, and its flag in the hot word.
abstract contract ProductCore is ProductRoles {
    /// @inheritdoc IProduct
    uint16 public constant ROYALTIES_BASIS = 10_000;

    /// @dev Slot 4; its code is the base URI. Zero stands for the empty text.
    address private _movedBaseURI;
    /// @dev Slot 5: royalty bps 16, receiver 160.
    uint256 private _movedRoyalties;
    /// @dev Slots 6 and 7: a token's URI is its digest here (CidText.sol), or if that is zero, its text there.
    mapping(uint256 id => bytes32 digest) private _digests;
    mapping(uint256 id => string text) private _texts;
    // No names: they would be part of the getter, and the ABI is closed.
    /// @inheritdoc IProduct
    /// @dev Slot 8. Outlives the token: an id that is minted again is frozen still.
    mapping(uint256 => bool) public freezeTokenUris; // solhint-disable-line named-parameters-mapping

    bool private transient _locked;

    /// @dev The code that carries the packed arguments, and where in it they begin; the zero address for a contract without any.
    function _argsCode() internal view virtual returns (address holder, uint256 offset);

    /// @dev Is told that all token URIs changed.
    function _baseUriChanged() internal virtual;

    /// @dev What `update` says to another base URI when metadata is frozen.
    function _frozenMetadata() internal pure virtual returns (string memory);

    /// @inheritdoc IProduct
    function update(
        ProductRuntime calldata newConfig,
        RolesAddresses[] calldata rolesAddresses,
        bool isRevokeNFTPortPermissions
    ) external {
        uint256 hot = _requireRole(UPDATE_CONTRACT_ROLE);
        Args memory args = _args();
        bool newBase = keccak256(bytes(newConfig.baseURI)) != keccak256(bytes(_baseURI(hot, args)));
        require(!newBase || hot & ProductWord.METADATA_UPDATABLE != 0, _frozenMetadata());
        _checkRoyalties(newConfig.royaltiesBps);
        if (newBase) {
            _movedBaseURI = _storeText(newConfig.baseURI);
            hot |= ProductWord.BASE_URI_MOVED;
            _baseUriChanged();
        }
        (uint256 bps, address receiver) = _royalties(hot, args);
        if (newConfig.royaltiesBps != bps || newConfig.royaltiesAddress != receiver) {
            _movedRoyalties = newConfig.royaltiesBps | (uint256(uint160(newConfig.royaltiesAddress)) << 16);
            hot |= ProductWord.ROYALTIES_MOVED;
        }
        if (!newConfig.tokensTransferable) hot &= ~ProductWord.TOKENS_TRANSFERABLE;
        if (!newConfig.metadataUpdatable && hot & ProductWord.METADATA_UPDATABLE != 0) {
            hot &= ~ProductWord.METADATA_UPDATABLE;
            emit PermanentURIGlobal();
        }
        if (rolesAddresses.length != 0) {
            require(_hasRole(hot, ADMIN_ROLE, msg.sender), "GranularRoles: not an admin");
            hot = _setLists(hot, rolesAddresses);
        }
        if (isRevokeNFTPortPermissions) hot = _endInitialiser(hot);
        _hot = hot;
    }

    // -------------------------------------------------------------- reading

    /// @inheritdoc IProduct
    function name() external view returns (string memory) {
        return _args().name;
    }

    /// @inheritdoc IProduct
    function symbol() external view returns (string memory) {
        return _args().symbol;
    }

    /// @inheritdoc IProduct
    function baseURI() external view returns (string memory) {
        return _baseURI();
    }

    /// @inheritdoc IProduct
    function metadataUpdatable() external view returns (bool) {
        return _hot & ProductWord.METADATA_UPDATABLE != 0;
    }

    /// @inheritdoc IProduct
    function tokensTransferable() external view returns (bool) {
        return _hot & ProductWord.TOKENS_TRANSFERABLE != 0;
    }

    /// @inheritdoc IProduct
    function tokensBurnable() external view returns (bool) {
        return _hot & ProductWord.TOKENS_BURNABLE != 0;
    }

    /// @inheritdoc IProduct
    function royaltiesBasisPoints() external view returns (uint256) {
        (uint256 bps,) = _royalties(_hot, _args());
        return bps;
    }

    /// @inheritdoc IProduct
    function royaltiesAddress() external view returns (address) {
        (, address receiver) = _royalties(_hot, _args());
        return receiver;
    }

    /// @inheritdoc IProduct
    function royaltyInfo(uint256, uint256 salePrice) external view returns (address, uint256) {
        (uint256 bps, address receiver) = _royalties(_hot, _args());
        return (receiver, (bps * salePrice) / ROYALTIES_BASIS);
    }

    /// @inheritdoc IProduct
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

    // -------------------------------------------------------------- inside

    /// @dev Stores the first hot word and tells who has which role. The texts are in contract code already.
    function _begin(
        address firstOwner,
        bool burnable,
        bool updatable,
        bool transferable,
        uint256 royaltiesBps,
        RolesAddresses[] memory lists
    ) internal {
        _checkRoyalties(royaltiesBps);
        uint256 hot = ProductWord.INITIALIZED | uint160(firstOwner);
        if (burnable) hot |= ProductWord.TOKENS_BURNABLE;
        if (updatable) hot |= ProductWord.METADATA_UPDATABLE;
        if (transferable) hot |= ProductWord.TOKENS_TRANSFERABLE;
        _hot = _beginRoles(hot, lists);
        emit Initialized(1);
    }

    function _checkRoyalties(uint256 bps) private pure {
        require(bps <= ROYALTIES_BASIS, "Cannot set royalties to over 100%");
    }

    function _args() private view returns (Args memory args) {
        (address holder, uint256 offset) = _argsCode();
        if (holder == address(0)) return args;
        return ProductArgs.unpack(CodeBlob.read(holder, offset, holder.code.length - offset));
    }

    function _baseURI() internal view returns (string memory) {
        return _baseURI(_hot, _args());
    }

    function _baseURI(uint256 hot, Args memory args) private view returns (string memory) {
        return hot & ProductWord.BASE_URI_MOVED == 0 ? args.baseURI : _loadText(_movedBaseURI);
    }

    function _royalties(uint256 hot, Args memory args) private view returns (uint256 bps, address receiver) {
        if (hot & ProductWord.ROYALTIES_MOVED == 0) return (args.royaltiesBps, args.royaltiesAddress);
        uint256 moved = _movedRoyalties;
        return (uint16(moved), address(uint160(moved >> 16)));
    }

    /// @dev The zero address stands for the empty text.
    function _storeText(string memory text) internal returns (address) {
        require(bytes(text).length <= ProductArgs.MAX_STRING_BYTES, "Strings too long");
        return bytes(text).length == 0 ? address(0) : CodeBlob.store(bytes(text));
    }

    function _loadText(address blob) internal view returns (string memory) {
        return blob == address(0) ? "" : string(CodeBlob.read(blob, 1, blob.code.length - 1));
    }

    /// @dev The URI that was stored for a token, as it was given; empty if none was.
    function _tokenUri(uint256 id) internal view returns (string memory) {
        bytes32 digest = _digests[id];
        return digest == 0 ? _texts[id] : CidText.write(digest);
    }

    /// @dev Stores a URI that is not empty. One that can be is kept as a digest, in one word.
    function _storeUri(uint256 id, string calldata uri) internal {
        (bool ok, bytes32 digest) = CidText.parse(uri);
        if (ok && digest != 0) {
            _digests[id] = digest;
        } else {
            if (_digests[id] != 0) delete _digests[id];
            _texts[id] = uri;
        }
    }

    function _clearUri(uint256 id) internal {
        if (_digests[id] != 0) delete _digests[id];
        // Perhaps a text lies under the digest.
        if (bytes(_texts[id]).length != 0) delete _texts[id];
    }

    // -------------------------------------------------------------- receiver callbacks

    function _checkLock() internal view {
        require(!_locked, "ReentrancyGuard: reentrant call");
    }

    /// @dev Around the callback of a mint: while it runs, all state is final and every way to mint is closed.
    modifier locked() {
        _locked = true;
        _;
        _locked = false;
    }
}
