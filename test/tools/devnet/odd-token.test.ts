import { beforeAll, describe, expect, it } from '@jest/globals'
import { oddTokenAbi } from './abis.js'
import { oddTokenCode } from './hostile-code.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { deploy } from '../../support/contracts.js'
import { useDevnet } from '../../support/devnet.js'
import { oddTokenModes } from './odd-token.js'
import { permit2Of, PRICE } from './permit2.js'

const devnet = useDevnet()
const { approve, balanceOf, pay, send, settleExact } = permit2Of(devnet)

describe('a token whose transfers are odd', () => {
  let token: Hex
  beforeAll(async () => {
    token = await deploy(devnet, oddTokenCode)
    await devnet.mint(devnet.payers[0]!.address, 1_000_000_000n, token)
    await approve(devnet.payers[0]!.address, token)
  })

  /** Pays by Permit2. @returns What the merchant has got, and how many transfers were logged. */
  async function settleWith(mode: keyof typeof oddTokenModes) {
    const args = [oddTokenModes[mode]]
    await send({ address: token, abi: oddTokenAbi, functionName: 'behave', args })
    const before = await balanceOf(devnet.merchant.address, token)
    const { logs } = await settleExact(
      (await pay('exact', devnet.payers[0]!, { token })).settlement,
    )
    return {
      received: (await balanceOf(devnet.merchant.address, token)) - before,
      transfers: logs.length - 1,
    }
  }

  it.each([
    ['fair', PRICE, 1],
    ['fee', (PRICE * 9n) / 10n, 2],
    ['twice', PRICE * 2n, 2],
    ['nothing', 0n, 0],
    ['onlyLogs', 0n, 1],
    ['answersNothing', PRICE, 1],
  ] as const)(
    'may be %s, which a payment by Permit2 survives',
    async (mode, received, transfers) => {
      expect(await settleWith(mode)).toEqual({ received, transfers })
    },
  )

  it('may answer no, which fails the payment', async () => {
    await expect(settleWith('answersNo')).rejects.toMatchObject({
      cause: { reason: 'TRANSFER_FROM_FAILED' },
    })
  })
})
