// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {
    ReentrancyGuardTransient
} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Permit2, PermitTransferFrom, SignatureTransferDetails} from "./permit2.sol";

/// Our own implementation of x402's spenders of Permit2 payments (github.com/x402-foundation/x402): same
/// selectors, witnesses, errors, order of checks and events. This is what both have in common.
abstract contract Permit2Proxy is ReentrancyGuardTransient {
    // solhint-disable-next-line const-name-snakecase
    Permit2 public constant PERMIT2 = Permit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);

    struct EIP2612Permit {
        uint256 value;
        uint256 deadline;
        bytes32 r;
        bytes32 s;
        uint8 v;
    }

    event Settled();
    event SettledWithPermit();
    event EIP2612PermitFailedWithReason(
        address indexed token,
        address indexed owner,
        string reason
    );
    event EIP2612PermitFailedWithPanic(
        address indexed token,
        address indexed owner,
        uint256 errorCode
    );
    event EIP2612PermitFailedWithData(address indexed token, address indexed owner, bytes data);

    error InvalidAmount();
    error InvalidOwner();
    error InvalidDestination();
    error PaymentTooEarly();
    error Permit2612AmountMismatch();

    /// Who is paid, how much, and from when on.
    struct Terms {
        address to;
        uint256 amount;
        uint256 validAfter;
        bytes32 witness;
        string witnessTypeString;
    }

    function _pay(
        PermitTransferFrom calldata permit,
        address owner,
        Terms memory terms,
        bytes calldata signature
    ) internal {
        require(terms.amount > 0, InvalidAmount());
        require(owner != address(0), InvalidOwner());
        require(terms.to != address(0), InvalidDestination());
        require(block.timestamp >= terms.validAfter, PaymentTooEarly());
        PERMIT2.permitWitnessTransferFrom(
            permit,
            SignatureTransferDetails(terms.to, terms.amount),
            owner,
            terms.witness,
            terms.witnessTypeString,
            signature
        );
    }

    /// A permit that fails does not matter by itself: the allowance may be there.
    function _approve(
        EIP2612Permit calldata approval,
        PermitTransferFrom calldata permit,
        address owner
    ) internal {
        require(approval.value == permit.permitted.amount, Permit2612AmountMismatch());
        address token = permit.permitted.token;
        try
            IERC20Permit(token).permit(
                owner,
                address(PERMIT2),
                approval.value,
                approval.deadline,
                approval.v,
                approval.r,
                approval.s
            )
        {} catch Error(string memory reason) {
            emit EIP2612PermitFailedWithReason(token, owner, reason);
        } catch Panic(uint256 code) {
            emit EIP2612PermitFailedWithPanic(token, owner, code);
        } catch (bytes memory data) {
            emit EIP2612PermitFailedWithData(token, owner, data);
        }
    }
}

/// Moves exactly what was permitted. Anybody may call it.
// solhint-disable-next-line contract-name-capwords
contract x402ExactPermit2Proxy is Permit2Proxy {
    struct Witness {
        address to;
        uint256 validAfter;
    }

    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)";
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,uint256 validAfter)");

    function settle(
        PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _settle(permit, owner, witness, signature);
        emit Settled();
    }

    function settleWithPermit(
        EIP2612Permit calldata permit2612,
        PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _approve(permit2612, permit, owner);
        _settle(permit, owner, witness, signature);
        emit SettledWithPermit();
    }

    function _settle(
        PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        bytes32 hash = keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.validAfter));
        Terms memory terms = Terms(
            witness.to,
            permit.permitted.amount,
            witness.validAfter,
            hash,
            WITNESS_TYPE_STRING
        );
        _pay(permit, owner, terms, signature);
    }
}

/// Moves what the facilitator says, which is whom the payer has named, up to what was permitted.
// solhint-disable-next-line contract-name-capwords
contract x402UptoPermit2Proxy is Permit2Proxy {
    struct Witness {
        address to;
        address facilitator;
        uint256 validAfter;
    }

    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)";
    bytes32 public constant WITNESS_TYPEHASH =
        keccak256("Witness(address to,address facilitator,uint256 validAfter)");

    error AmountExceedsPermitted();
    error UnauthorizedFacilitator();

    function settle(
        PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _check(permit, amount, witness);
        _settle(permit, amount, owner, witness, signature);
        emit Settled();
    }

    function settleWithPermit(
        EIP2612Permit calldata permit2612,
        PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external nonReentrant {
        _check(permit, amount, witness);
        _approve(permit2612, permit, owner);
        _settle(permit, amount, owner, witness, signature);
        emit SettledWithPermit();
    }

    function _check(
        PermitTransferFrom calldata permit,
        uint256 amount,
        Witness calldata witness
    ) private view {
        require(amount <= permit.permitted.amount, AmountExceedsPermitted());
        require(msg.sender == witness.facilitator, UnauthorizedFacilitator());
    }

    function _settle(
        PermitTransferFrom calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        bytes32 hash = keccak256(
            abi.encode(WITNESS_TYPEHASH, witness.to, witness.facilitator, witness.validAfter)
        );
        Terms memory terms = Terms(
            witness.to,
            amount,
            witness.validAfter,
            hash,
            WITNESS_TYPE_STRING
        );
        _pay(permit, owner, terms, signature);
    }
}
