// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1155Product} from "../../src/products/IERC1155Product.sol";
import {IERC721Product} from "../../src/products/IERC721Product.sol";

/// @title A contract that holds tokens of products and answers as it is told.
contract ProductReceiver {
    enum Answer {
        Accept,
        WrongValue,
        EmptyRevert,
        Text,
        Reason,
        BurnGas,
        Mint,
        SwallowedMint,
        PassOn,
        Burn
    }

    Answer public answer;
    address public next;
    address public operator;
    address public from;
    bytes public data;
    /// @dev It mints once, not from its own mint's callback too: without end, a missing lock would not be a finding.
    bool private _minting;

    error Refused(uint256 id);

    function set(Answer answer_, address next_) external {
        (answer, next) = (answer_, next_);
    }

    function onERC721Received(address operator_, address from_, uint256 id, bytes calldata data_)
        external
        returns (bytes4)
    {
        (operator, from, data) = (operator_, from_, data_);
        IERC721Product product = IERC721Product(msg.sender);
        _act(id);
        if (answer == Answer.WrongValue) return 0xffffffff;
        if (answer == Answer.Mint && !_minting) {
            _minting = true;
            product.mintToCaller(address(this), id + 1, "again");
            _minting = false;
        }
        if (answer == Answer.SwallowedMint && !_minting) {
            _minting = true;
            try product.mintToCaller(address(this), id + 1, "again") {} catch {}
            _minting = false;
        }
        if (answer == Answer.PassOn) product.transferFrom(address(this), next, id);
        if (answer == Answer.Burn) product.burn(id);
        return this.onERC721Received.selector;
    }

    function onERC1155Received(address operator_, address from_, uint256 id, uint256 amount, bytes calldata data_)
        external
        returns (bytes4)
    {
        (operator, from, data) = (operator_, from_, data_);
        IERC1155Product product = IERC1155Product(msg.sender);
        _act(id);
        if (answer == Answer.WrongValue) return 0xffffffff;
        if (answer == Answer.Mint && !_minting) {
            _minting = true;
            product.mintByOwner(address(this), id + 1, 1, "again");
            _minting = false;
        }
        if (answer == Answer.SwallowedMint && !_minting) {
            _minting = true;
            try product.mintByOwner(address(this), id + 1, 1, "again") {} catch {}
            _minting = false;
        }
        if (answer == Answer.PassOn) product.safeTransferFrom(address(this), next, id, amount, "on");
        if (answer == Answer.Burn) product.burn(id, amount);
        return this.onERC1155Received.selector;
    }

    function onERC1155BatchReceived(
        address operator_,
        address from_,
        uint256[] calldata ids,
        uint256[] calldata amounts,
        bytes calldata data_
    ) external returns (bytes4) {
        (operator, from, data) = (operator_, from_, data_);
        IERC1155Product product = IERC1155Product(msg.sender);
        _act(ids.length);
        if (answer == Answer.WrongValue) return 0xffffffff;
        if (answer == Answer.Mint && !_minting) {
            _minting = true;
            product.mintByOwner(address(this), 777, 1, "again");
            _minting = false;
        }
        if (answer == Answer.PassOn) product.safeBatchTransferFrom(address(this), next, ids, amounts, "on");
        return this.onERC1155BatchReceived.selector;
    }

    function _act(uint256 id) private view {
        if (answer == Answer.EmptyRevert) revert();
        require(answer != Answer.Text, "not today");
        if (answer == Answer.Reason) revert Refused(id);
        if (answer == Answer.BurnGas) {
            assembly {
                invalid()
            }
        }
    }
}
