// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The cheatcodes that the tests use.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function prank(address sender) external;
    function prank(address sender, address origin) external;
    function deal(address account, uint256 balance) external;
    function warp(uint256 timestamp) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function assume(bool condition) external pure;
    function load(address target, bytes32 slot) external view returns (bytes32);
    function etch(address target, bytes calldata code) external;
}

Vm constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);
