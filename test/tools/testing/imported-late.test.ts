import express from 'express'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { RELAYER_KEYS } from '../../../src/tools/devnet/accounts.js'
import { defaultGateway } from '../../../src/gateway/default-gateway.js'

const VARIABLES = {
  X402_NETWORK: 'base-sepolia',
  X402_RPC_URL: 'http://127.0.0.1:9',
  X402_RELAYER_KEY: RELAYER_KEYS[0],
  X402_PAY_TO: '0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec',
}

let end: () => Promise<void>
beforeAll(() => {
  Object.assign(process.env, VARIABLES)
  const gateway = defaultGateway()
  end = () => gateway.close()
})
afterAll(async () => {
  for (const name of Object.keys(VARIABLES)) delete process.env[name]
  await end()
})

describe('a test kit that is imported after the app', () => {
  it('refuses an app on the default gateway, and sells from one that is given its gateway', async () => {
    const gateway = defaultGateway()
    const app = express().get('/report', gateway.x402Protect('$0.25'))
    const { startTestShop } = await import('../../../src/tools/testing/index.js')
    await expect(startTestShop(app)).rejects.toThrow(/import express-x402-gateway\/testing first/)
    await expect(startTestShop(() => app)).rejects.toMatchObject({ code: 'config_invalid' })
    const shop = await startTestShop(({ x402Protect }) =>
      express().get('/report', x402Protect('$0.25'), (_req, res) => void res.send('sold')),
    )
    try {
      expect(await (await shop.buy('/report')).text()).toBe('sold')
    } finally {
      await shop.close()
    }
  })
})
