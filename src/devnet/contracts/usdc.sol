// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Pausable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Pausable.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// What a payer's client and a facilitator meet in Circle's FiatTokenV2_2, as Base Sepolia's USDC
/// presents it, on OpenZeppelin's ERC-3009. Anyone may mint, pause and blacklist: it is play money.
///
/// Its runtime code is placed behind an ERC-1967 proxy at Circle's address, and no constructor runs
/// there. So whatever OpenZeppelin's ERC20 would keep in storage is a pure function here, and whatever
/// EIP712 keeps in immutables, which is for the proxy's address, is written into the code by compile.mjs.
contract USDC is ERC3009, ERC20Pausable {
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

    function mint(address to, uint256 value) external {
        _mint(to, value);
    }

    /// All payers in one transaction, so that every local chain starts alike.
    function mintEach(address[] calldata to, uint256 value) external {
        for (uint256 i = 0; i < to.length; ++i) _mint(to[i], value);
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

    /// As FiatTokenV2_2 does it: smart accounts are asked in this form, too.
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

    /// The overload of FiatTokenV2_2 that smart accounts need: an address with code is asked
    /// (ERC-1271), one without must have signed.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        bytes32 digest = _hashTypedDataV4(
            keccak256(
                abi.encode(
                    TRANSFER_WITH_AUTHORIZATION_TYPEHASH,
                    from,
                    to,
                    value,
                    validAfter,
                    validBefore,
                    nonce
                )
            )
        );
        require(
            SignatureChecker.isValidSignatureNow(from, digest, signature),
            ERC3009InvalidSignature()
        );
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce);
    }

    /// Whatever moves money comes here. Who brings another's authorization may be blacklisted.
    function _update(
        address from,
        address to,
        uint256 value
    ) internal override(ERC20, ERC20Pausable) {
        require(
            !isBlacklisted[from] && !isBlacklisted[to],
            "Blacklistable: account is blacklisted"
        );
        super._update(from, to, value);
    }
}
