import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { privateKeyToAddress } from 'viem/accounts'
import { startDevnet } from '../../src/tools/devnet/index.js'
import type { Hex, PaymentPayload } from '../../src/shared/protocol/payment.js'
import {
  burningWalletCode,
  deploy,
  originWalletCode,
  twoFacedWalletCode,
  walletCode,
} from '../support/contracts.js'
import { askNode, minedCount } from '../support/core.js'
import { shopOptions } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { openShop, paymentRequiredOf } from '../support/shop.js'
import { newNonce, type TestPayer } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { untilDecided } from '../support/until-decided.js'
import { useOpened } from '../support/use-opened.js'

/** Whatever the wallet is asked: a signature of no key. */
const APPROVED: Hex = `0x${'a1'.repeat(32)}`

/** Gas that all of an attack may take of us. */
const MOST_GAS_LOST = 1_100_000n

/** Code that takes all gas that it is given. */
const BURN_ALL: Hex = '0xfe'

describe('a wallet that costs more than it pays', () => {
  let shop: Awaited<ReturnType<typeof openShop>>
  let runs = 0
  let losses: bigint[] = []
  const devnet = useOpened(() => startDevnet({ blockTime: 1 }))

  const open = async (acceptContractPayers?: boolean) => {
    const { networks } = shopOptions(devnet)
    const accept = acceptContractPayers === undefined ? {} : { acceptContractPayers }
    shop = await openShop(
      devnet,
      (app, { x402Protect }) => {
        app.get('/report', x402Protect('$0.01'), (_req, res) => {
          runs++
          res.json({ report: 'for the payer' })
        })
      },
      { networks: { 'base-sepolia': { ...networks!['base-sepolia'], ...accept } } },
    )
    shop.gateway.on('relayerLoss', ({ gas }) => losses.push(gas))
  }
  beforeEach(async () => {
    runs = 0
    losses = []
    await open()
  })
  afterEach(() => shop.close())

  const sign = async (wallet: Hex): Promise<PaymentPayload> => {
    const nobody = { address: wallet, privateKey: newNonce() }
    const payment = await shop.sign('/report', nobody)
    return { ...payment, payload: { ...payment.payload, signature: APPROVED } }
  }
  const newWallet = async (code: Hex): Promise<Hex> => {
    const wallet = await deploy(devnet, code)
    await devnet.mint(wallet, 1_000_000n)
    return wallet
  }
  const presentTo = (url: string) => (payment: PaymentPayload) =>
    untilDecided(() => shop.pay(url, payment))
  const attack = async (wallets: readonly Hex[]): Promise<readonly string[]> => {
    const payments = await Promise.all(wallets.map(sign))
    const responses = await Promise.all(payments.map(presentTo('/report')))
    return responses.map((response) =>
      response.ok ? 'served' : (paymentRequiredOf(response).error ?? ''),
    )
  }
  const sent = async (): Promise<number> => {
    const { signers } = await shop.gateway.facilitator.supported()
    const relayers = Object.values(signers).flat() as Hex[]
    const counts = await Promise.all(relayers.map((relayer) => minedCount(devnet, relayer)))
    return counts.reduce((sum, count) => sum + count, 0)
  }
  /** Gas that our reverted transactions have taken since a block. */
  const gasLostSince = (first: bigint): Promise<bigint> => gasSince(first, '0x0')
  const gasUsedSince = (first: bigint): Promise<bigint> => gasSince(first, '0x1')
  const gasSince = async (first: bigint, wanted: Hex): Promise<bigint> => {
    const last = BigInt(await askNode<Hex>(devnet, 'eth_blockNumber'))
    let sum = 0n
    for (let block = first; block <= last; block++) {
      const receipts = await askNode<{ status: Hex; gasUsed: Hex }[]>(
        devnet,
        'eth_getBlockReceipts',
        `0x${block.toString(16)}`,
      )
      for (const { status, gasUsed } of receipts) if (status === wanted) sum += BigInt(gasUsed)
    }
    return sum
  }
  const blockNumber = async (): Promise<bigint> =>
    BigInt(await askNode<Hex>(devnet, 'eth_blockNumber'))
  const expectHonestServed = async (): Promise<void> => {
    const payer: TestPayer = await newPayer(devnet)
    const payment = await shop.sign('/report', payer)
    expect((await presentTo('/report')(payment)).status).toBe(200)
  }

  it('is never sent if it approves only while gas costs nothing', async () => {
    const wallet = await newWallet(twoFacedWalletCode)
    const before = await sent()
    const answers = await attack(Array.from({ length: 40 }, () => wallet))
    expect(new Set(answers)).toEqual(new Set(['invalid_exact_evm_payload_signature']))
    expect(runs).toBe(0)
    expect(await sent()).toBe(before)
    await expectHonestServed()
  })

  it('is refused by verify if it takes too much gas, and nothing runs', async () => {
    const wallet = await newWallet(burningWalletCode(50_000))
    const before = await sent()
    const answers = await attack(Array.from({ length: 20 }, () => wallet))
    expect(new Set(answers)).toEqual(new Set(['settlement_too_expensive']))
    expect(runs).toBe(0)
    expect(await sent()).toBe(before)
    const payment = await sign(wallet)
    const { accepted } = payment
    const verified = await shop.gateway.facilitator.verify(payment, accepted as never)
    expect(verified).toMatchObject({ isValid: false, invalidReason: 'settlement_too_expensive' })
    const settled = await shop.gateway.facilitator.settle(payment, accepted as never)
    expect(settled).toMatchObject({ success: false, errorReason: 'settlement_too_expensive' })
  })

  /**
   * Pays from wallets that approve until every payment was sent or refused, and then burn all gas: no
   * simulation before could tell.
   *
   * @param codeOf - The code of each wallet.
   */
  const attackUnmined = async (
    wallets: readonly Hex[],
    codeOf: (index: number) => Hex = () => walletCode(APPROVED),
  ): Promise<readonly string[]> => {
    const { refused = [], submitted = [] } = shop.events
    const decided = (): number =>
      (shop.events.refused?.length ?? 0) + (shop.events.submitted?.length ?? 0)
    const before = refused.length + submitted.length
    await askNode(devnet, 'evm_setIntervalMining', 0)
    const place = (codes: (index: number) => Hex): Promise<unknown> =>
      Promise.all(
        wallets.map((wallet, index) => askNode(devnet, 'anvil_setCode', wallet, codes(index))),
      )
    await place(codeOf)
    const answers = attack(wallets)
    // Of one wallet, all but four wait until those are mined.
    const goAhead = Math.min(wallets.length, 4 * new Set(wallets).size)
    await until(() => decided() - before >= goAhead)
    await place(() => BURN_ALL)
    await askNode(devnet, 'evm_mine')
    await askNode(devnet, 'evm_setIntervalMining', 1)
    return answers
  }
  /** Buys honestly. @returns The gas that it took. */
  const earn = async (wallet: Hex, count: number) => {
    const first = await blockNumber()
    for (let index = 0; index < count; index++) expect(await attack([wallet])).toEqual(['served'])
    return { gasUsed: await gasUsedSince(first) }
  }
  const newAccounts = (count: number): Promise<Hex[]> =>
    Promise.all(Array.from({ length: count }, async () => (await newPayer(devnet)).address))

  it('costs the relayer little if one wallet approves until its transaction is mined, again and again', async () => {
    const first = await blockNumber()
    const [wallet] = await newAccounts(1)
    const forty = Array.from({ length: 40 }, () => wallet!)
    const answers = await attackUnmined(forty)
    const again = await attackUnmined(forty)
    expect(answers).toContain('invalid_transaction_state')
    expect(answers).not.toContain('served')
    expect(new Set(again)).toEqual(new Set(['payer_temporarily_refused']))
    expect(await gasLostSince(first)).toBeLessThan(MOST_GAS_LOST)
    await expectHonestServed()
  })

  it('costs the relayer little if many wallets of one code do so', async () => {
    const first = await blockNumber()
    const answers = await attackUnmined(await newAccounts(40))
    expect(answers).not.toContain('served')
    expect(answers).toContain('payer_temporarily_refused')
    expect(await gasLostSince(first)).toBeLessThan(MOST_GAS_LOST)
    await expectHonestServed()
  })

  it('is refused with all wallets of code once too much was lost, which is logged once', async () => {
    const first = await blockNumber()
    for (let round = 0; round < 10 && losses.length === 0; round++) {
      // Each of a code of its own.
      await attackUnmined(
        await newAccounts(20),
        (index): Hex =>
          `${walletCode(APPROVED)}${(round * 20 + index).toString(16).padStart(4, '0')}`,
      )
    }
    const honest = await newWallet(walletCode(APPROVED))
    expect(await attack([honest])).toEqual(['payer_temporarily_refused'])
    expect(losses).toHaveLength(1)
    expect(await gasLostSince(first)).toBeLessThan(6_000_000n)
    await expectHonestServed()
  })

  it('costs at most half of what its code has earned before, and no other wallet is refused', async () => {
    const buyer = await newWallet(walletCode(APPROVED))
    const { gasUsed } = await earn(buyer, 25)
    const first = await blockNumber()
    for (let round = 0; round < 4; round++) await attackUnmined(await newAccounts(12))
    expect(await gasLostSince(first)).toBeLessThan(MOST_GAS_LOST + gasUsed / 2n)
    const other = await newWallet(`${walletCode(APPROVED)}c0de`)
    expect(await attack([other])).toEqual(['served'])
    await expectHonestServed()
  })

  it('is not sent by a relayer whose transactions it fails', async () => {
    const [own] = devnet.relayerKeys.map((key) => privateKeyToAddress(key))
    const first = (await blockNumber()) + 1n
    const wallets = await Promise.all(
      Array.from({ length: 14 }, () => newWallet(originWalletCode(own!))),
    )
    const answers = await attack(wallets)
    expect(answers).not.toContain('invalid_transaction_state')
    expect(await gasLostSince(first)).toBe(0n)
    await expectHonestServed()
  })

  it('is refused by a network that accepts no accounts with code, which accepts others', async () => {
    await shop.close()
    await open(false)
    const answers = await attack([await newWallet(walletCode(APPROVED))])
    expect(answers).toEqual(['contract_payer_not_accepted'])
    expect(runs).toBe(0)
    await expectHonestServed()
  })
})
