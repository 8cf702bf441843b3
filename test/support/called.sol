// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// A contract that is called by an executor, and behaves well or badly.
contract Called {
    event Done(address caller, uint256 what);

    /// Succeeds only if this address calls.
    function onlyFrom(address caller, uint256 what) external {
        require(msg.sender == caller, "somebody else");
        emit Done(msg.sender, what);
    }

    /// Takes all of the gas that it was promised; fails if it was given less.
    function takeAll(uint256 promised, uint256 what) external {
        require(gasleft() + 400 > promised, "starved");
        emit Done(msg.sender, what);
        while (gasleft() > 300) {}
    }

    function burn() external pure {
        while (true) {}
    }

    function refuse() external pure {
        revert("no");
    }

    /// Returns so many zeros.
    function returnMuch(uint256 size) external pure {
        assembly {
            return(0, size)
        }
    }

    /// Fails with so many zeros.
    function revertMuch(uint256 size) external pure {
        assembly {
            revert(0, size)
        }
    }

    /// Calls back, and succeeds only if that is refused.
    function comeBack(address target, bytes calldata data) external {
        (bool done, ) = target.call(data);
        require(!done, "let in");
        emit Done(msg.sender, 0);
    }
}
