// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CidText} from "../../src/products/CidText.sol";

/// @title URIs of raw CIDv1 as digests: exactly those, and back byte for byte.
contract CidTextTest {
    string private constant HELLO = "ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4";
    bytes32 private constant HELLO_SHA256 = 0xa948904f2f0f479b8f8197694b30184b0d2ed1c1cd2a1ec0fb85d299a192a447;
    bytes private constant BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

    function parse(string calldata uri) external pure returns (bool ok, bytes32 digest) {
        return CidText.parse(uri);
    }

    function test_aKnownFile() external view {
        (bool ok, bytes32 digest) = this.parse(HELLO);
        require(ok && digest == HELLO_SHA256 && digest == sha256("hello world\n"), "digest");
        require(_same(CidText.write(digest), HELLO), "text");
    }

    function testFuzz_everyDigestIsWrittenAndReadBack(bytes32 digest) external view {
        string memory uri = CidText.write(digest);
        require(_same(uri, _plain(digest)), "as written letter by letter");
        (bool ok, bytes32 again) = this.parse(uri);
        require(ok && again == digest, "read back");
    }

    /// @dev One byte is changed anywhere: either the text is another digest's, or it is refused.
    function testFuzz_noOtherTextIsTaken(bytes32 digest, uint256 index, bytes1 value) external view {
        bytes memory uri = bytes(CidText.write(digest));
        index %= uri.length;
        // Half of the values are letters of base32.
        uri[index] = uint8(value) < 128 ? value : BASE32[uint8(value) % 32];
        (bool ok, bytes32 other) = this.parse(string(uri));
        require(!ok || _same(CidText.write(other), string(uri)), "taken, but not written back");
        if (index < 14) require(!ok || other == digest, "another codec or scheme");
    }

    function testFuzz_randomTextsAreRefused(bytes memory text) external view {
        (bool ok,) = this.parse(string(text));
        require(!ok, "taken");
        bytes memory right = new bytes(66);
        for (uint256 i; i < 66; ++i) {
            right[i] = i < text.length ? text[i] : bytes1(uint8(i));
        }
        (ok,) = this.parse(string(right));
        require(!ok, "taken");
    }

    function test_nearMisses() external view {
        string[9] memory texts = [
            "",
            "ipfs://",
            "ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei",
            "ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei44",
            // the two bits behind the hash are not zero
            "ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei5",
            "ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2deveI4",
            // dag-pb
            "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
            // the bits between head and hash are not zero
            "ipfs://bafkrejfjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4",
            "IPFS://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4"
        ];
        for (uint256 i; i < texts.length; ++i) {
            (bool ok,) = this.parse(texts[i]);
            require(!ok, texts[i]);
        }
        // The letter behind the head may be any that stands for bits of the hash alone.
        (bool first,) = this.parse("ipfs://bafkreiijjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4");
        require(!first, "bits of the head in the first letter");
    }

    /// @dev RFC 4648, letter by letter.
    function _plain(bytes32 digest) private pure returns (string memory) {
        bytes memory cid = abi.encodePacked(hex"01551220", digest);
        bytes memory text = new bytes(58);
        for (uint256 i; i < 58; ++i) {
            uint256 value;
            for (uint256 bit = 5 * i; bit < 5 * i + 5; ++bit) {
                value <<= 1;
                if (bit < 288) value |= (uint8(cid[bit / 8]) >> (7 - bit % 8)) & 1;
            }
            text[i] = BASE32[value];
        }
        return string.concat("ipfs://b", string(text));
    }

    function _same(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }
}
