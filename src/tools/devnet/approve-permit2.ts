import type { Hex } from '../../shared/protocol/payment.js'
import { waitUntilMined, word } from './mint.js'
import { sendBatch } from './send-batch.js'
import type { DevnetInfo } from './start-devnet.js'

/** `approve(address,uint256)` */
const APPROVE_SELECTOR = '0x095ea7b3'
const UNLIMITED = 2n ** 256n - 1n

/** Lets Permit2 take an account's USDC, as buyers do once, in a transaction of their own. */
export async function approvePermit2(
  { rpcUrl, asset, permit2 }: DevnetInfo,
  owner: Hex,
): Promise<void> {
  const data = `${APPROVE_SELECTOR}${word(permit2)}${word(UNLIMITED)}`
  await sendBatch(rpcUrl, [
    ['anvil_setBalance', owner, `0x${(10n ** 18n).toString(16)}`],
    ['anvil_impersonateAccount', owner],
  ])
  const [hash] = await sendBatch(rpcUrl, [
    ['eth_sendTransaction', { from: owner, to: asset, data }],
  ])
  await sendBatch(rpcUrl, [['evm_mine']])
  await waitUntilMined(rpcUrl, hash)
  await sendBatch(rpcUrl, [
    ['anvil_stopImpersonatingAccount', owner],
    ['anvil_setBalance', owner, '0x0'],
  ])
}
