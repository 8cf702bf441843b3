// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Pausable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Pausable.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";
import {PlayMoney} from "./tokens.sol";

/// What a payer's client and a facilitator meet in Circle's FiatTokenV2_2, as Base Sepolia's USDC
/// presents it, on OpenZeppelin's ERC-3009. Anyone may mint, pause and blacklist: it is play money.
///
/// Its runtime code is placed behind an ERC-1967 proxy at Circle's address, and no constructor runs
/// there. So whatever OpenZeppelin's ERC20 would keep in storage is a pure function here, and whatever
/// EIP712 keeps in immutables, which is for the proxy's address, is written into the code by compile.mjs.
contract USDC is PlayMoney, ERC3009, ERC20Pausable, Nonces {
    bytes32 private constant PERMIT_TYPEHASH =
        keccak256(
            "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
        );

    mapping(address account => bool) public isBlacklisted;

    event Blacklisted(address indexed _account);
    event UnBlacklisted(address indexed _account);

    constructor() ERC20("USDC", "USDC") EIP712("USDC", "2") {}

    function name() public pure override returns (string memory) {
        return "USDC";
    }

    function symbol() public pure override returns (string memory) {
        return "USDC";
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function version() external pure returns (string memory) {
        return "2";
    }

    // solhint-disable-next-line func-name-mixedcase
    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    function pause() external {
        _pause();
    }

    function unpause() external {
        _unpause();
    }

    function blacklist(address account) external {
        isBlacklisted[account] = true;
        emit Blacklisted(account);
    }

    function unBlacklist(address account) external {
        isBlacklisted[account] = false;
        emit UnBlacklisted(account);
    }

    // As FiatTokenV2_2 has them: each signature in pieces or as bytes. An address with code is asked
    // (ERC-1271), in either form; one without must have signed.

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) public override {
        bytes memory signature = abi.encodePacked(r, s, v);
        transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, signature);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        bytes32 kind = TRANSFER_WITH_AUTHORIZATION_TYPEHASH;
        _transferSigned(kind, from, to, value, validAfter, validBefore, nonce, signature);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) public override {
        bytes memory signature = abi.encodePacked(r, s, v);
        receiveWithAuthorization(from, to, value, validAfter, validBefore, nonce, signature);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        require(to == msg.sender, "FiatTokenV2: caller must be the payee");
        bytes32 kind = RECEIVE_WITH_AUTHORIZATION_TYPEHASH;
        _transferSigned(kind, from, to, value, validAfter, validBefore, nonce, signature);
    }

    function cancelAuthorization(
        address authorizer,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) public override {
        cancelAuthorization(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    function cancelAuthorization(
        address authorizer,
        bytes32 nonce,
        bytes memory signature
    ) public {
        bytes32 message = keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce));
        require(_isSigned(authorizer, message, signature), ERC3009InvalidSignature());
        _cancelAuthorization(authorizer, nonce);
    }

    /// EIP-2612, with Circle's own errors.
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        permit(owner, spender, value, deadline, abi.encodePacked(r, s, v));
    }

    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        bytes memory signature
    ) public {
        require(deadline >= block.timestamp, "FiatTokenV2: permit is expired");
        bytes32 message = keccak256(
            abi.encode(PERMIT_TYPEHASH, owner, spender, value, _useNonce(owner), deadline)
        );
        require(_isSigned(owner, message, signature), "EIP2612: invalid signature");
        _approve(owner, spender, value);
    }

    function _transferSigned(
        bytes32 kind,
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) private {
        bytes32 message = keccak256(
            abi.encode(kind, from, to, value, validAfter, validBefore, nonce)
        );
        require(_isSigned(from, message, signature), ERC3009InvalidSignature());
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce);
    }

    function _isSigned(
        address signer,
        bytes32 message,
        bytes memory signature
    ) private view returns (bool) {
        return SignatureChecker.isValidSignatureNow(signer, _hashTypedDataV4(message), signature);
    }

    /// Whatever allows to spend, or spends what was allowed, comes here.
    function _approve(
        address owner,
        address spender,
        uint256 value,
        bool emitEvent
    ) internal override whenNotPaused {
        _requireGood(owner, spender);
        super._approve(owner, spender, value, emitEvent);
    }

    /// Without OpenZeppelin's exception: an allowance of all there is becomes smaller, too.
    function _spendAllowance(address owner, address spender, uint256 value) internal override {
        uint256 allowed = allowance(owner, spender);
        require(allowed >= value, ERC20InsufficientAllowance(spender, allowed, value));
        _approve(owner, spender, allowed - value, false);
    }

    /// Whatever moves money comes here. Who brings another's authorization may be blacklisted.
    function _update(
        address from,
        address to,
        uint256 value
    ) internal override(ERC20, ERC20Pausable) {
        _requireGood(from, to);
        super._update(from, to, value);
    }

    function _requireGood(address one, address other) private view {
        require(
            !isBlacklisted[one] && !isBlacklisted[other],
            "Blacklistable: account is blacklisted"
        );
    }
}
