import { once } from 'node:events'
import { PAYERS } from './accounts.js'
import { OwnFile } from './own-file.js'
import { type DevnetInfo, type DevnetOptions, openDevnet } from './start-devnet.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { waitUntilMined, word } from './mint.js'
import { sendBatch } from './send-batch.js'

export interface DevnetCommand extends Pick<DevnetOptions, 'port' | 'blockTime'> {
  /** File for the `X402_*` variables of the default gateway; otherwise JSON goes to `write`. */
  readonly environmentFile?: string | undefined
  /** Writes one line, given without its line break. */
  readonly write: (line: string) => void
  /** Called with the chain's URL after that. */
  readonly onReady?: (rpcUrl: string) => void
  readonly signal: AbortSignal
}

/**
 * Runs a local chain until the signal aborts, and writes its data: `DevnetInfo` as one line of JSON, or
 * variables to a file.
 *
 * @throws {@link ConfigError} when an option is invalid, anvil is not installed, or the file is another
 * program's.
 * @throws Error when anvil cannot start, or ends by itself.
 */
export async function runDevnetCommand({
  environmentFile,
  write,
  onReady,
  signal,
  ...options
}: DevnetCommand): Promise<void> {
  if (signal.aborted) return
  const aborted = once(signal, 'abort')
  const file = environmentFile === undefined ? undefined : new OwnFile(environmentFile)
  await file?.check()
  const { devnet, exited } = await openDevnet(options)
  let lastWords: string | undefined
  try {
    if (!signal.aborted) {
      // The buyer of `pay --devnet` and BUYER_KEY: routes with a maximum need the approval.
      await approvePermit2(devnet, PAYERS[0]!.address)
      if (file === undefined) write(JSON.stringify(devnet))
      else await file.write(environmentFor(devnet))
      onReady?.(devnet.rpcUrl)
    }
    lastWords = await Promise.race([exited, aborted.then(() => undefined)])
  } finally {
    await devnet.close()
  }
  if (lastWords !== undefined) throw new Error(`anvil ended: ${lastWords}`)
}

/** Writes the default gateway's variables for this chain, as lines of a `.env` file. */
function environmentFor({ rpcUrl, relayerKeys, merchant, payers }: DevnetInfo): string {
  return [
    '# Valid while this devnet runs. The keys are public: never send them real money.',
    'X402_NETWORK=base-sepolia',
    `X402_RPC_URL=${rpcUrl}`,
    `X402_RELAYER_KEY=${relayerKeys[0]}`,
    `X402_PAY_TO=${merchant.address}`,
    '# A buyer with a million test USDC.',
    `BUYER_KEY=${payers[0]?.privateKey}`,
  ].join('\n')
}

/** `approve(address,uint256)` */
const APPROVE_SELECTOR = '0x095ea7b3'
const UNLIMITED = 2n ** 256n - 1n

/** Lets Permit2 take an account's USDC, as buyers do once, in a transaction of their own. */
async function approvePermit2({ rpcUrl, asset, permit2 }: DevnetInfo, owner: Hex): Promise<void> {
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
