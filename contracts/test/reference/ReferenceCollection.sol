// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {IERC2981} from "@openzeppelin/contracts/interfaces/IERC2981.sol";
import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Base64} from "@openzeppelin/contracts/utils/Base64.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";
import {ERC721A} from "erc721a/contracts/ERC721A.sol";
import {ContractInfo, DeploymentConfig, RuntimeConfig} from "../../src/CollectionTypes.sol";

/// @title The collection written to be read: erc721a and OpenZeppelin, one storage field per config field.
/// @dev The ABI is closed: no custom error or event beyond those of erc721a 3.3 and OpenZeppelin 4.9 may be added,
///   other refusals are `require` strings whose wording frontends match on.
abstract contract ReferenceCollection is ERC721A, AccessControl, Initializable {
    using Strings for uint256;
    using Strings for address;

    /// @notice Semantic version as X_YY_ZZ.
    uint256 public constant VERSION = 2_00_00;
    /// @notice May mint the reserve, update the configuration and send the fees to the treasury.
    bytes32 public constant ADMIN_ROLE = keccak256("ADMIN_ROLE");
    /// @notice What 100 % is in `royaltiesBps`.
    uint16 public constant ROYALTIES_BASIS = 10_000;

    uint256 internal constant NEVER = type(uint256).max;
    uint256 internal constant MAX_STRING_BYTES = 24_000;
    bytes32 internal constant BATCH_METADATA_UPDATE = keccak256("BatchMetadataUpdate(uint256,uint256)");
    bytes32 internal constant CONTRACT_URI_UPDATED = keccak256("ContractURIUpdated()");

    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    DeploymentConfig private _deploymentConfig;
    RuntimeConfig private _runtimeConfig;
    uint256 private _reserveRemaining;
    mapping(address wallet => bool used) private _presaleUsed;
    bool private transient _inCallback;

    /// @dev A receiver runs after all state is final; it may transfer, but not mint again.
    modifier notInCallback() {
        require(!_inCallback, "ReentrancyGuard: reentrant call");
        _;
    }

    constructor() ERC721A("", "") {}

    // ------------------------------------------------------------------ initialisation

    /// @notice Sets a fresh clone up; the standalone and the template are born initialised.
    function initialize(DeploymentConfig calldata deploymentConfig, RuntimeConfig calldata runtimeConfig) external {
        require(_getInitializedVersion() == 0, "Initializable: contract is already initialized");
        _initialize(deploymentConfig, runtimeConfig, _initializingFactory());
    }

    /// @dev Reverts unless the caller may initialise; returns who is to be service admin, or zero.
    function _initializingFactory() internal view virtual returns (address serviceAdmin);

    function _initialize(
        DeploymentConfig memory deploymentConfig,
        RuntimeConfig memory runtimeConfig,
        address serviceAdmin
    ) internal initializer {
        require(deploymentConfig.maxSupply != 0, "Maximum supply must be non-zero");
        require(deploymentConfig.tokensPerMint != 0, "Tokens per mint must be non-zero");
        require(deploymentConfig.treasuryAddress != address(0), "Treasury address cannot be null");
        require(deploymentConfig.owner != address(0), "Contract must have an owner");
        require(deploymentConfig.reservedSupply <= deploymentConfig.maxSupply, "Reserve greater than supply");
        require(deploymentConfig.tokensPerMint <= deploymentConfig.maxSupply, "Tokens per mint greater than supply");
        require(deploymentConfig.maxSupply < 2 ** 32, "Supply too large");
        _checkRoyalties(runtimeConfig);
        _checkLimits(runtimeConfig, bytes(deploymentConfig.name).length + bytes(deploymentConfig.symbol).length);

        address owner_ = deploymentConfig.owner;
        _deploymentConfig = deploymentConfig;
        _runtimeConfig = runtimeConfig;
        _reserveRemaining = deploymentConfig.reservedSupply;

        _grantRole(ADMIN_ROLE, owner_);
        _grantRole(DEFAULT_ADMIN_ROLE, owner_);
        emit OwnershipTransferred(address(0), owner_);
        if (serviceAdmin != address(0)) _grantRole(ADMIN_ROLE, serviceAdmin);
    }

    // ------------------------------------------------------------------ minting

    /// @notice Buys tokens in the public sale; what is paid beyond the price comes back.
    function mint(uint256 amount) external payable notInCallback {
        uint256 excess = _excessPayment(amount, _runtimeConfig.publicMintPrice);
        require(mintingActive(), "Minting has not started yet");
        _sell(amount, excess);
    }

    /// @notice Buys tokens in the presale, once per wallet.
    /// @param proof Merkle path of the caller, leaf side first.
    function presaleMint(uint256 amount, bytes32[] calldata proof) external payable notInCallback {
        uint256 excess = _excessPayment(amount, _runtimeConfig.presaleMintPrice);
        require(presaleActive(), "Presale has not started yet");
        require(isWhitelisted(msg.sender, proof), "Not whitelisted for presale");
        _presaleUsed[msg.sender] = true;
        _sell(amount, excess);
    }

    /// @notice Mints from the reserve, free of charge.
    function reserveMint(address to, uint256 amount) external notInCallback onlyRole(ADMIN_ROLE) {
        require(amount <= _reserveRemaining, "Not enough reserved");
        _reserveRemaining -= amount;
        _mintAndNotify(to, amount);
    }

    function _excessPayment(uint256 amount, uint256 price) private view returns (uint256) {
        require(amount <= 2 ** 128 && msg.value >= price * amount, "Payment too small");
        return msg.value - price * amount;
    }

    function _sell(uint256 amount, uint256 excess) private {
        require(amount <= _deploymentConfig.tokensPerMint, "Amount too large");
        require(amount <= availableSupply(), "Not enough tokens left");
        _mintAndNotify(msg.sender, amount);
        if (excess != 0) {
            (bool refunded,) = msg.sender.call{value: excess}("");
            require(refunded, "Refund failed");
        }
    }

    function _mintAndNotify(address to, uint256 amount) private {
        uint256 first = _currentIndex;
        _mint(to, amount);
        // EIP-7702: a wallet that signed this transaction and carries delegated code needs no callback.
        // solhint-disable-next-line avoid-tx-origin
        if (msg.sender == tx.origin && to == msg.sender) return;
        for (uint256 id = first; id < first + amount; ++id) {
            if (to.code.length != 0) _notify(address(0), to, id, "");
        }
    }

    function _notify(address from, address to, uint256 tokenId, bytes memory data) private {
        bool outer = _inCallback;
        _inCallback = true;
        (bool ok, bytes memory answer) =
            to.call(abi.encodeCall(IERC721Receiver.onERC721Received, (msg.sender, from, tokenId, data)));
        _inCallback = outer;
        if (!ok && answer.length != 0) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
        if (!ok || answer.length < 32 || bytes32(answer) != bytes32(IERC721Receiver.onERC721Received.selector)) {
            revert TransferToNonERC721ReceiverImplementer();
        }
    }

    // ------------------------------------------------------------------ administration

    /// @notice Sends the whole balance to the treasury.
    function withdrawFees() external onlyRole(ADMIN_ROLE) {
        Address.sendValue(_deploymentConfig.treasuryAddress, address(this).balance);
    }

    /// @notice Replaces the runtime configuration, within the freezing rules.
    function updateConfig(RuntimeConfig calldata newConfig) external onlyRole(ADMIN_ROLE) {
        RuntimeConfig storage old = _runtimeConfig;
        _checkRoyalties(newConfig);
        if (old.publicMintPriceFrozen) {
            require(newConfig.publicMintPrice == old.publicMintPrice, "publicMintPrice is frozen");
            require(newConfig.publicMintPriceFrozen, "publicMintPriceFrozen is frozen");
        }
        if (old.presaleMintPriceFrozen) {
            require(newConfig.presaleMintPrice == old.presaleMintPrice, "presaleMintPrice is frozen");
            require(newConfig.presaleMintPriceFrozen, "presaleMintPriceFrozen is frozen");
        }
        bool sameUris =
            _same(newConfig.baseURI, old.baseURI) && _same(newConfig.prerevealTokenURI, old.prerevealTokenURI);
        if (!old.metadataUpdatable) {
            require(!newConfig.metadataUpdatable, "Cannot unfreeze metadata");
            require(sameUris, "Metadata is frozen");
        }
        _checkLimits(newConfig, 0);
        bool sameRoyalties =
            newConfig.royaltiesBps == old.royaltiesBps && newConfig.royaltiesAddress == old.royaltiesAddress;

        _runtimeConfig = newConfig;
        if (!sameUris && totalSupply() != 0) _logRaw(BATCH_METADATA_UPDATE, abi.encode(0, totalSupply() - 1));
        if (!sameRoyalties) _logRaw(CONTRACT_URI_UPDATED, "");
    }

    /// @notice Hands the collection over: both roles move with the ownership.
    function transferOwnership(address newOwner) external onlyRole(DEFAULT_ADMIN_ROLE) {
        address previousOwner = _deploymentConfig.owner;
        require(newOwner != address(0), "Contract must have an owner");
        require(newOwner != previousOwner, "Already the owner");
        _revokeRole(ADMIN_ROLE, previousOwner);
        _revokeRole(DEFAULT_ADMIN_ROLE, previousOwner);
        _deploymentConfig.owner = newOwner;
        _grantRole(ADMIN_ROLE, newOwner);
        _grantRole(DEFAULT_ADMIN_ROLE, newOwner);
        emit OwnershipTransferred(previousOwner, newOwner);
    }

    /// @notice Moves the caller's admin role to another account; the owner uses `transferOwnership`.
    function transferAdminRights(address to) external onlyRole(ADMIN_ROLE) {
        require(to != address(0), "Admin cannot be null");
        require(!hasRole(ADMIN_ROLE, to), "Already an admin");
        require(msg.sender != _deploymentConfig.owner, "Use transferOwnership");
        _revokeRole(ADMIN_ROLE, msg.sender);
        _grantRole(ADMIN_ROLE, to);
    }

    function _checkRoyalties(RuntimeConfig memory config) private pure {
        require(config.royaltiesBps <= ROYALTIES_BASIS, "Royalties too high");
    }

    function _checkLimits(RuntimeConfig memory config, uint256 otherStringBytes) private pure {
        require(config.publicMintPrice < 2 ** 88 && config.presaleMintPrice < 2 ** 88, "Price too large");
        require(_fitsTime(config.publicMintStart) && _fitsTime(config.presaleMintStart), "Start time too large");
        uint256 stringBytes = otherStringBytes + bytes(config.baseURI).length + bytes(config.prerevealTokenURI).length;
        require(stringBytes <= MAX_STRING_BYTES, "Strings too long");
    }

    function _fitsTime(uint256 time) private pure returns (bool) {
        return time < 2 ** 40 - 1 || time == NEVER;
    }

    function _same(string memory a, string memory b) private pure returns (bool) {
        return keccak256(bytes(a)) == keccak256(bytes(b));
    }

    /// @dev ERC-4906 and ERC-7572 events; declaring them would add them to the ABI.
    function _logRaw(bytes32 topic, bytes memory data) private {
        assembly ("memory-safe") {
            log1(add(data, 32), mload(data), topic)
        }
    }

    // ------------------------------------------------------------------ transfers

    /// @inheritdoc ERC721A
    function safeTransferFrom(address from, address to, uint256 tokenId, bytes memory _data) public override {
        transferFrom(from, to, tokenId);
        if (to.code.length != 0) _notify(from, to, tokenId, _data);
    }

    // ------------------------------------------------------------------ reading

    /// @notice Whether the public sale takes buyers now.
    function mintingActive() public view returns (bool) {
        return block.timestamp > _runtimeConfig.publicMintStart;
    }

    /// @notice Whether the presale takes buyers now; a start of zero means that there is no presale.
    function presaleActive() public view returns (bool) {
        return _runtimeConfig.presaleMintStart != 0 && block.timestamp > _runtimeConfig.presaleMintStart;
    }

    /// @notice Whether `proof` admits `wallet` to the presale; reverts for a wallet that used its turn.
    function isWhitelisted(address wallet, bytes32[] calldata proof) public view returns (bool) {
        require(!_presaleUsed[wallet], "Already minted");
        return MerkleProof.verifyCalldata(proof, _runtimeConfig.presaleMerkleRoot, keccak256(abi.encodePacked(wallet)));
    }

    /// @notice Tokens left for sale; the reserve is not part of it.
    function availableSupply() public view returns (uint256) {
        return _deploymentConfig.maxSupply - totalSupply() - _reserveRemaining;
    }

    /// @notice Tokens left for `reserveMint`.
    function reserveRemaining() external view returns (uint256) {
        return _reserveRemaining;
    }

    /// @inheritdoc ERC721A
    function tokenURI(uint256 tokenId) public view override returns (string memory) {
        require(_exists(tokenId), "Token does not exist");
        string memory base = _runtimeConfig.baseURI;
        if (bytes(base).length == 0) return _runtimeConfig.prerevealTokenURI;
        return string.concat(base, tokenId.toString());
    }

    /// @notice ERC-7572 record of the collection as a data URL.
    function contractURI() external view returns (string memory) {
        bytes memory json = abi.encodePacked(
            '{"seller_fee_basis_points": ',
            _runtimeConfig.royaltiesBps.toString(),
            ', "fee_recipient": "',
            _runtimeConfig.royaltiesAddress.toHexString(),
            '"}'
        );
        return string.concat("data:application/json;base64,", Base64.encode(json));
    }

    /// @notice ERC-2981: what a sale of `tokenId` at `salePrice` owes, and to whom.
    function royaltyInfo(uint256 tokenId, uint256 salePrice)
        external
        view
        returns (address receiver, uint256 royaltyAmount)
    {
        tokenId; // one rate for all tokens; the name is part of the ABI

        receiver = _runtimeConfig.royaltiesAddress;
        royaltyAmount = (salePrice * _runtimeConfig.royaltiesBps) / ROYALTIES_BASIS;
    }

    /// @notice The whole configuration in one answer.
    function getInfo() external view returns (ContractInfo memory info) {
        return ContractInfo(VERSION, _deploymentConfig, _runtimeConfig);
    }

    /// @inheritdoc ERC721A
    function supportsInterface(bytes4 interfaceId) public view override(ERC721A, AccessControl) returns (bool) {
        return interfaceId == type(IERC2981).interfaceId || interfaceId == 0x49064906
            || ERC721A.supportsInterface(interfaceId) || AccessControl.supportsInterface(interfaceId);
    }

    /// @inheritdoc ERC721A
    function name() public view override returns (string memory) {
        return _deploymentConfig.name;
    }

    /// @inheritdoc ERC721A
    function symbol() public view override returns (string memory) {
        return _deploymentConfig.symbol;
    }

    function owner() external view returns (address) {
        return _deploymentConfig.owner;
    }

    function maxSupply() external view returns (uint256) {
        return _deploymentConfig.maxSupply;
    }

    function reservedSupply() external view returns (uint256) {
        return _deploymentConfig.reservedSupply;
    }

    function tokensPerMint() external view returns (uint256) {
        return _deploymentConfig.tokensPerMint;
    }

    function treasuryAddress() external view returns (address payable) {
        return _deploymentConfig.treasuryAddress;
    }

    function baseURI() external view returns (string memory) {
        return _runtimeConfig.baseURI;
    }

    function prerevealTokenURI() external view returns (string memory) {
        return _runtimeConfig.prerevealTokenURI;
    }

    function metadataUpdatable() external view returns (bool) {
        return _runtimeConfig.metadataUpdatable;
    }

    function publicMintPrice() external view returns (uint256) {
        return _runtimeConfig.publicMintPrice;
    }

    function presaleMintPrice() external view returns (uint256) {
        return _runtimeConfig.presaleMintPrice;
    }

    function publicMintStart() external view returns (uint256) {
        return _runtimeConfig.publicMintStart;
    }

    function presaleMintStart() external view returns (uint256) {
        return _runtimeConfig.presaleMintStart;
    }

    function presaleMerkleRoot() external view returns (bytes32) {
        return _runtimeConfig.presaleMerkleRoot;
    }
}
