// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {SmartAccount, SmartAccountFactory} from "smart-account.sol";

/// A token whose transfers do what a test says. Anybody may mint and change its mind.
contract OddToken is ERC20 {
    enum Mode {
        Fair,
        Fee,
        Twice,
        Nothing,
        OnlyLogs,
        AnswersNo,
        AnswersNothing,
        ApprovesFromZero
    }

    /// Where the fee goes.
    address public constant COLLECTOR = address(0xFEE);

    Mode public mode;

    constructor() ERC20("", "") {}

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address to, uint256 value) external {
        _mint(to, value);
    }

    function behave(Mode mode_) external {
        mode = mode_;
    }

    function transferFrom(
        address from,
        address to,
        uint256 value
    ) public override returns (bool) {
        super.transferFrom(from, to, value);
        if (mode == Mode.AnswersNothing) {
            assembly {
                return(0, 0)
            }
        }
        return mode != Mode.AnswersNo;
    }

    function approve(address spender, uint256 value) public override returns (bool) {
        bool isFromZero = value == 0 || allowance(_msgSender(), spender) == 0;
        require(isFromZero || mode != Mode.ApprovesFromZero);
        return super.approve(spender, value);
    }

    /// A tenth is the fee. An answer of no is no transfer.
    function _update(address from, address to, uint256 value) internal override {
        if (
            from == address(0) ||
            mode == Mode.Fair ||
            mode == Mode.AnswersNothing ||
            mode == Mode.ApprovesFromZero
        ) {
            super._update(from, to, value);
        } else if (mode == Mode.Fee) {
            super._update(from, COLLECTOR, value / 10);
            super._update(from, to, value - value / 10);
        } else if (mode == Mode.Twice) {
            super._update(from, to, value);
            super._update(from, to, value);
        } else if (mode == Mode.OnlyLogs) {
            emit Transfer(from, to, value);
        }
    }
}

/// For accounts with a key that delegate to it (EIP-7702): says yes to what that key has signed.
contract OwnKeyDelegate is IERC1271 {
    function isValidSignature(
        bytes32 hash,
        bytes calldata signature
    ) external view returns (bytes4) {
        (address signer, , ) = ECDSA.tryRecover(hash, signature);
        return
            signer == address(this) ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// Deploys another account than it has announced.
contract ElsewhereFactory is SmartAccountFactory {
    function createAccount(address owner, uint256 nonce) external override returns (address) {
        return address(new SmartAccount{salt: bytes32(nonce + 1)}(owner));
    }
}

/// Deploys an account once, and fails from then on, as Safe's factory does.
contract StrictFactory is SmartAccountFactory {
    function createAccount(address owner, uint256 nonce) external override returns (address) {
        return address(new SmartAccount{salt: bytes32(nonce)}(owner));
    }
}

/// Says no, whoever has signed.
contract RefusingAccount {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return 0xffffffff;
    }
}

/// Deploys what it has announced, and that refuses.
contract RefusingFactory {
    function createAccount(address, uint256 nonce) external returns (address) {
        return address(new RefusingAccount{salt: bytes32(nonce)}());
    }

    function getAddress(address, uint256 nonce) external view returns (address) {
        bytes32 code = keccak256(type(RefusingAccount).creationCode);
        return Create2.computeAddress(bytes32(nonce), code);
    }
}
