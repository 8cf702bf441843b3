// SPDX-License-Identifier: MIT

/// Simulates transfers, and reads the accounts that they move money between.
///
/// Its creation code is the data of an `eth_call` without a `to`: it is deployed nowhere. Behind the
/// code stand the transfers, 324 bytes each: the token's address in 32 bytes, and the calldata of
/// `transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)`.
/// What it returns is 192 bytes for each, as src/chain/transfer-probe.ts reads them. A node takes that
/// for code to deploy, which must not begin with 0xef (EIP-3541): so no hash stands first.
object "TransferProbe" {
  code {
    let first := datasize("TransferProbe")
    let count := div(sub(codesize(), first), 324)
    let trial := datasize("Trial")
    let results := 0x1000
    datacopy(0, dataoffset("Trial"), trial)

    // Each transfer by itself: a trial reverts, and with it what it changed and what it warmed up
    // (EIP-2929). So each meets the state of the block, and costs what it costs alone.
    for { let i := 0 } lt(i, count) { i := add(i, 1) } {
      codecopy(trial, add(first, mul(i, 324)), 324)
      pop(create(0, 0, add(trial, 324)))
      if eq(returndatasize(), 160) { returndatacopy(add(results, mul(i, 192)), 0, 160) }
    }

    // What transfers of a token that share a transaction pay once: the first access to a token costs more.
    for { let i := 0 } lt(i, count) { i := add(i, 1) } {
      codecopy(0, add(first, mul(i, 324)), 324)
      let token := mload(0)
      let payee := mload(68)
      mstore(0, shl(224, 0x70a08231)) // balanceOf(address)
      mstore(4, payee)
      let before := gas()
      pop(staticcall(100000, token, 0, 36, 0, 0))
      let between := gas()
      pop(staticcall(100000, token, 0, 36, 0, 0))
      let cold := sub(before, between)
      let warm := sub(between, gas())
      if gt(cold, warm) { mstore(add(add(results, mul(i, 192)), 160), sub(cold, warm)) }
    }
    return(results, mul(count, 192))
  }

  object "Trial" {
    code {
      codecopy(0x200, sub(codesize(), 324), 324)
      let token := mload(0x200)
      let payer := mload(0x224)
      let payee := mload(0x244)

      // Code of a payer's would run in the transfer, with gas at its disposal: it is not run here.
      if extcodesize(payer) { mstore(32, extcodehash(payer)) }
      if and(iszero(extcodesize(payer)), gt(extcodesize(token), 0)) {
        let before := gas()
        let done := call(500000, token, 0, 0x220, 292, 0, 0)
        mstore(64, sub(before, gas()))
        mstore(0, add(done, 1))
      }
      mstore(96, balanceOf(token, payer))
      mstore(128, balanceOf(token, payee))
      revert(0, 160)

      function balanceOf(token_, account) -> held {
        mstore(0x180, shl(224, 0x70a08231))
        mstore(0x184, account)
        let done := staticcall(100000, token_, 0x180, 36, 0x1c0, 32)
        held := not(0)
        if and(done, gt(returndatasize(), 31)) { held := mload(0x1c0) }
      }
    }
  }
}
