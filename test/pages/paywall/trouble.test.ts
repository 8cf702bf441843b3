/** What a buyer is told when a payment does not go through, and that nobody pays twice. */
import { afterEach, expect, it } from '@jest/globals'
import { useBrowser, withBrowser } from '../../support/use-browser.js'
import { ATTACK } from './shop.js'
import { until } from '../../support/until.js'
import { CENT, openBuyer, openWorld, PAY, type Buyer, type BuyerOptions } from './world.js'
import { useOpened } from '../../support/use-opened.js'

const browser = useBrowser()
const world = useOpened(() => openWorld({ settleTimeoutMs: 1000 }))
afterEach(() => {
  world.node.fault = undefined
  world.losesAnswers = false
})

/** Opens a paid page with a wallet. */
async function meet(path: string, options: BuyerOptions = {}): Promise<Buyer> {
  const buyer = await openBuyer(world, browser, {
    expected: /\b(402|503) \(|ERR_EMPTY_RESPONSE/,
    ...options,
  })
  await buyer.page.goto(world.url + path)
  return buyer
}

const FINISH = 'Finish my purchase (you will not be charged twice)'
const finish = (page: Buyer['page']) => page.getByRole('button', { name: FINISH }).click()

/** Pays, and loses the response. */
async function payUnheard(page: Buyer['page']): Promise<void> {
  world.losesAnswers = true
  await page.getByRole('button', { name: PAY }).click()
  await page.getByText('The connection broke').waitFor()
  world.losesAnswers = false
}

withBrowser('the paywall in trouble', () => {
  it('switches a wallet that is on another network', async () => {
    const { page, wallet } = await meet('/buy/json')
    await page.getByRole('button', { name: PAY }).click()
    await page.getByText('Paid.').waitFor()
    expect(wallet.asked).toContain('wallet_switchEthereumChain')
    expect(wallet.asked).not.toContain('wallet_addEthereumChain')
  })

  it('adds the network to a wallet that does not know it, by public endpoints only', async () => {
    const { page, wallet } = await meet('/buy/json', {
      wallet: { knows: ['0x1'], addsChains: true },
    })
    await page.getByRole('button', { name: PAY }).click()
    await page.getByText('Paid.').waitFor()
    expect(wallet.asked).toContain('wallet_addEthereumChain')
    expect(await page.content()).not.toContain('secret-provider-key')
  })

  it('does not sign on another network if the wallet stays there', async () => {
    const { page, wallet } = await meet('/buy/json', { wallet: { knows: ['0x1'] } })
    await page.getByRole('button', { name: PAY }).click()
    await page.getByText('You declined in the wallet. Nothing was paid.').waitFor()
    expect(wallet.signed).toEqual([])
  })

  it('does not ask for a signature that the balance does not cover, and leads to test money', async () => {
    const { page, wallet, complaints } = await meet('/buy/costly', { payer: 'poor' })
    await page.getByRole('button', { name: /^Pay 1,000\.00 USDC/ }).click()
    await page.getByText('You need 1,000.00 USDC').waitFor()
    const faucet = page.getByRole('link', { name: 'Get test money' })
    expect(await faucet.getAttribute('href')).toBe('https://faucet.circle.com')
    expect(wallet.signed).toEqual([])
    expect(complaints).toEqual([])
  })

  it('says why a payment was refused if the wallet cannot tell the balance', async () => {
    const { page, wallet } = await meet('/buy/costly', {
      payer: 'poor',
      wallet: { rpcUrl: undefined },
    })
    await page.getByRole('button', { name: /^Pay 1,000\.00 USDC/ }).click()
    await page.getByText('does not have enough of this token').waitFor()
    expect(wallet.signed).toHaveLength(1)
    expect(await page.evaluate('localStorage.length')).toBe(0)
  })

  it('pays nothing if the signature is declined, and can be tried again', async () => {
    const before = await world.earned()
    const { page, wallet, complaints } = await meet('/buy/json')
    wallet.behaviour = 'decline'
    await page.getByRole('button', { name: PAY }).click()
    await page.getByText('You declined in the wallet. Nothing was paid.').waitFor()
    expect(await world.earned()).toBe(before)
    wallet.behaviour = 'sign'
    await page.getByRole('button', { name: PAY }).click()
    await page.getByText('Paid.').waitFor()
    expect(await world.earned()).toBe(before + CENT)
    expect(complaints).toEqual([])
  })

  it.each([
    ['busy', 'Your wallet is already asking. Open it and answer there.'],
    ['locked', 'The wallet did not share an account. Unlock it'],
  ] as const)(
    'says what to do in a wallet that is %s, and can be tried again',
    async (is, words) => {
      const { page, wallet, complaints } = await meet('/buy/json')
      wallet.connecting = is
      await page.getByRole('button', { name: PAY }).click()
      await page.getByText(words).waitFor()
      wallet.connecting = 'share'
      await page.getByRole('button', { name: PAY }).click()
      await page.getByText('Paid.').waitFor()
      expect(complaints).toEqual([])
    },
  )

  it('forgets what it said about an account once another one takes its place', async () => {
    const { page } = await meet('/buy/costly', {
      payer: 'poor',
      wallet: { other: world.devnet.payers[0]! },
    })
    await page.getByRole('button', { name: /^Pay 1,000\.00 USDC/ }).click()
    await page.getByText('You need 1,000.00 USDC').waitFor()
    await page.getByRole('button', { name: 'Use another account' }).click()
    await page.getByText('You need 1,000.00 USDC').waitFor({ state: 'detached' })
    expect(await page.getByRole('button', { name: /^Pay 1,000\.00 USDC/ }).count()).toBe(1)
  })

  it("says that a crash of the seller's costs nothing and whom to ask, and lets the buyer pay again", async () => {
    const before = await world.earned()
    const { page, wallet } = await meet('/buy/crashes', { expected: /\b(402|500) \(/ })
    await page.getByRole('button', { name: PAY }).click()
    const told = page.getByText('The seller’s system failed (500), and you were not charged')
    await told.waitFor()
    expect(await told.textContent()).toContain(`ask ${new URL(world.url).host}.`)
    expect(await page.getByRole('button', { name: FINISH }).count()).toBe(0)
    await page.getByRole('button', { name: PAY }).click()
    await until(() => wallet.signed.length >= 2)
    expect(await world.earned()).toBe(before)
  })

  it('keeps the payment while the node is away, and presents the same one again', async () => {
    const before = await world.earned()
    const { page, wallet, complaints } = await meet('/buy/json')
    world.node.fault = () => ({ kind: 'drop_request' })
    await page.getByRole('button', { name: PAY }).click()
    await page.getByText('cannot take payments at the moment').waitFor()
    expect(await page.getByRole('button', { name: PAY }).count()).toBe(0)
    world.node.fault = undefined
    await until(async () => {
      await finish(page)
      await page
        .getByText('cannot take payments at the moment')
        .or(page.getByText('Paid.'))
        .waitFor()
      return (await page.getByText('Paid.').count()) > 0
    })
    expect(wallet.signed).toHaveLength(1)
    expect(await world.earned()).toBe(before + CENT)
    expect(complaints).toEqual([])
  })

  it('keeps asking for a payment whose transaction is not mined yet', async () => {
    const before = await world.earned()
    const { page, wallet, complaints } = await meet('/buy/json')
    // Sent, but neither the transaction nor its receipt is seen.
    world.node.fault = (method) =>
      /^eth_(sendRawTransaction|getTransactionReceipt)/.test(method)
        ? { kind: 'drop_request' }
        : undefined
    await page.getByRole('button', { name: PAY }).click()
    await page.getByText('was accepted and is not confirmed yet').waitFor()
    const link = page.getByRole('link', { name: 'View transaction' })
    expect(await link.getAttribute('href')).toMatch(/^https:\/\/sepolia\.basescan\.org\/tx\/0x/)
    expect(await page.getByRole('button').count()).toBe(0)
    world.node.fault = undefined
    await page.getByText('Paid.').waitFor()
    expect(wallet.signed).toHaveLength(1)
    expect(await world.earned()).toBe(before + CENT)
    expect(complaints).toEqual([])
  })

  it('presents a payment again whose response was lost, and pays once', async () => {
    const before = await world.earned()
    const { page, wallet, complaints } = await meet('/buy/article')
    const runs = world.runs['article'] ?? 0
    await payUnheard(page)
    expect(await page.getByRole('button', { name: PAY }).count()).toBe(0)
    await finish(page)
    await page.getByText('written by its own script').waitFor()
    expect(wallet.signed).toHaveLength(1)
    expect(world.runs['article']).toBe(runs + 1)
    expect(await world.earned()).toBe(before + CENT)
    expect(complaints).toEqual([])
  })

  it('has kept the payment after a reload, and signs no other beside it', async () => {
    const before = await world.earned()
    const { page, wallet } = await meet('/buy/json')
    await payUnheard(page)
    await page.reload()
    await page.getByText('You already approved this payment').waitFor()
    expect(await page.getByRole('button').allTextContents()).toEqual([FINISH])
    await finish(page)
    await page.getByText('Paid.').waitFor()
    expect(wallet.signed).toHaveLength(1)
    expect(await world.earned()).toBe(before + CENT)
  })

  it.each([
    ['an error of somebody in front of the gateway', 'wall'],
    ['another price', 'price'],
  ])('signs no other payment if a lost response is followed by %s', async (_what, kind) => {
    const before = await world.earned()
    const { page, wallet } = await meet('/buy/json')
    await payUnheard(page)
    expect(await world.earned()).toBe(before + CENT)
    const asked = (await (await fetch(`${world.url}/buy/json`)).json()) as { accepts: object[] }
    const accepts = asked.accepts.map((entry) => ({ ...entry, amount: '20000' }))
    const document = JSON.stringify({ ...asked, error: 'invalid_payment_requirements', accepts })
    const offer = Buffer.from(document).toString('base64')
    await page.route('**/buy/json', (route) =>
      route.fulfill(
        kind === 'wall' ? { status: 403 } : { status: 402, headers: { 'PAYMENT-REQUIRED': offer } },
      ),
    )
    await finish(page)
    await page.getByText('Your payment is safe').and(page.getByText('at the moment')).waitFor()
    expect(await page.getByRole('button', { name: PAY }).count()).toBe(0)
    await page.unrouteAll()
    await finish(page)
    await page.getByText('Paid.').waitFor()
    expect([wallet.signed.length, await world.earned()]).toEqual([1, before + CENT])
  })

  it('shows what was bought though its price has changed since the response was lost', async () => {
    const before = await world.earned()
    const { page, wallet, complaints } = await meet('/buy/changing')
    await payUnheard(page)
    world.market.price = '$0.02'
    await finish(page)
    await page.getByRole('heading', { name: 'Bought for $0.01' }).waitFor()
    expect([wallet.signed.length, world.market.sold]).toEqual([1, 1])
    expect(await world.earned()).toBe(before + CENT)
    expect(complaints).toEqual([])
  })

  it('asks again if the price has risen since the page was loaded, and charges nothing', async () => {
    const before = await world.earned()
    const { page, wallet } = await meet('/buy/rising')
    await page.getByRole('button', { name: PAY }).click()
    await page.getByText('The offer has changed. Nothing was charged.').waitFor()
    await page.getByRole('button', { name: 'Pay 0.02 USDC with Test Wallet' }).waitFor()
    expect([wallet.signed.length, await world.earned()]).toEqual([1, before])
    await page.getByRole('button', { name: 'Pay 0.02 USDC with Test Wallet' }).click()
    await page.getByText('Paid.').waitFor()
    expect(await world.earned()).toBe(before + 2n * CENT)
  })

  it('shows everything that strangers have written as text, before and after the payment', async () => {
    const { page, complaints } = await meet(`/buy/attack/${encodeURIComponent(ATTACK)}`)
    await page.getByRole('heading', { name: ATTACK }).waitFor()
    await page.getByRole('button', { name: PAY }).click()
    await page.locator('pre').getByText(ATTACK).waitFor()
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(complaints).toEqual([])
  })

  it('does not pay for a form that it cannot send again', async () => {
    const { page, complaints } = await meet('/form')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('You came here by submitting a form').waitFor()
    expect(await page.getByRole('button').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('says who has paused, and that nothing was charged, if that happens while the page is open', async () => {
    const { page, wallet, complaints } = await meet('/buy/json')
    await page.getByRole('button', { name: PAY }).waitFor()
    const merchant = { payTo: world.devnet.merchant.address, name: 'Acme Books' }
    await world.restart({
      projects: [{ id: 'shop', paused: true, merchant: { ...merchant, crossCurrency: true } }],
    })
    await page.getByRole('button', { name: PAY }).click()
    await page.getByText('has paused payments. Nothing was charged.').waitFor()
    expect(await page.getByRole('button', { name: FINISH }).count()).toBe(0)
    expect([wallet.signed.length, await page.evaluate('localStorage.length')]).toEqual([1, 0])
    await page.reload()
    await page.getByText('Acme Books has paused payments. Nothing was charged.').waitFor()
    await world.restart()
    expect(complaints).toEqual([])
  })

  it('finds a wallet that is older than EIP-6963', async () => {
    const before = await world.earned()
    const { page } = await meet('/buy/json', { wallet: { isAnnounced: false } })
    await page.getByRole('button', { name: 'Pay 0.01 USDC', exact: true }).click()
    await page.getByText('Paid.').waitFor()
    expect(await world.earned()).toBe(before + CENT)
  })
})
