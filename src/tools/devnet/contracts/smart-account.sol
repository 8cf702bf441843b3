// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// A contract account with one owner, whose signatures are its own (ERC-1271).
contract SmartAccount is IERC1271 {
    address public immutable owner;

    error NotOwner();
    error CallFailed(bytes reason);

    constructor(address owner_) {
        owner = owner_;
    }

    receive() external payable {}

    function isValidSignature(
        bytes32 hash,
        bytes calldata signature
    ) external view returns (bytes4) {
        bool isOwners = SignatureChecker.isValidSignatureNowCalldata(owner, hash, signature);
        return isOwners ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }

    function execute(address target, uint256 value, bytes calldata data) external {
        require(msg.sender == owner, NotOwner());
        (bool isDone, bytes memory answer) = target.call{value: value}(data);
        require(isDone, CallFailed(answer));
    }
}

/// Deploys accounts at addresses that are known before (ERC-6492). What exists is not deployed again.
contract SmartAccountFactory {
    function createAccount(
        address owner,
        uint256 nonce
    ) external virtual returns (address account) {
        account = getAddress(owner, nonce);
        if (account.code.length == 0) new SmartAccount{salt: bytes32(nonce)}(owner);
    }

    function getAddress(address owner, uint256 nonce) public view returns (address) {
        bytes memory code = abi.encodePacked(type(SmartAccount).creationCode, abi.encode(owner));
        return Create2.computeAddress(bytes32(nonce), keccak256(code));
    }
}
