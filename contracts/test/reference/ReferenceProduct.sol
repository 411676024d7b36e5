// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Base64} from "@openzeppelin/contracts/utils/Base64.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {ProductDeployment, ProductRuntime, RolesAddresses} from "../../src/products/ProductTypes.sol";

/// @title What both kinds of products share, written to be read: one storage field per value, no assembly.
abstract contract ReferenceProduct {
    bytes32 public constant DEFAULT_ADMIN_ROLE = 0;
    bytes32 public constant ADMIN_ROLE = keccak256("ADMIN_ROLE");
    bytes32 public constant MINT_ROLE = keccak256("MINT_ROLE");
    bytes32 public constant UPDATE_CONTRACT_ROLE = keccak256("UPDATE_CONTRACT_ROLE");
    bytes32 public constant UPDATE_TOKEN_ROLE = keccak256("UPDATE_TOKEN_ROLE");
    bytes32 public constant BURN_ROLE = keccak256("BURN_ROLE");
    bytes32 public constant TRANSFER_ROLE = keccak256("TRANSFER_ROLE");
    uint16 public constant ROYALTIES_BASIS = 10_000;

    event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
    event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);
    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);
    event PermanentURI(string _value, uint256 indexed _id);
    event PermanentURIGlobal();
    event Initialized(uint8 version);

    address public owner;
    bool public tokensBurnable;
    string public baseURI;
    bool public metadataUpdatable;
    bool public tokensTransferable;
    uint256 public royaltiesBasisPoints;
    address public royaltiesAddress;
    mapping(uint256 => bool) public freezeTokenUris;

    address private immutable _service;
    mapping(bytes32 => mapping(address => bool)) private _granted;
    mapping(bytes32 => mapping(address => bool)) private _listed;
    mapping(bytes32 => address[]) private _lists;
    mapping(bytes32 => bool) private _frozen;
    bool private _minting;

    modifier onlyRole(bytes32 role) {
        _checkRole(role);
        _;
    }

    modifier nonReentrant() {
        require(!_minting, "ReentrancyGuard: reentrant call");
        _minting = true;
        _;
        _minting = false;
    }

    constructor(ProductDeployment memory d, ProductRuntime memory r, RolesAddresses[] memory lists, address service) {
        _service = service;
        _setRoyalties(r);
        require(d.owner != address(0), "Contract must have an owner");
        owner = d.owner;
        tokensBurnable = d.tokensBurnable;
        baseURI = r.baseURI;
        metadataUpdatable = r.metadataUpdatable;
        tokensTransferable = r.tokensTransferable;
        emit OwnershipTransferred(address(0), owner);
        _grant(ADMIN_ROLE, owner);
        _grant(ADMIN_ROLE, service);
        _setLists(lists);
        emit Initialized(1);
    }

    function initialize(ProductDeployment calldata, ProductRuntime calldata, RolesAddresses[] calldata) external pure {
        revert("Initializable: contract is already initialized");
    }

    // ------------------------------------------------------------------ roles

    function hasRole(bytes32 role, address account) public view returns (bool) {
        if (account == owner) return true;
        if (role == DEFAULT_ADMIN_ROLE) return false;
        return _isMember(ADMIN_ROLE, account) || _isMember(role, account);
    }

    function getRoleAdmin(bytes32) external pure returns (bytes32) {
        return DEFAULT_ADMIN_ROLE;
    }

    function grantRole(bytes32 role, address account) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _grant(role, account);
    }

    function revokeRole(bytes32 role, address account) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _revoke(role, account);
    }

    function renounceRole(bytes32 role, address account) external {
        require(account == msg.sender, "AccessControl: can only renounce roles for self");
        _revoke(role, account);
    }

    function transferOwnership(address newOwner) external {
        address previousOwner = owner;
        require(newOwner != previousOwner, "GranularRoles: already the owner");
        require(msg.sender == previousOwner, "GranularRoles: not the owner");
        require(newOwner != address(0), "Contract must have an owner");
        _revoke(ADMIN_ROLE, previousOwner);
        _grant(ADMIN_ROLE, newOwner);
        owner = newOwner;
        emit OwnershipTransferred(previousOwner, newOwner);
    }

    function revokeNFTPortPermissions() public onlyRole(ADMIN_ROLE) {
        _revoke(ADMIN_ROLE, _service);
    }

    function _isMember(bytes32 role, address account) private view returns (bool) {
        return _granted[role][account] || _listed[role][account];
    }

    function _grant(bytes32 role, address account) private {
        if (role == DEFAULT_ADMIN_ROLE) return;
        if (!_isMember(role, account)) emit RoleGranted(role, account, msg.sender);
        _granted[role][account] = true;
    }

    function _revoke(bytes32 role, address account) private {
        if (!_isMember(role, account)) return;
        _granted[role][account] = false;
        _listed[role][account] = false;
        emit RoleRevoked(role, account, msg.sender);
    }

    function _setLists(RolesAddresses[] memory lists) private {
        for (uint256 i; i < lists.length; ++i) {
            bytes32 role = lists[i].role;
            require(
                role == MINT_ROLE || role == UPDATE_CONTRACT_ROLE || role == UPDATE_TOKEN_ROLE || role == BURN_ROLE
                    || role == TRANSFER_ROLE,
                string.concat("GranularRoles: invalid role ", Strings.toHexString(uint256(role), 32))
            );
            bool first = true;
            for (uint256 k; k < i; ++k) {
                if (lists[k].role == role) first = false;
            }
            require(
                !_frozen[role] || !first,
                string.concat("GranularRoles: role ", Strings.toHexString(uint256(role), 32), " is frozen")
            );
            address[] memory former = first ? _lists[role] : new address[](0);
            for (uint256 k; k < former.length; ++k) {
                bool was = _isMember(role, former[k]);
                _listed[role][former[k]] = false;
                if (was && !_isMember(role, former[k])) emit RoleRevoked(role, former[k], msg.sender);
            }
            if (first) delete _lists[role];
            for (uint256 k; k < lists[i].addresses.length; ++k) {
                address account = lists[i].addresses[k];
                if (!_isMember(role, account)) emit RoleGranted(role, account, msg.sender);
                _listed[role][account] = true;
                _lists[role].push(account);
            }
            if (lists[i].frozen) _frozen[role] = true;
        }
    }

    function _checkRole(bytes32 role) internal view {
        require(
            hasRole(role, msg.sender),
            string.concat(
                "AccessControl: account ",
                Strings.toHexString(msg.sender),
                " is missing role ",
                Strings.toHexString(uint256(role), 32)
            )
        );
    }

    // ------------------------------------------------------------------ configuration

    function update(ProductRuntime calldata r, RolesAddresses[] calldata lists, bool isRevokeNFTPortPermissions)
        external
        onlyRole(UPDATE_CONTRACT_ROLE)
    {
        require(metadataUpdatable || keccak256(bytes(r.baseURI)) == keccak256(bytes(baseURI)), _frozenMetadata());
        baseURI = r.baseURI;
        _setRoyalties(r);
        if (!r.tokensTransferable) tokensTransferable = false;
        if (!r.metadataUpdatable && metadataUpdatable) {
            metadataUpdatable = false;
            emit PermanentURIGlobal();
        }
        if (lists.length != 0) {
            require(hasRole(ADMIN_ROLE, msg.sender), "GranularRoles: not an admin");
            _setLists(lists);
        }
        if (isRevokeNFTPortPermissions) revokeNFTPortPermissions();
    }

    function royaltyInfo(uint256, uint256 salePrice) external view returns (address, uint256) {
        return (royaltiesAddress, (royaltiesBasisPoints * salePrice) / ROYALTIES_BASIS);
    }

    function contractURI() external view returns (string memory) {
        bytes memory json = abi.encodePacked(
            '{"seller_fee_basis_points": ',
            Strings.toString(royaltiesBasisPoints),
            ', "fee_recipient": "',
            Strings.toHexString(royaltiesAddress),
            '"}'
        );
        return string.concat("data:application/json;base64,", Base64.encode(json));
    }

    function _setRoyalties(ProductRuntime memory r) private {
        require(r.royaltiesBps <= ROYALTIES_BASIS, "Cannot set royalties to over 100%");
        royaltiesAddress = r.royaltiesAddress;
        royaltiesBasisPoints = r.royaltiesBps;
    }

    function _frozenMetadata() internal pure virtual returns (string memory);
}
