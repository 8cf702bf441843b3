import { request } from 'node:http'
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import type { Devnet } from '../../src/tools/devnet/index.js'
import { until } from './until.js'

/** Keeps transactions waiting from now on. `useDevnet` lets them go after the test. */
export async function stopMining({ rpcUrl }: Devnet): Promise<void> {
  await sendBatch(rpcUrl, [['evm_setAutomine', false]])
}

/** Mines what waits, and from now on each transaction at once. */
export async function resumeMining(devnet: Devnet): Promise<void> {
  await sendBatch(devnet.rpcUrl, [['evm_setAutomine', true]])
  await devnet.mine()
}

/** Keeps transactions waiting while something is done. */
export async function withoutMining<T>(devnet: Devnet, work: () => Promise<T>): Promise<T> {
  await stopMining(devnet)
  try {
    return await work()
  } finally {
    await resumeMining(devnet)
  }
}

/** Whether a node has transactions that are not mined; it goes on having them for a moment after. */
export async function hasWaiting({ rpcUrl }: Devnet): Promise<boolean> {
  const [status] = await sendBatch(rpcUrl, [['txpool_status']])
  return Number((status as { readonly pending: string }).pending) > 0
}

/** Waits until a transaction waits to be mined. */
export const untilSent = (devnet: Devnet): Promise<void> => until(() => hasWaiting(devnet))

/**
 * Pays, and leaves while the payment waits to be mined. Nothing is mined after that.
 *
 * @param countGone - How many clients the shop has seen go.
 */
export async function payAndLeave(
  devnet: Devnet,
  { url, headers }: { readonly url: string; readonly headers: Record<string, string> },
  countGone: () => number,
): Promise<void> {
  await stopMining(devnet)
  const client = request(url, { headers }).end()
  client.on('error', () => undefined)
  await untilSent(devnet)
  const before = countGone()
  client.destroy()
  await until(() => countGone() > before)
}
