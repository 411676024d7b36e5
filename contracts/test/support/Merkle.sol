// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The presale tree: leaf = keccak256 of 20 bytes, sorted pairs, an odd node moves up.
library Merkle {
    function root(address[] memory list) internal pure returns (bytes32) {
        if (list.length == 0) return 0;
        bytes32[] memory level = leaves(list);
        while (level.length > 1) {
            level = above(level);
        }
        return level[0];
    }

    function proof(address[] memory list, uint256 index) internal pure returns (bytes32[] memory path) {
        bytes32[] memory level = leaves(list);
        bytes32[] memory room = new bytes32[](32);
        uint256 length;
        while (level.length > 1) {
            uint256 sibling = index ^ 1;
            if (sibling < level.length) room[length++] = level[sibling];
            level = above(level);
            index /= 2;
        }
        path = new bytes32[](length);
        for (uint256 i; i < length; ++i) {
            path[i] = room[i];
        }
    }

    function leaves(address[] memory list) private pure returns (bytes32[] memory level) {
        level = new bytes32[](list.length);
        for (uint256 i; i < list.length; ++i) {
            level[i] = keccak256(abi.encodePacked(list[i]));
        }
    }

    function above(bytes32[] memory level) private pure returns (bytes32[] memory next) {
        next = new bytes32[]((level.length + 1) / 2);
        for (uint256 i; i < next.length; ++i) {
            next[i] = 2 * i + 1 == level.length ? level[2 * i] : pair(level[2 * i], level[2 * i + 1]);
        }
    }

    function pair(bytes32 a, bytes32 b) private pure returns (bytes32) {
        return a < b ? keccak256(abi.encodePacked(a, b)) : keccak256(abi.encodePacked(b, a));
    }
}
