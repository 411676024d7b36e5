// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {IERC721Product} from "./IERC721Product.sol";
import {IProduct} from "./IProduct.sol";
import {ProductCore} from "./ProductCore.sol";
import {ProductWord} from "./ProductWord.sol";

/// @title Tokens of an ERC-721 product: minted one by one, to any id, by those who have the role.
/// @dev Token word: owner 160 | whether an account is approved for the token. Balances are in the wallet words.
abstract contract ERC721ProductCore is ProductCore, IERC721Product {
    /// @inheritdoc IProduct
    string public constant NAME = "ERC721NFTProduct";
    /// @inheritdoc IProduct
    uint256 public constant VERSION = 1_01_00;

    uint256 private constant APPROVED = 1 << 160;
    bytes32 private constant METADATA_UPDATE = keccak256("MetadataUpdate(uint256)");
    bytes32 private constant BATCH_METADATA_UPDATE = keccak256("BatchMetadataUpdate(uint256,uint256)");

    /// @dev Slots 9 to 11.
    mapping(uint256 id => uint256 word) private _tokens;
    mapping(uint256 id => address account) private _approvals;
    mapping(address owner => mapping(address operator => bool)) private _operators;

    // -------------------------------------------------------------- for those with a role

    /// @inheritdoc IERC721Product
    function mintToCaller(address caller, uint256 tokenId, string calldata tokenURI) external returns (uint256) {
        uint256 hot = _requireRole(MINT_ROLE);
        _checkLock();
        require(caller != address(0), "ERC721: mint to the zero address");
        require(_tokens[tokenId] == 0, "ERC721: token already minted");
        _tokens[tokenId] = uint160(caller);
        if (bytes(tokenURI).length != 0) _storeUri(tokenId, tokenURI);
        unchecked {
            ++_wallets[caller];
            _hot = hot + ProductWord.ONE_TOKEN;
        }
        emit Transfer(address(0), caller, tokenId);
        if (caller.code.length != 0) _askMinted(caller, tokenId);
        return tokenId;
    }

    /// @inheritdoc IERC721Product
    function updateTokenUri(uint256 _tokenId, string calldata _tokenUri, bool _isFreezeTokenUri) external {
        uint256 hot = _requireRole(UPDATE_TOKEN_ROLE);
        require(_tokens[_tokenId] != 0, "Token: Token does not exist");
        require(hot & ProductWord.METADATA_UPDATABLE != 0, "Token: Metadata is frozen");
        require(!freezeTokenUris[_tokenId], "Token: Token is frozen");
        require(_isFreezeTokenUri || bytes(_tokenUri).length != 0, "Token: Token URI is missing");
        if (bytes(_tokenUri).length != 0) {
            _storeUri(_tokenId, _tokenUri);
            _logRaw(METADATA_UPDATE, abi.encode(_tokenId));
        }
        if (_isFreezeTokenUri) {
            freezeTokenUris[_tokenId] = true;
            emit PermanentURI(tokenURI(_tokenId), _tokenId);
        }
    }

    /// @inheritdoc IERC721Product
    function burn(uint256 _tokenId) external {
        uint256 hot = _requireRole(BURN_ROLE);
        require(hot & ProductWord.TOKENS_BURNABLE != 0, "Burn: Burns are disabled");
        uint256 word = _tokens[_tokenId];
        require(word != 0, "Burn: Token does not exist");
        address holder = address(uint160(word));
        require(holder == ProductWord.owner(hot), "Burn: not held by contract owner");
        delete _tokens[_tokenId];
        _clearUri(_tokenId);
        unchecked {
            --_wallets[holder];
            _hot = hot - ProductWord.ONE_TOKEN;
        }
        emit Transfer(holder, address(0), _tokenId);
    }

    /// @inheritdoc IERC721Product
    function transferByOwner(address _to, uint256 _tokenId) external {
        uint256 hot = _requireRole(TRANSFER_ROLE);
        require(hot & ProductWord.TOKENS_TRANSFERABLE != 0, "Transfer: Transfers are disabled");
        address holder = ProductWord.owner(hot);
        _move(holder, _to, _tokenId, _token(_tokenId));
        _askReceiver(holder, _to, _tokenId, "");
    }

    // -------------------------------------------------------------- for holders

    /// @inheritdoc IERC721Product
    function approve(address to, uint256 tokenId) external {
        uint256 word = _token(tokenId);
        address holder = address(uint160(word));
        require(to != holder, "ERC721: approval to current owner");
        require(
            msg.sender == holder || _operators[holder][msg.sender],
            "ERC721: approve caller is not token owner or approved for all"
        );
        if (to != address(0)) {
            _approvals[tokenId] = to;
            word |= APPROVED;
        } else {
            word &= ~APPROVED;
        }
        _tokens[tokenId] = word;
        emit Approval(holder, to, tokenId);
    }

    /// @inheritdoc IProduct
    function setApprovalForAll(address operator, bool approved) external {
        require(operator != msg.sender, "ERC721: approve to caller");
        _operators[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    /// @inheritdoc IERC721Product
    function transferFrom(address from, address to, uint256 tokenId) public {
        uint256 word = _token(tokenId);
        address holder = address(uint160(word));
        require(
            msg.sender == holder || _operators[holder][msg.sender] || _approved(tokenId, word) == msg.sender,
            "ERC721: caller is not token owner or approved"
        );
        _move(from, to, tokenId, word);
    }

    /// @inheritdoc IERC721Product
    function safeTransferFrom(address from, address to, uint256 tokenId) external {
        transferFrom(from, to, tokenId);
        _askReceiver(from, to, tokenId, "");
    }

    /// @inheritdoc IERC721Product
    function safeTransferFrom(address from, address to, uint256 tokenId, bytes calldata data) external {
        transferFrom(from, to, tokenId);
        _askReceiver(from, to, tokenId, data);
    }

    // -------------------------------------------------------------- reading

    /// @inheritdoc IERC721Product
    function balanceOf(address owner) external view returns (uint256) {
        require(owner != address(0), "ERC721: address zero is not a valid owner");
        return uint64(_wallets[owner]);
    }

    /// @inheritdoc IERC721Product
    function totalSupply() external view returns (uint256) {
        return ProductWord.tokens(_hot);
    }

    /// @inheritdoc IERC721Product
    function ownerOf(uint256 tokenId) external view returns (address) {
        return address(uint160(_token(tokenId)));
    }

    /// @inheritdoc IERC721Product
    function getApproved(uint256 tokenId) external view returns (address) {
        return _approved(tokenId, _token(tokenId));
    }

    /// @inheritdoc IERC721Product
    function isApprovedForAll(address owner, address operator) external view returns (bool) {
        return _operators[owner][operator];
    }

    /// @inheritdoc IERC721Product
    function tokenURI(uint256 tokenId) public view returns (string memory) {
        _token(tokenId);
        string memory base = _baseURI();
        string memory uri = _tokenUri(tokenId);
        if (bytes(uri).length != 0) return string.concat(base, uri);
        return bytes(base).length == 0 ? "" : string.concat(base, Strings.toString(tokenId));
    }

    /// @inheritdoc IProduct
    function supportsInterface(bytes4 interfaceId) external view returns (bool) {
        // ERC-165, ERC-721, ERC-721 metadata, ERC-2981, ERC-4906
        return interfaceId == 0x01ffc9a7 || interfaceId == 0x80ac58cd || interfaceId == 0x5b5e139f
            || interfaceId == 0x2a55205a || interfaceId == 0x49064906;
    }

    // -------------------------------------------------------------- inside

    /// @dev The word of a token that exists.
    function _token(uint256 tokenId) private view returns (uint256 word) {
        word = _tokens[tokenId];
        require(word != 0, "ERC721: invalid token ID");
    }

    function _approved(uint256 tokenId, uint256 word) private view returns (address) {
        return word & APPROVED == 0 ? address(0) : _approvals[tokenId];
    }

    /// @dev Moves the token whose word is `word`; the approval ends with it.
    function _move(address from, address to, uint256 tokenId, uint256 word) private {
        require(address(uint160(word)) == from, "ERC721: transfer from incorrect owner");
        require(to != address(0), "ERC721: transfer to the zero address");
        unchecked {
            --_wallets[from];
            ++_wallets[to];
        }
        _tokens[tokenId] = uint160(to);
        emit Transfer(from, to, tokenId);
    }

    function _askMinted(address to, uint256 tokenId) private locked {
        _askReceiver(address(0), to, tokenId, "");
    }

    function _askReceiver(address from, address to, uint256 tokenId, bytes memory data) private {
        if (to.code.length == 0) return;
        try IERC721Receiver(to).onERC721Received(msg.sender, from, tokenId, data) returns (bytes4 answer) {
            require(
                answer == IERC721Receiver.onERC721Received.selector,
                "ERC721: transfer to non ERC721Receiver implementer"
            );
        } catch (bytes memory reason) {
            require(reason.length != 0, "ERC721: transfer to non ERC721Receiver implementer");
            assembly ("memory-safe") {
                revert(add(reason, 32), mload(reason))
            }
        }
    }

    function _baseUriChanged() internal override {
        // Ids are not counted up: all of them.
        _logRaw(BATCH_METADATA_UPDATE, abi.encode(0, type(uint256).max));
    }

    function _frozenMetadata() internal pure override returns (string memory) {
        return "Update: Metadata is frozen";
    }

    /// @dev ERC-4906; declared as an event it would be in the ABI.
    function _logRaw(bytes32 topic, bytes memory data) private {
        assembly ("memory-safe") {
            log1(add(data, 32), mload(data), topic)
        }
    }
}
