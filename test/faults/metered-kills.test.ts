/** Processes that are killed between what a handler has charged and its settlement. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import type { SettleResponse } from '../../src/shared/protocol/payment.js'
import { permit2Of } from '../tools/devnet/permit2.js'
import { useDevnet } from '../support/devnet.js'
import { decodeDocument, paymentHeader } from '../support/http.js'
import { isSend } from '../support/rpc-proxy.js'
import { signUpTo } from '../support/sign-up-to.js'
import { until } from '../support/until.js'
import type { GatewayProcess } from './gateway-process.js'
import { openWorld, type World } from './world.js'

const devnet = useDevnet()
const permit2 = permit2Of(devnet)
const payer = () => devnet.payers[0]!

const TEST_MS = 900_000

beforeAll(async () => {
  await permit2.approve(payer().address)
})

const sign = async (gateway: GatewayProcess) =>
  signUpTo(await fetch(`${gateway.url}/metered`), payer())

/** Presents a payment to a handler that charges an amount. @returns The settlement of what was sold. */
async function present(
  gateway: GatewayProcess,
  payment: object,
  charge: string,
): Promise<SettleResponse | undefined> {
  const headers = { ...paymentHeader(payment), 'x-test-charge': charge }
  const response = await fetch(`${gateway.url}/metered`, { headers }).catch(() => undefined)
  if (response?.status !== 200) return undefined
  return decodeDocument<SettleResponse>(response.headers.get('payment-response'))
}

/** Kills a gateway at its first request of a kind. */
function killOnce(
  { proxy }: World,
  gateway: GatewayProcess,
  [when, is]: readonly ['before' | 'after', (method: string) => boolean],
): void {
  let done = false
  proxy.fault = (method) => {
    if (done || !is(method)) return undefined
    if (when === 'before') {
      done = true
      gateway.signal('SIGKILL')
      return { kind: 'drop_request' }
    }
    return {
      kind: 'inspect',
      see(result) {
        if (done || result === null || result === undefined) return 'pass'
        done = true
        gateway.signal('SIGKILL')
        return 'drop'
      },
    }
  }
}

const isNonce = (method: string): boolean => method === 'eth_getTransactionCount'
const isReceipt = (method: string): boolean => method === 'eth_getTransactionReceipt'

describe('a process that is killed while it settles what was charged', () => {
  it.each([
    ['before anything is written', ['before', isNonce]],
    ['after the write-ahead, before the send', ['before', isSend]],
    ['after the send', ['after', isSend]],
    ['after the receipt', ['after', isReceipt]],
  ] as const)(
    '%s, has one charge, and its successor gives what it was for',
    async (_moment, when) => {
      const world = await openWorld(devnet, { hasSync: false })
      try {
        const first = await world.start()
        const payment = await sign(first)
        killOnce(world, first, when)
        expect(await present(first, payment, '2000')).toBeUndefined()
        await first.kill()
        world.proxy.fault = undefined
        const next = await world.start()
        let settlement: SettleResponse | undefined
        await until(async () => {
          // What was charged before is what it buys, whatever its handler would charge now.
          settlement = await present(next, payment, '5000')
          return settlement !== undefined
        })
        expect(settlement).toMatchObject({ success: true, amount: '2000' })
        const { transfers } = await world.evidence()
        expect(transfers.map(({ value }) => value)).toEqual([2000n])
        expect(await world.records()).toMatchObject([
          {
            state: 'settled',
            value: 10_000n,
            charged: 2000n,
            transaction: transfers[0]?.transaction,
          },
        ])
        expect(await present(next, payment, '2000')).toBeUndefined()
      } finally {
        await world.close()
      }
    },
    TEST_MS,
  )
})
