// SPDX-License-Identifier: MIT

/// Simulates transfers, and reads the accounts that they move money between.
///
/// Its creation code is the data of an `eth_call` without a `to`: it is deployed nowhere. Behind the
/// code stand the transfers: the called contract, token, payer and payee, 20 bytes each, the length of the
/// calldata in 2 bytes, and the calldata. What it returns is 224 bytes for each, as
/// src/core/chain/transfer-probe.ts reads them. A node takes that for code to deploy, which must not begin with
/// 0xef (EIP-3541): so no hash stands first.
///
/// Where payers have named who makes the call, an `eth_call` gives that account all of this as its code (a state
/// override), and the calls are made by that account.
object "TransferProbe" {
  code {
    let first := datasize("TransferProbe")
    let end := codesize()
    let trial := datasize("Trial")
    let results := 0x1000
    datacopy(32, dataoffset("Trial"), trial)
    // Creation code that deploys what follows it.
    mstore(0, 0x600b380380600b3d393df3)

    // Each transfer by itself: a trial reverts, and with it what it changed and what it warmed up
    // (EIP-2929). So each meets the state of the block, and costs what it costs alone.
    let count := 0
    for { let at := first } lt(at, end) { count := add(count, 1) } {
      let size := sizeAt(at)
      // Results stand behind all that trials may take: a trial is copied in front of them.
      codecopy(add(32, trial), at, size)
      switch extcodesize(address())
      case 0 { pop(create(0, 32, add(trial, size))) }
      default {
        let deployed := create(0, 21, add(11, add(trial, size)))
        pop(delegatecall(gas(), deployed, 0, 0, 0, 0))
      }
      if eq(returndatasize(), 192) { returndatacopy(add(results, mul(count, 224)), 0, 192) }
      at := add(at, size)
    }

    // What transfers of a token that share a transaction pay once: the first access to a token costs more.
    let index := 0
    for { let at := first } lt(at, end) { index := add(index, 1) } {
      codecopy(0, at, 80)
      let token := shr(96, mload(20))
      let payee := shr(96, mload(60))
      let size := sizeAt(at)
      mstore(0, shl(224, 0x70a08231)) // balanceOf(address)
      mstore(4, payee)
      let before := gas()
      pop(staticcall(100000, token, 0, 36, 0, 0))
      let between := gas()
      pop(staticcall(100000, token, 0, 36, 0, 0))
      let cold := sub(before, between)
      let warm := sub(between, gas())
      if gt(cold, warm) { mstore(add(add(results, mul(index, 224)), 192), sub(cold, warm)) }
      at := add(at, size)
    }
    return(results, mul(count, 224))

    /// Bytes of the transfer that begins there.
    function sizeAt(at_) -> bytes_ {
      let scratch := add(32, datasize("Trial"))
      codecopy(scratch, add(at_, 80), 2)
      bytes_ := add(82, shr(240, mload(scratch)))
    }
  }

  object "Trial" {
    code {
      let size := sub(codesize(), datasize("Trial"))
      codecopy(0x200, datasize("Trial"), size)
      let target := shr(96, mload(0x200))
      let token := shr(96, mload(0x214))
      let payer := shr(96, mload(0x228))
      let payee := shr(96, mload(0x23c))
      let length := sub(size, 82)

      // Code of a payer's would run in the transfer, with gas at its disposal: it is not run here.
      if extcodesize(payer) { mstore(32, extcodehash(payer)) }
      // The token is not touched before: what it costs to reach it belongs to the transfer, unless it is called itself.
      let isThere := gt(extcodesize(target), 0)
      if iszero(isThere) { mstore(0, 3) }
      if and(iszero(extcodesize(payer)), isThere) {
        // 12: this subtraction, and reading a length that is not the same for all.
        let before := sub(gas(), 12)
        let done := call(500000, target, 0, 0x252, length, 0, 0)
        mstore(64, sub(before, gas()))
        mstore(0, add(done, 1))
      }
      mstore(96, balanceOf(token, payer))
      mstore(128, balanceOf(token, payee))
      // What is called by a token's own payer needs no allowance.
      if iszero(eq(target, token)) { mstore(160, allowance(token, payer)) }
      revert(0, 192)

      function balanceOf(token_, account) -> held {
        mstore(0x180, shl(224, 0x70a08231))
        mstore(0x184, account)
        held := ask(token_, 36)
      }

      /// What Permit2 may take.
      function allowance(token_, account) -> allowed {
        mstore(0x180, shl(224, 0xdd62ed3e))
        mstore(0x184, account)
        mstore(0x1a4, 0x000000000022d473030f116ddee9f6b43ac78ba3)
        allowed := ask(token_, 68)
      }

      function ask(token_, size_) -> value {
        let done := staticcall(100000, token_, 0x180, size_, 0x1c8, 32)
        value := not(0)
        if and(done, gt(returndatasize(), 31)) { value := mload(0x1c8) }
      }
    }
  }
}
