// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// What a payer's client and a facilitator use of Circle's FiatTokenV2_2, as Base Sepolia's USDC
/// presents it, on OpenZeppelin's ERC-3009. Anyone may mint: it is play money.
///
/// Its runtime code is placed at Circle's address without running a constructor there. So whatever
/// OpenZeppelin's ERC20 would keep in storage is a pure function here, and whatever EIP712 keeps in
/// immutables is written into the code by compile.mjs.
contract USDC is ERC3009 {
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
    ) external {
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
}
