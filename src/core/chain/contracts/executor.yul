// SPDX-License-Identifier: MIT

/// Makes a list of calls for its relayers, each of which may fail by itself: `upto` payments, whose
/// proxy wants to be called by the address that the payer has signed.
///
/// It keeps nothing: no storage, no owner, no funds (it takes none), and nobody has a reason to approve it.
/// So calls are not restricted: all that a relayer can do here and not by itself is to settle what payers
/// have signed for this address, up to their maximum and to their payee.
///
/// Its creation code is followed by the relayers, 20 bytes each, ascending. Its code ends with them too: its
/// address follows from them (EIP-1014), and its code alone proves who may call it.
object "Executor" {
  code {
    let start := dataoffset("Executor_deployed")
    let size := sub(codesize(), start)
    codecopy(0, start, size)
    return(0, size)
  }

  object "Executor_deployed" {
    code {
      // Code that a call runs, of a token or of a payer, cannot come back here: it is no relayer.
      let isRelayer := 0
      for { let at := datasize("Executor_deployed") } lt(at, codesize()) { at := add(at, 20) } {
        codecopy(12, at, 20)
        if eq(mload(0), caller()) {
          isRelayer := 1
          break
        }
      }
      // execute((address to, uint256 gas, bytes data)[])
      let isExecute := eq(shr(224, calldataload(0)), 0x3f707e6b)
      if or(iszero(and(isRelayer, isExecute)), callvalue()) { revert(0, 0) }

      let list := add(calldataload(4), 4)
      let first := add(list, 32)
      let end := add(first, mul(calldataload(list), 32))
      for { let at := first } lt(at, end) { at := add(at, 32) } {
        let one := add(first, calldataload(at))
        let limit := calldataload(add(one, 32))
        let data := add(one, calldataload(add(one, 64)))
        let size := calldataload(data)
        calldatacopy(0, add(data, 32), size)
        // A call gets the gas that it was given, never less because an earlier one took it: otherwise the
        // whole transaction fails. A 64th stays here (EIP-150); 5400 pays for reaching an account and the
        // code that it delegates to (EIP-2929, EIP-7702).
        if lt(gas(), add(limit, add(div(limit, 63), 5400))) { revert(0, 0) }
        // What it returns is not copied: its length would be at our cost.
        pop(call(limit, calldataload(one), 0, 0, size, 0, 0))
      }
    }
  }
}
