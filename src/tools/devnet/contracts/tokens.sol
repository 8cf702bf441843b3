// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// Play money. No constructor runs: names are functions, immutables are filled in.
abstract contract PlayMoney is ERC20 {
    function mint(address to, uint256 value) external {
        _mint(to, value);
    }

    /// All payers in one call, so that every local chain starts alike.
    function mintEach(address[] calldata to, uint256 value) external {
        for (uint256 i = 0; i < to.length; ++i) _mint(to[i], value);
    }
}

/// Has EIP-2612 and no ERC-3009: its transfers are paid by Permit2, which a signature approves.
contract PermitToken is PlayMoney, ERC20Permit {
    constructor() ERC20("", "") ERC20Permit("Permit Token") {}

    function name() public pure override returns (string memory) {
        return "Permit Token";
    }

    function symbol() public pure override returns (string memory) {
        return "PERMIT";
    }

    function version() external pure returns (string memory) {
        return "1";
    }
}

/// Has nothing but ERC-20, and as many decimals as the USDC.
contract PlainToken is PlayMoney {
    constructor() ERC20("", "") {}

    function name() public pure override returns (string memory) {
        return "Plain Token";
    }

    function symbol() public pure override returns (string memory) {
        return "PLAIN";
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }
}
