// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

struct DropConfig {
    string name;
    string symbol;
    string prereveal;
    address owner;
    address payable treasury;
    uint256 maxSupply;
    uint256 reserve;
    uint256 perMint;
    uint256 price;
    uint256 presalePrice;
    uint256 start;
    bytes32 root;
}

/// @title What a thin drop adds to a token library: both sales, the reserve, the reveal and the fees.
abstract contract Drop {
    address internal immutable _dropOwner;
    address payable internal immutable _treasury;
    uint256 internal immutable _maxSupply;
    uint256 internal immutable _perMint;
    uint256 internal immutable _price;
    uint256 internal immutable _presalePrice;
    uint256 internal immutable _start;
    uint256 internal _reserve;
    bytes32 internal _root;
    string internal _prereveal;
    string internal _base;
    mapping(address wallet => bool) internal _used;

    constructor(DropConfig memory c) {
        (_dropOwner, _treasury, _maxSupply, _perMint) = (c.owner, c.treasury, c.maxSupply, c.perMint);
        (_price, _presalePrice, _start) = (c.price, c.presalePrice, c.start);
        (_reserve, _root, _prereveal) = (c.reserve, c.root, c.prereveal);
    }

    function _minted() internal view virtual returns (uint256);

    function _give(address to, uint256 amount) internal virtual;

    function mint(uint256 amount) external payable {
        require(msg.value >= _price * amount, "price");
        _sell(amount);
    }

    function presaleMint(uint256 amount, bytes32[] calldata proof) external payable {
        require(msg.value >= _presalePrice * amount, "price");
        require(!_isUsed(msg.sender), "used");
        bytes32 node = keccak256(abi.encodePacked(msg.sender));
        for (uint256 i; i < proof.length; ++i) {
            (bytes32 a, bytes32 b) = node < proof[i] ? (node, proof[i]) : (proof[i], node);
            assembly ("memory-safe") {
                mstore(0, a)
                mstore(32, b)
                node := keccak256(0, 64)
            }
        }
        require(node == _root, "proof");
        _setUsed(msg.sender);
        _sell(amount);
    }

    function _isUsed(address wallet) internal view virtual returns (bool) {
        return _used[wallet];
    }

    function _setUsed(address wallet) internal virtual {
        _used[wallet] = true;
    }

    function _sell(uint256 amount) private {
        require(block.timestamp > _start, "start");
        require(amount <= _perMint, "amount");
        require(_minted() + amount + _reserve <= _maxSupply, "supply");
        _give(msg.sender, amount);
    }

    function reserveMint(address to, uint256 amount) external {
        require(msg.sender == _dropOwner, "owner");
        _reserve -= amount;
        _give(to, amount);
    }

    function reveal(string calldata base) external {
        require(msg.sender == _dropOwner, "owner");
        _base = base;
    }

    function withdrawFees() external {
        require(msg.sender == _dropOwner, "owner");
        (bool ok,) = _treasury.call{value: address(this).balance}("");
        require(ok);
    }
}
