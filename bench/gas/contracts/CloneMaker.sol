// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// @title ERC-1167 clones, as thirdweb's own factory makes them.
contract CloneMaker {
    event Made(address clone);

    function make(address template, bytes calldata init) external {
        bytes memory code = abi.encodePacked(
            hex"3d602d80600a3d3981f3363d3d373d3d3d363d73", template, hex"5af43d82803e903d91602b57fd5bf3"
        );
        address clone;
        bytes32 salt = keccak256(init);
        assembly ("memory-safe") {
            clone := create2(0, add(code, 32), mload(code), salt)
        }
        (bool ok,) = clone.call(init);
        require(ok);
        emit Made(clone);
    }
}
