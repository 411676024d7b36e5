// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ICollection} from "../../src/ICollection.sol";

/// @title A contract that holds tokens and answers as it is told.
contract Receiver {
    enum Answer {
        Accept,
        WrongValue,
        EmptyRevert,
        Reason,
        ShortAnswer,
        LongAnswer,
        BurnGas,
        Mint,
        PresaleMint,
        ReserveMint,
        SwallowedMint,
        PassOn,
        PassOnSafely,
        Update
    }

    Answer public answer;
    address public next;
    bool public refuseWei;
    uint256 public calls;

    error Refused(uint256 id);

    function set(Answer answer_, address next_, bool refuseWei_) external {
        (answer, next, refuseWei) = (answer_, next_, refuseWei_);
    }

    function onERC721Received(address, address, uint256 id, bytes calldata) external returns (bytes4) {
        ICollection collection = ICollection(msg.sender);
        ++calls;
        if (answer == Answer.WrongValue) return 0xffffffff;
        if (answer == Answer.EmptyRevert) revert();
        if (answer == Answer.Reason) revert Refused(id);
        if (answer == Answer.BurnGas) {
            assembly {
                invalid()
            }
        }
        if (answer == Answer.ShortAnswer) {
            assembly {
                mstore(0, shl(224, 0x150b7a02))
                return(0, 4)
            }
        }
        if (answer == Answer.LongAnswer) {
            assembly {
                mstore(0, shl(224, 0x150b7a02))
                return(0, 4096)
            }
        }
        if (answer == Answer.Mint) collection.mint{value: 1 ether}(1);
        if (answer == Answer.PresaleMint) collection.presaleMint{value: 1 ether}(1, new bytes32[](0));
        if (answer == Answer.ReserveMint) collection.reserveMint(address(this), 1);
        if (answer == Answer.SwallowedMint) {
            try collection.mint{value: 1 ether}(1) {} catch {}
        }
        if (answer == Answer.PassOn) collection.transferFrom(address(this), next, id);
        if (answer == Answer.PassOnSafely) collection.safeTransferFrom(address(this), next, id, "on");
        if (answer == Answer.Update) collection.withdrawFees();
        return this.onERC721Received.selector;
    }

    receive() external payable {
        require(!refuseWei, "no wei");
    }
}

/// @title A contract without any way to receive tokens or wei.
contract Mute {}

/// @title A treasury that spends gas on receipt, or refuses.
contract Treasury {
    bool public refuses;
    uint256 private _receipts;

    function set(bool refuses_) external {
        refuses = refuses_;
    }

    receive() external payable {
        require(!refuses, "closed");
        // More than the 2,300 gas of a transfer.
        ++_receipts;
    }
}

/// @title A payer that buys again from inside its refund.
contract Rebuyer {
    ICollection private immutable _collection;
    uint256 public rounds;

    constructor(ICollection collection) payable {
        _collection = collection;
    }

    function buy(uint256 value) external {
        _collection.mint{value: value}(1);
    }

    receive() external payable {
        if (rounds++ < 2) _collection.mint{value: msg.value}(1);
    }

    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        return this.onERC721Received.selector;
    }
}
