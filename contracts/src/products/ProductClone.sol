// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Clones with immutable arguments: ERC-1167 code with the packed arguments behind it.
library ProductClone {
    uint256 internal constant PROXY_BYTES = 45;
    uint256 private constant CODE_HEAD = 0x363d3d373d3d3d363d73;
    uint256 private constant CODE_TAIL = 0x5af43d82803e903d91602b57fd5bf3;

    /// @notice Creation code of a clone of `template`.
    function initCode(address template, bytes memory args) internal pure returns (bytes memory) {
        // PUSH2 size, RETURNDATASIZE, DUP2, PUSH1 10, RETURNDATASIZE, CODECOPY, RETURN
        return abi.encodePacked(
            hex"61",
            uint16(PROXY_BYTES + args.length),
            hex"3d81600a3d39f3",
            uint80(CODE_HEAD),
            template,
            uint120(CODE_TAIL),
            args
        );
    }

    /// @notice Creates the clone; zero if that failed.
    function create(bytes memory code, bytes32 salt) internal returns (address clone) {
        assembly ("memory-safe") {
            clone := create2(0, add(code, 32), mload(code), salt)
        }
    }

    /// @notice Where `create` puts it.
    function addressOf(bytes memory code, bytes32 salt) internal view returns (address) {
        bytes32 hash = keccak256(abi.encodePacked(hex"ff", address(this), salt, keccak256(code)));
        return address(uint160(uint256(hash)));
    }

    /// @notice The template that the code at `clone` delegates to; zero if that is not a clone's code.
    function templateOf(address clone) internal view returns (address template) {
        (uint256 head, uint256 tail) = (0, 0);
        assembly ("memory-safe") {
            extcodecopy(clone, 0, 0, 64)
            head := mload(0)
            tail := mload(13)
        }
        if (head >> 176 == CODE_HEAD && uint120(tail) == CODE_TAIL) template = address(uint160(head >> 16));
    }
}
