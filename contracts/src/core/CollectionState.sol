// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ICollection} from "../ICollection.sol";
import {Args, CollectionArgs} from "./CollectionArgs.sol";
import {HotWord} from "./HotWord.sol";

/// @title Where a collection keeps things.
/// @dev Storage slots:
///   0 hot word (HotWord.sol) | 1 owner | 2 presale price 88, start 40 | 3 presale root | 4 royalty bps 16, receiver 160
///   5 base URI blob | 6 prereveal URI blob | 7 operator approvals | 8 members of other roles.
///   Slots 1 to 6 count only when their flag in the hot word is set; else the immutable arguments do.
///   Region 1 << 248, + id: ownership word (CollectionTokens.sol). Region 2 << 248, + id: approved address.
///   Region 3 << 248, + address: wallet word: balance 64 | presale used | ADMIN_ROLE | DEFAULT_ADMIN_ROLE.
abstract contract CollectionState is ICollection {
    uint256 internal constant TOKEN_REGION = 1 << 248;
    uint256 internal constant APPROVAL_REGION = 2 << 248;
    uint256 internal constant WALLET_REGION = 3 << 248;

    uint256 internal constant PRESALE_USED = 1 << 64;
    uint256 internal constant WALLET_IS_ADMIN = 1 << 65;
    uint256 internal constant WALLET_IS_DEFAULT_ADMIN = 1 << 66;

    uint256 internal _hot;
    address internal _movedOwner;
    uint256 internal _movedPresale;
    bytes32 internal _movedRoot;
    uint256 internal _movedRoyalties;
    address internal _movedBaseURI;
    address internal _movedPrerevealURI;
    mapping(address owner => mapping(address operator => bool)) internal _operators;
    mapping(bytes32 role => mapping(address account => bool)) internal _otherRoles;

    uint256 private transient _inCallback;

    /// @dev The code that carries the packed arguments, and where in it they begin.
    function _argsCode() internal view virtual returns (address holder, uint256 offset);

    function _args() internal view returns (Args memory) {
        (address holder, uint256 offset) = _argsCode();
        return CollectionArgs.unpack(_code(holder, offset, holder.code.length - offset));
    }

    /// @dev The word of packed arguments at `position`; bytes behind the end read as zero.
    function _argsWord(uint256 position) internal view returns (uint256 word) {
        (address holder, uint256 offset) = _argsCode();
        assembly ("memory-safe") {
            extcodecopy(holder, 0, add(offset, position), 32)
            word := mload(0)
        }
    }

    function _code(address holder, uint256 offset, uint256 size) internal view returns (bytes memory data) {
        data = new bytes(size);
        assembly ("memory-safe") {
            extcodecopy(holder, add(data, 32), offset, size)
        }
    }

    /// @dev Keeps `data` as the code of a new account, behind a STOP.
    function _store(bytes memory data) internal returns (address blob) {
        assembly ("memory-safe") {
            let size := mload(data)
            let code := mload(0x40)
            // PUSH2 size, RETURNDATASIZE, DUP2, PUSH1 10, RETURNDATASIZE, CODECOPY, RETURN, then STOP and the data
            mstore(code, shl(168, or(shl(64, or(0x610000, add(size, 1))), 0x3d81600a3d39f300)))
            mcopy(add(code, 11), add(data, 32), size)
            blob := create(0, code, add(size, 11))
        }
        require(blob != address(0));
    }

    function _owner(uint256 hot) internal view virtual returns (address) {
        return hot & HotWord.OWNER_MOVED == 0 ? address(uint160(_argsWord(0) >> 96)) : _movedOwner;
    }

    function _wallet(address account) internal view returns (uint256 word) {
        assembly ("memory-safe") {
            word := sload(or(WALLET_REGION, account))
        }
    }

    function _setWallet(address account, uint256 word) internal {
        assembly ("memory-safe") {
            sstore(or(WALLET_REGION, account), word)
        }
    }

    // -------------------------------------------------------------- receiver callbacks

    modifier notInCallback() {
        require(_inCallback == 0, "ReentrancyGuard: reentrant call");
        _;
    }

    /// @dev Asks the contract `to` whether it accepts a token. All state is final by now; while it runs, it may
    ///   transfer, but every way to mint is closed.
    function _askReceiver(address from, address to, uint256 tokenId, bytes memory data) internal {
        uint256 outer = _inCallback;
        _inCallback = 1;
        bytes memory question = abi.encodeWithSelector(0x150b7a02, msg.sender, from, tokenId, data);
        bytes4 unaccepted = TransferToNonERC721ReceiverImplementer.selector;
        assembly ("memory-safe") {
            let ok := call(gas(), to, 0, add(question, 32), mload(question), 0, 32)
            if iszero(ok) {
                if returndatasize() {
                    let reason := mload(0x40)
                    returndatacopy(reason, 0, returndatasize())
                    revert(reason, returndatasize())
                }
            }
            let accepted := and(gt(returndatasize(), 31), eq(mload(0), shl(224, 0x150b7a02)))
            if iszero(and(ok, accepted)) {
                mstore(0, unaccepted)
                revert(0, 4)
            }
        }
        _inCallback = outer;
    }

    /// @dev Sends wei with all gas and ignores what comes back, so that the answer cannot fill our memory.
    function _send(address to, uint256 value) internal returns (bool ok) {
        assembly ("memory-safe") {
            ok := call(gas(), to, value, 0, 0, 0, 0)
        }
    }
}
