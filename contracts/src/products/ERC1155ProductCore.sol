// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1155Receiver} from "@openzeppelin/contracts/token/ERC1155/IERC1155Receiver.sol";
import {IERC1155Product} from "./IERC1155Product.sol";
import {IProduct} from "./IProduct.sol";
import {ProductCore} from "./ProductCore.sol";
import {ProductWord} from "./ProductWord.sol";

/// @title Tokens of an ERC-1155 product: an id is minted once, in any amount, by those who have the role.
abstract contract ERC1155ProductCore is ProductCore, IERC1155Product {
    /// @inheritdoc IProduct
    string public constant NAME = "ERC1155NFTProduct";
    /// @inheritdoc IProduct
    uint256 public constant VERSION = 1_00_01;
    /// @inheritdoc IERC1155Product
    string public constant DEFAULT_URI = "";

    // No names: they would be part of the getter, and the ABI is closed.
    /// @inheritdoc IERC1155Product
    /// @dev Slots 9 to 12; the last one's code is what `setURI` was given.
    mapping(uint256 => uint256) public tokenSupply; // solhint-disable-line named-parameters-mapping
    mapping(uint256 id => mapping(address account => uint256)) private _balances;
    mapping(address account => mapping(address operator => bool)) private _operators;
    address private _defaultUri;

    // -------------------------------------------------------------- for those with a role

    /// @inheritdoc IERC1155Product
    function mintByOwner(address account, uint256 id, uint256 amount, string calldata tokenUri) external {
        _requireRole(MINT_ROLE);
        _checkLock();
        require(tokenSupply[id] == 0, "NFT: token already minted");
        _mint(account, id, amount, tokenUri);
    }

    /// @inheritdoc IERC1155Product
    function mintByOwnerBatch(
        address[] calldata to,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        string[] calldata uris
    ) external {
        _requireRole(MINT_ROLE);
        _checkLock();
        require(
            to.length == ids.length && ids.length == amounts.length && amounts.length == uris.length,
            "Mismatched input arrays"
        );
        for (uint256 i; i < ids.length; ++i) {
            require(tokenSupply[ids[i]] == 0, "One of tokens is already minted");
            require(amounts[i] != 0, "NFT: all amounts must be > 0");
            _mint(to[i], ids[i], amounts[i], uris[i]);
        }
    }

    /// @inheritdoc IERC1155Product
    function updateTokenUri(uint256 _tokenId, string calldata _newUri, bool _isFreezeTokenUri) external {
        uint256 hot = _requireRole(UPDATE_TOKEN_ROLE);
        require(tokenSupply[_tokenId] != 0, "Token does not exist");
        require(hot & ProductWord.METADATA_UPDATABLE != 0, "Metadata is frozen");
        require(!freezeTokenUris[_tokenId], "Token is frozen");
        require(_isFreezeTokenUri || bytes(_newUri).length != 0, "Either _newUri or _isFreezeTokenUri=true required");
        if (bytes(_newUri).length != 0) {
            require(
                keccak256(bytes(_newUri)) != keccak256(bytes(_tokenUri(_tokenId))), "New token URI is same as updated"
            );
            _storeUri(_tokenId, _newUri);
            emit URI(_newUri, _tokenId);
        }
        if (_isFreezeTokenUri) {
            freezeTokenUris[_tokenId] = true;
            emit PermanentURI(_tokenUri(_tokenId), _tokenId);
        }
    }

    /// @inheritdoc IERC1155Product
    function setURI(string calldata _newURI) external {
        uint256 hot = _requireRole(UPDATE_CONTRACT_ROLE);
        require(hot & ProductWord.METADATA_UPDATABLE != 0, "Metadata is frozen");
        _defaultUri = _storeText(_newURI);
    }

    /// @inheritdoc IERC1155Product
    function burn(uint256 id, uint256 value) external {
        uint256 hot = _requireRole(BURN_ROLE);
        require(hot & ProductWord.TOKENS_BURNABLE != 0, "Burns are disabled");
        address holder = ProductWord.owner(hot);
        _burn(holder, id, value);
        emit TransferSingle(msg.sender, holder, address(0), id, value);
    }

    /// @inheritdoc IERC1155Product
    function burnBatch(uint256[] calldata ids, uint256[] calldata values) external {
        uint256 hot = _requireRole(BURN_ROLE);
        require(hot & ProductWord.TOKENS_BURNABLE != 0, "Burns are disabled");
        require(ids.length == values.length, "ERC1155: ids and amounts length mismatch");
        address holder = ProductWord.owner(hot);
        for (uint256 i; i < ids.length; ++i) {
            _burn(holder, ids[i], values[i]);
        }
        emit TransferBatch(msg.sender, holder, address(0), ids, values);
    }

    /// @inheritdoc IERC1155Product
    function transferByOwner(address to, uint256 id, uint256 amount) external {
        uint256 hot = _requireRole(TRANSFER_ROLE);
        require(hot & ProductWord.TOKENS_TRANSFERABLE != 0, "Transfers are disabled");
        _moveOne(ProductWord.owner(hot), to, id, amount, "");
    }

    /// @inheritdoc IERC1155Product
    function transferByOwnerBatch(address[] calldata to, uint256[] calldata ids, uint256[] calldata amounts) external {
        uint256 hot = _requireRole(TRANSFER_ROLE);
        require(hot & ProductWord.TOKENS_TRANSFERABLE != 0, "Transfers are disabled");
        require(to.length == ids.length && ids.length == amounts.length, "Mismatched input arrays");
        for (uint256 i; i < ids.length; ++i) {
            // A receiver may have moved the ownership meanwhile.
            _moveOne(ProductWord.owner(_hot), to[i], ids[i], amounts[i], "");
        }
    }

    // -------------------------------------------------------------- for holders

    /// @inheritdoc IProduct
    function setApprovalForAll(address operator, bool approved) external {
        require(operator != msg.sender, "ERC1155: setting approval status for self");
        _operators[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    /// @inheritdoc IERC1155Product
    function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes calldata data) external {
        _checkHolder(from);
        _moveOne(from, to, id, amount, data);
    }

    /// @inheritdoc IERC1155Product
    function safeBatchTransferFrom(
        address from,
        address to,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        bytes calldata data
    ) external {
        _checkHolder(from);
        require(ids.length == amounts.length, "ERC1155: ids and amounts length mismatch");
        require(to != address(0), "ERC1155: transfer to the zero address");
        for (uint256 i; i < ids.length; ++i) {
            _move(from, to, ids[i], amounts[i]);
        }
        emit TransferBatch(msg.sender, from, to, ids, amounts);
        if (to.code.length == 0) return;
        try IERC1155Receiver(to).onERC1155BatchReceived(msg.sender, from, ids, amounts, data) returns (bytes4 answer) {
            require(
                answer == IERC1155Receiver.onERC1155BatchReceived.selector, "ERC1155: ERC1155Receiver rejected tokens"
            );
        } catch Error(string memory reason) {
            revert(reason);
        } catch {
            revert("ERC1155: transfer to non-ERC1155Receiver implementer");
        }
    }

    // -------------------------------------------------------------- reading

    /// @inheritdoc IERC1155Product
    function balanceOf(address account, uint256 id) public view returns (uint256) {
        require(account != address(0), "ERC1155: address zero is not a valid owner");
        return _balances[id][account];
    }

    /// @inheritdoc IERC1155Product
    function balanceOfBatch(address[] calldata accounts, uint256[] calldata ids)
        external
        view
        returns (uint256[] memory)
    {
        require(accounts.length == ids.length, "ERC1155: accounts and ids length mismatch");
        uint256[] memory balances = new uint256[](accounts.length);
        for (uint256 i; i < accounts.length; ++i) {
            balances[i] = balanceOf(accounts[i], ids[i]);
        }
        return balances;
    }

    /// @inheritdoc IERC1155Product
    function isApprovedForAll(address account, address operator) external view returns (bool) {
        return _operators[account][operator];
    }

    /// @inheritdoc IERC1155Product
    function totalSupply(uint256 _id) external view returns (uint256) {
        return tokenSupply[_id];
    }

    /// @inheritdoc IERC1155Product
    function uri(uint256 _id) external view returns (string memory) {
        string memory own = _tokenUri(_id);
        return bytes(own).length == 0 ? _loadText(_defaultUri) : string.concat(_baseURI(), own);
    }

    /// @inheritdoc IProduct
    function supportsInterface(bytes4 interfaceId) external view returns (bool) {
        // ERC-165, ERC-1155, ERC-1155 metadata, ERC-2981
        return interfaceId == 0x01ffc9a7 || interfaceId == 0xd9b67a26 || interfaceId == 0x0e89341c
            || interfaceId == 0x2a55205a;
    }

    // -------------------------------------------------------------- inside

    /// @dev An id whose supply was burned keeps its URI if the new mint has none.
    function _mint(address to, uint256 id, uint256 amount, string calldata tokenUri) private {
        if (bytes(tokenUri).length != 0) {
            _storeUri(id, tokenUri);
            emit URI(tokenUri, id);
        }
        require(to != address(0), "ERC1155: mint to the zero address");
        tokenSupply[id] = amount;
        // The supply was zero, hence every balance.
        _balances[id][to] = amount;
        emit TransferSingle(msg.sender, address(0), to, id, amount);
        if (to.code.length != 0) _askMinted(to, id, amount);
    }

    function _burn(address holder, uint256 id, uint256 value) private {
        uint256 balance = _balances[id][holder];
        require(balance >= value, "ERC1155: burn amount exceeds balance");
        unchecked {
            _balances[id][holder] = balance - value;
            tokenSupply[id] -= value;
        }
    }

    function _checkHolder(address from) private view {
        require(from == msg.sender || _operators[from][msg.sender], "ERC1155: caller is not token owner or approved");
    }

    function _move(address from, address to, uint256 id, uint256 amount) private {
        uint256 balance = _balances[id][from];
        require(balance >= amount, "ERC1155: insufficient balance for transfer");
        unchecked {
            _balances[id][from] = balance - amount;
            _balances[id][to] += amount;
        }
    }

    function _moveOne(address from, address to, uint256 id, uint256 amount, bytes memory data) private {
        require(to != address(0), "ERC1155: transfer to the zero address");
        _move(from, to, id, amount);
        emit TransferSingle(msg.sender, from, to, id, amount);
        if (to.code.length != 0) _askReceiver(from, to, id, amount, data);
    }

    function _askMinted(address to, uint256 id, uint256 amount) private locked {
        _askReceiver(address(0), to, id, amount, "");
    }

    function _askReceiver(address from, address to, uint256 id, uint256 amount, bytes memory data) private {
        try IERC1155Receiver(to).onERC1155Received(msg.sender, from, id, amount, data) returns (bytes4 answer) {
            require(answer == IERC1155Receiver.onERC1155Received.selector, "ERC1155: ERC1155Receiver rejected tokens");
        } catch Error(string memory reason) {
            revert(reason);
        } catch {
            revert("ERC1155: transfer to non-ERC1155Receiver implementer");
        }
    }

    // ERC-1155 has no event for it.
    // solhint-disable-next-line no-empty-blocks
    function _baseUriChanged() internal override {}

    function _frozenMetadata() internal pure override returns (string memory) {
        return "Metadata is frozen";
    }
}
