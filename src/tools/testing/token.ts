/** Calls of the local chain's token. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Devnet } from '../devnet/index.js'
import { word } from '../devnet/mint.js'
import { sendBatch } from '../devnet/send-batch.js'
import type { Hex } from '../../shared/protocol/payment.js'

const BALANCE_OF = '0x70a08231'
const NONCES = '0x7ecebe00'
const TRANSFER = '0xa9059cbb'
const BLACKLIST = '0xf9f92be4'
const UN_BLACKLIST = '0x1a895266'

/** Holds a payer's tokens while their payment is made to fail. */
const AWAY: Hex = '0x000000000000000000000000000000000000dEaD'
const TRANSFER_GAS = '0x30d40'
const RECEIPT_POLL_MS = 5
/** 1000 ETH, in wei. */
const GAS_MONEY = '0x3635c9adc5dea00000'

export async function balanceOf({ rpcUrl, asset }: Devnet, account: Hex): Promise<bigint> {
  const call = { to: asset, data: `${BALANCE_OF}${word(account)}` }
  const [balance] = await sendBatch(rpcUrl, [['eth_call', call, 'latest']])
  return BigInt(balance as Hex)
}

/** Reads the nonce of an account's next signed approval (EIP-2612). */
export async function permitNonceOf({ rpcUrl, asset }: Devnet, account: Hex): Promise<bigint> {
  const call = { to: asset, data: `${NONCES}${word(account)}` }
  const [nonce] = await sendBatch(rpcUrl, [['eth_call', call, 'latest']])
  return BigInt(nonce as Hex)
}

/** Takes all tokens of an account. @returns The amount in atomic units. */
export async function emptyAccount(devnet: Devnet, account: Hex): Promise<bigint> {
  const amount = await balanceOf(devnet, account)
  await sendAs(devnet, account, `${TRANSFER}${word(AWAY)}${word(amount)}`)
  return amount
}

/** Makes the token revert all transfers of an account, or stops that. */
export function setBlacklisted(devnet: Devnet, account: Hex, isListed: boolean): Promise<void> {
  return sendAs(devnet, account, `${isListed ? BLACKLIST : UN_BLACKLIST}${word(account)}`)
}

export async function fundGas({ rpcUrl }: Devnet, account: Hex): Promise<void> {
  await sendBatch(rpcUrl, [['anvil_setBalance', account, GAS_MONEY]])
}

/** Calls the token from any account, impersonated. Resolves when it is mined. */
async function sendAs(devnet: Devnet, from: Hex, data: string): Promise<void> {
  const { rpcUrl, asset } = devnet
  await fundGas(devnet, from)
  await sendBatch(rpcUrl, [['anvil_impersonateAccount', from]])
  const transaction = { from, to: asset, gas: TRANSFER_GAS, data }
  const [hash] = await sendBatch(rpcUrl, [['eth_sendTransaction', transaction]])
  await untilMined(devnet, hash as Hex)
}

/** Waits until a transaction is in a block, or the node does not know it. */
export async function untilMined({ rpcUrl }: Devnet, transaction: Hex): Promise<void> {
  for (;;) {
    const [found, receipt] = await sendBatch(rpcUrl, [
      ['eth_getTransactionByHash', transaction],
      ['eth_getTransactionReceipt', transaction],
    ])
    if (found === null || receipt !== null) return
    await sleep(RECEIPT_POLL_MS)
  }
}
