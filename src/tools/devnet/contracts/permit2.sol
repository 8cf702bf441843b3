// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

struct TokenPermissions {
    address token;
    uint256 amount;
}

struct PermitTransferFrom {
    TokenPermissions permitted;
    uint256 nonce;
    uint256 deadline;
}

struct SignatureTransferDetails {
    address to;
    uint256 requestedAmount;
}

/// Our own implementation of the signature transfers of Permit2 (github.com/Uniswap/permit2): same
/// selectors, EIP-712 types, errors, order of checks and event. It has no batches and no allowances.
contract Permit2 {
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)");
    bytes32 private constant TOKEN_PERMISSIONS_TYPEHASH =
        keccak256("TokenPermissions(address token,uint256 amount)");
    string private constant MEMBERS =
        "TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline";
    bytes32 private constant PERMIT_TYPEHASH =
        keccak256(
            abi.encodePacked(
                "PermitTransferFrom(",
                MEMBERS,
                ")TokenPermissions(address token,uint256 amount)"
            )
        );

    /// A bit for each used nonce, which all tokens and spenders of an owner share.
    mapping(address owner => mapping(uint256 word => uint256 bits)) public nonceBitmap;

    event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask);

    error InvalidNonce();
    error SignatureExpired(uint256 signatureDeadline);
    error InvalidAmount(uint256 maxAmount);
    error InvalidSigner();
    error InvalidSignature();
    error InvalidSignatureLength();
    error InvalidContractSignature();

    // solhint-disable-next-line func-name-mixedcase
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return
            keccak256(
                abi.encode(DOMAIN_TYPEHASH, keccak256("Permit2"), block.chainid, address(this))
            );
    }

    function permitTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes calldata signature
    ) external {
        bytes32 signed = keccak256(
            abi.encode(
                PERMIT_TYPEHASH,
                _hash(permit.permitted),
                msg.sender,
                permit.nonce,
                permit.deadline
            )
        );
        _transfer(permit, transferDetails, owner, signed, signature);
    }

    /// The type string begins with the witness's member and ends with the definitions of all types.
    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external {
        bytes32 signed = keccak256(
            abi.encode(
                keccak256(
                    abi.encodePacked("PermitWitnessTransferFrom(", MEMBERS, ",", witnessTypeString)
                ),
                _hash(permit.permitted),
                msg.sender,
                permit.nonce,
                permit.deadline,
                witness
            )
        );
        _transfer(permit, transferDetails, owner, signed, signature);
    }

    function invalidateUnorderedNonces(uint256 wordPos, uint256 mask) external {
        nonceBitmap[msg.sender][wordPos] |= mask;
        emit UnorderedNonceInvalidation(msg.sender, wordPos, mask);
    }

    function _transfer(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata transferDetails,
        address owner,
        bytes32 signed,
        bytes calldata signature
    ) private {
        uint256 amount = transferDetails.requestedAmount;
        require(block.timestamp <= permit.deadline, SignatureExpired(permit.deadline));
        require(amount <= permit.permitted.amount, InvalidAmount(permit.permitted.amount));
        _useNonce(owner, permit.nonce);
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), signed));
        if (owner.code.length == 0) _checkKey(owner, digest, signature);
        else _checkContract(owner, digest, signature);
        _move(permit.permitted.token, owner, transferDetails.to, amount);
    }

    function _useNonce(address owner, uint256 nonce) private {
        uint256 bit = 1 << (nonce & 255);
        uint256 bits = nonceBitmap[owner][nonce >> 8];
        require(bits & bit == 0, InvalidNonce());
        nonceBitmap[owner][nonce >> 8] = bits | bit;
    }

    /// 65 bytes, or 64 (ERC-2098). The upper half of `s` is taken, too.
    function _checkKey(address owner, bytes32 digest, bytes calldata signature) private pure {
        require(signature.length == 65 || signature.length == 64, InvalidSignatureLength());
        bytes32 s = bytes32(signature[32:64]);
        uint8 v;
        if (signature.length == 65) {
            v = uint8(signature[64]);
        } else {
            v = 27 + uint8(uint256(s) >> 255);
            s = bytes32((uint256(s) << 1) >> 1);
        }
        address signer = ecrecover(digest, v, bytes32(signature[:32]), s);
        require(signer != address(0), InvalidSignature());
        require(signer == owner, InvalidSigner());
    }

    function _checkContract(address owner, bytes32 digest, bytes calldata signature) private view {
        bytes4 answer = IERC1271(owner).isValidSignature(digest, signature);
        require(answer == IERC1271.isValidSignature.selector, InvalidContractSignature());
    }

    /// Whatever the token's error was, it is this one. A token that answers nothing, or has no code, has
    /// agreed.
    function _move(address token, address from, address to, uint256 amount) private {
        (bool isDone, bytes memory answer) = token.call(
            abi.encodeCall(IERC20.transferFrom, (from, to, amount))
        );
        bool isYes = answer.length >= 32 && uint256(bytes32(answer)) == 1;
        require(isDone && (answer.length == 0 || isYes), "TRANSFER_FROM_FAILED");
    }

    function _hash(TokenPermissions calldata permitted) private pure returns (bytes32) {
        return
            keccak256(abi.encode(TOKEN_PERMISSIONS_TYPEHASH, permitted.token, permitted.amount));
    }
}
