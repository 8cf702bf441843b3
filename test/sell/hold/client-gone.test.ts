import { expect, it } from '@jest/globals'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { paymentRequiredOf, useShop } from '../../support/shop.js'
import { until } from '../../support/until.js'
import { resumeMining, payAndLeave } from '../../support/mining.js'

const devnet = useDevnet()
let runs = 0
let gone = 0
const shop = useShop(devnet, (app, { x402Protect }) => {
  app.use((_req, res, next) => {
    res.on('close', () => gone++)
    next()
  })
  app.get('/', x402Protect('$0.01'), (_req, res) => void res.send(String(++runs)))
  app.get(
    '/upfront',
    x402Protect('$0.01', { paymentFlow: 'upfront' }),
    (_req, res) => void res.send(String(++runs)),
  )
})

it.each(['/', '/upfront'])(
  'a client that disconnects while its payment is mined gets its answer once later: %s',
  async (path) => {
    const before = await balanceOf(devnet, devnet.merchant.address)
    const payment = await shop.sign(path, devnet.payers[0]!)
    await payAndLeave(devnet, { url: shop.url + path, headers: paymentHeader(payment) }, () => gone)
    await resumeMining(devnet)

    // The chain has it a moment before the ledger has taken note that nobody was answered.
    await until(async () => (await shop.pay(path, payment)).status === 200)
    expect(paymentRequiredOf(await shop.pay(path, payment)).error).toBe(
      'invalid_exact_evm_nonce_already_used',
    )
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 10_000n)
  },
)
