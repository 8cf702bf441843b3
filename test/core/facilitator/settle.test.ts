import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { encodeFunctionData, keccak256, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex, PaymentPayload, SettleResponse } from '../../../src/shared/protocol/payment.js'
import { deploy, fakeTokenCode, type tokenPieces } from '../../support/contracts.js'
import {
  askNode,
  type Core,
  minedCount,
  offerOf,
  openCore,
  payingOn,
  termsOf,
  usdc,
} from '../../support/core.js'
import { failed } from '../../support/failed-settlement.js'
import { decoded } from '../../support/decoded.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { newNonce, signPayment } from '../../support/sign-payment.js'
import { transferOf } from '../../support/on-chain.js'
import { useStoppableClock } from '../../support/stopped-clock.js'
import { unattended } from '../../support/unattended.js'
import { until } from '../../support/until.js'
import { withoutMining } from '../../support/mining.js'

const PRICE = 10_000n
const devnet = useDevnet()
const clock = useStoppableClock()
const cores: Core[] = []
const proxies: RpcProxy[] = []

afterEach(async () => {
  for (const core of cores.splice(0)) core.close()
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()))
})

function open(options?: Parameters<typeof openCore>[1]): Core {
  const core = openCore(devnet, options)
  cores.push(core)
  return core
}

async function openProxied(
  options?: Parameters<typeof openCore>[1],
  node?: Parameters<typeof startRpcProxy>[1],
) {
  const proxy = await startRpcProxy(devnet.rpcUrl, node)
  proxies.push(proxy)
  return { proxy, core: open({ ...options, rpcUrl: proxy.url }) }
}

const { sign, reserve, settle, merchantBalance } = payingOn(devnet)
const keyOf = (payment: PaymentPayload) => decoded(payment, offerOf(devnet)).key
const count = (answers: readonly SettleResponse[], reason: string): number =>
  answers.filter((answer) => !answer.success && answer.errorReason === reason).length

/** Sends a call from somebody else's account, ahead of everything that waits. */
async function sendAhead(from: Hex, to: Hex, data: Hex): Promise<Hex> {
  const tip = '0x2540be400'
  const fees = { maxFeePerGas: '0x4a817c800', maxPriorityFeePerGas: tip, gas: '0x30d40' }
  return askNode(devnet, 'eth_sendTransaction', { from, to, data, ...fees })
}

const otherRelayer = () => privateKeyToAccount(devnet.relayerKeys[1]!).address

describe('settle', () => {
  it('moves the money once, and names the transaction', async () => {
    const core = open()
    const payment = await sign()
    const before = await merchantBalance()
    const answer = await settle(core, payment)
    expect(answer).toEqual({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: 'eip155:84532',
      payer: devnet.payers[0]!.address,
    })
    expect((await merchantBalance()) - before).toBe(PRICE)
    expect(core.happened()).toEqual(['verified', 'submitted', 'settled'])
    expect(core.events.at(-1)?.event).toMatchObject({
      project: 'shop',
      amount: '10000',
      transaction: answer.transaction,
    })
  })

  describe('with a named requester', () => {
    const USED = 'invalid_exact_evm_nonce_already_used'
    const asking = (core: Core, payment: PaymentPayload, asker?: string) =>
      core.facilitator.settle(payment, offerOf(devnet), { ...termsOf(devnet), purchase: { asker } })

    it('names the transaction again only to the first requester', async () => {
      const core = open({ settleTimeoutMs: 100 })
      const payment = { ...(await sign()), resource: { url: 'https://shop.example/goods' } }
      await withoutMining(devnet, () => asking(core, payment, 'first'))
      // Whoever takes up what was pending is who is told.
      const paid = await asking(core, payment, 'second')
      expect(paid).toMatchObject({ success: true })
      for (const asker of ['first', 'third', undefined]) {
        const other = await asking(core, payment, asker)
        expect(other).toMatchObject({ errorReason: USED })
        expect(other).not.toHaveProperty('settledBy')
      }
      const settledBy = paid.transaction
      expect(await asking(core, payment, 'second')).toMatchObject({ errorReason: USED, settledBy })
    })

    it.each([{}, null])(
      'binds a payment whose resource is %j to its requester',
      async (resource) => {
        const core = open({ settleTimeoutMs: 100 })
        const payment = { ...(await sign()), resource }
        await withoutMining(devnet, () => asking(core, payment, 'first'))
        expect(await asking(core, payment, 'second')).toEqual(failed(USED))
        expect(await asking(core, payment, 'first')).toMatchObject({ success: true })
      },
    )
  })

  it('names the network as the request did', async () => {
    const offer = offerOf(devnet, { network: 'base-sepolia' })
    const payment = await signPayment(devnet.payers[0]!, offer)
    const answer = await open().facilitator.settle(payment, offer)
    expect(answer).toMatchObject({ success: true, network: 'base-sepolia' })
  })

  it('never answers success twice, and settledBy names the transaction that paid', async () => {
    const core = open()
    const payment = await sign()
    const first = await settle(core, payment)
    const before = await merchantBalance()
    expect(await settle(core, payment)).toEqual({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
      errorMessage: expect.any(String),
      transaction: '',
      settledBy: first.transaction,
      network: 'eip155:84532',
      payer: devnet.payers[0]!.address,
    })
    expect(await merchantBalance()).toBe(before)
    expect(await core.facilitator.verify(payment, offerOf(devnet))).toMatchObject({
      invalidReason: 'invalid_exact_evm_nonce_already_used',
      invalidMessage: expect.any(String),
    })
  })

  it('settles a payment once if it comes twenty times at once, with one transaction', async () => {
    const core = open()
    const payment = await sign()
    const [balance, mined] = [
      await merchantBalance(),
      await minedCount(devnet, core.relayer.address),
    ]
    const answers = await Promise.all(Array.from({ length: 20 }, () => settle(core, payment)))
    expect(answers.filter(({ success }) => success)).toHaveLength(1)
    expect(count(answers, 'duplicate_settlement')).toBe(19)
    expect((await merchantBalance()) - balance).toBe(PRICE)
    expect((await minedCount(devnet, core.relayer.address)) - mined).toBe(1)
  })

  it('settles fifty payments that come at once, through one relayer', async () => {
    const core = open()
    const warnings: Error[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning)
    process.on('warning', onWarning)
    const before = await merchantBalance()
    const payments = await Promise.all(Array.from({ length: 50 }, (_, n) => sign(n % 10)))
    const answers = await Promise.all(payments.map((payment) => settle(core, payment)))
    expect(answers.filter(({ success }) => success)).toHaveLength(50)
    // They share transactions, as many as come while one is on its way.
    expect(new Set(answers.map(({ transaction }) => transaction)).size).toBeLessThan(25)
    expect((await merchantBalance()) - before).toBe(50n * PRICE)
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
  })

  it('takes two requests to the node when warm', async () => {
    const { proxy, core } = await openProxied({ ledger: unattended() }, { hasSync: true })
    clock.stop()
    await settle(core, await sign())
    proxy.methods.length = 0
    expect(await settle(core, await sign())).toMatchObject({ success: true })
    expect(proxy.methods).toEqual(['eth_call', 'eth_sendRawTransactionSync'])
  })

  it('takes one more request if the node does not answer with receipts', async () => {
    const { proxy, core } = await openProxied({ ledger: unattended() })
    clock.stop()
    await settle(core, await sign())
    proxy.methods.length = 0
    expect(await settle(core, await sign())).toMatchObject({ success: true })
    // A slow block is looked for more than once; each look is the same request.
    expect([...new Set(proxy.methods)].slice(0, 3)).toEqual([
      'eth_call',
      'eth_sendRawTransaction',
      'eth_getTransactionReceipt',
    ])
  })

  it('does not simulate a transfer again that it has just verified', async () => {
    const { proxy, core } = await openProxied()
    clock.stop()
    await settle(core, await sign())
    const payment = await sign()
    await core.facilitator.verify(payment, offerOf(devnet), termsOf(devnet))
    proxy.methods.length = 0
    expect(await settle(core, payment)).toMatchObject({ success: true })
    expect(proxy.methods).not.toContain('eth_call')
  })

  it('still recognises a transaction that it has replaced as its own', async () => {
    const { proxy, core } = await openProxied()
    const given: unknown[] = []
    proxy.fault = (method, [raw]) => {
      if (method !== 'eth_sendRawTransaction') return undefined
      given.push(raw)
      if (given.length > 1) return undefined
      return { kind: 'refuse', code: -32000, message: 'max fee per gas less than block base fee' }
    }
    const payment = await sign()
    const answer = await settle(core, payment)
    const hashes = given.map((raw) => keccak256(raw as Hex))
    expect(answer).toMatchObject({ success: true, transaction: hashes[1] })
    const record = await core.ledger.payments.find(keyOf(payment))
    expect(record).toMatchObject({ submission: { transaction: hashes[1], replaces: [hashes[0]] } })
  })

  it('refuses and forgets a payment that lapses between verify and settle', async () => {
    let now = Date.now()
    const core = open({ now: () => now })
    const payment = await sign()
    const reservation = await reserve(core, payment)
    now += 296_000
    expect(await reservation.settle()).toEqual(
      failed('invalid_exact_evm_payload_authorization_valid_before'),
    )
    expect(await core.ledger.payments.find(keyOf(payment))).toBeUndefined()
  })

  it('refuses a payment whose payer has spent his money meanwhile, and sends nothing', async () => {
    const core = open()
    const payer = { privateKey: newNonce() }
    const { address } = privateKeyToAccount(payer.privateKey)
    await devnet.mint(address, PRICE)
    const [first, second] = await Promise.all(
      [1, 2].map(() => signPayment({ ...payer, address }, offerOf(devnet))),
    )
    const reservation = await reserve(core, first!)
    // By another gateway: what is pending in this one is counted already.
    const other = open({ relayerKey: devnet.relayerKeys[1]! })
    expect(await settle(other, second!)).toMatchObject({ success: true })
    const mined = await minedCount(devnet, core.relayer.address)
    // What was found good a moment ago is not looked at again.
    await sleep(600)
    expect(await reservation.settle()).toEqual(failed('insufficient_funds'))
    expect(await minedCount(devnet, core.relayer.address)).toBe(mined)
    expect(core.happened().at(-1)).toBe('refused')
    await devnet.mint(address, PRICE)
    expect(await settle(core, first!)).toMatchObject({ success: true })
  })
})

describe('settle, when a reservation is released or reopened', () => {
  it('accepts a released payment again', async () => {
    const core = open()
    const payment = await sign()
    await (await reserve(core, payment)).release()
    expect(await settle(core, payment)).toMatchObject({ success: true })
  })

  it('delivers for a reopened payment once more, without a second transaction', async () => {
    const core = open()
    const payment = await sign()
    const reservation = await reserve(core, payment)
    const first = await reservation.settle()
    await reservation.reopen()
    const before = await merchantBalance()
    const verified = await core.facilitator.verify(payment, offerOf(devnet), termsOf(devnet))
    expect(verified).toMatchObject({ isValid: true })
    const answers = await Promise.all(Array.from({ length: 5 }, () => settle(core, payment)))
    expect(answers.filter(({ success }) => success)).toEqual([first])
    expect(await settle(core, payment)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
    expect(await merchantBalance()).toBe(before)
  })

  it('refuses a reopened payment that somebody without the signature presents', async () => {
    const core = open()
    const payment = await sign()
    const reservation = await reserve(core, payment)
    await reservation.settle()
    await reservation.reopen()
    const forged = {
      ...payment,
      payload: { ...payment.payload, signature: `0x${'11'.repeat(65)}` },
    }
    expect(await settle(core, forged)).toEqual(failed('invalid_exact_evm_payload_signature'))
  })

  it('releases a redeemed payment if its request fails', async () => {
    const core = open()
    const payment = await sign()
    const reservation = await reserve(core, payment)
    await reservation.settle()
    await reservation.reopen()
    const again = await reserve(core, payment)
    await again.release()
    expect(await settle(core, payment)).toMatchObject({ success: true })
  })
})

describe('settle, when the outcome is not known in time', () => {
  it('answers pending, and redeems the payment once among ten retries after it is mined', async () => {
    const core = open({ settleTimeoutMs: 100 })
    const payment = await sign()
    const before = await merchantBalance()
    const pending = await withoutMining(devnet, () => settle(core, payment))
    expect(pending).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      errorMessage: expect.any(String),
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    const answers = await Promise.all(Array.from({ length: 10 }, () => settle(core, payment)))
    const paid = answers.filter(({ success }) => success)
    expect(paid).toEqual([expect.objectContaining({ transaction: pending.transaction })])
    expect(await settle(core, payment)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
    expect((await merchantBalance()) - before).toBe(PRICE)
    expect(core.happened().filter((name) => name === 'settled')).toHaveLength(1)
  })

  it('answers retries with pending until it is mined, and then answers one retry', async () => {
    const core = open({ settleTimeoutMs: 1000 })
    const payment = await sign()
    await withoutMining(devnet, async () => {
      const { transaction } = await settle(core, payment)
      const answers = await Promise.all(Array.from({ length: 3 }, () => settle(core, payment)))
      expect(count(answers, 'settlement_pending')).toBe(1)
      expect(count(answers, 'duplicate_settlement')).toBe(2)
      const pending = answers.filter(({ transaction }) => transaction !== '')
      expect(pending).toMatchObject([{ errorReason: 'settlement_pending', transaction }])
    })
    expect(await settle(core, payment)).toMatchObject({ success: true })
  })

  it('finds the outcome in the background without a retry', async () => {
    const core = open({ settleTimeoutMs: 50 })
    const payment = await sign()
    await withoutMining(devnet, () => settle(core, payment))
    const { transaction } = await core.until('settled')
    expect(await core.ledger.payments.find(keyOf(payment))).toMatchObject({
      state: 'settled',
      locked: false,
      transaction,
    })
  })

  it('redeems a pending payment even if the relayer has run out of gas money', async () => {
    const relayerKey = newNonce()
    const { address } = privateKeyToAccount(relayerKey)
    await askNode(devnet, 'anvil_setBalance', address, '0xde0b6b3a7640000')
    const core = open({ settleTimeoutMs: 50, relayerKey })
    const payment = await sign()
    await withoutMining(devnet, () => settle(core, payment))
    await core.until('settled')
    await askNode(devnet, 'anvil_setBalance', address, '0x0')
    const poor = open({ relayerKey, ledger: core.ledger })
    expect(await settle(poor, payment)).toMatchObject({ success: true })
  })

  it('answers pending when the gateway is closed meanwhile, and stops watching', async () => {
    const core = open()
    const payment = await sign()
    await withoutMining(devnet, async () => {
      const answer = settle(core, payment)
      await core.until('submitted')
      core.close()
      expect(await answer).toEqual(failed('settlement_pending'))
    })
    expect(core.happened()).not.toContain('settled')
  })

  it('sends again what another process left open, and redeems it', async () => {
    const { proxy, core } = await openProxied({ settleTimeoutMs: 50 })
    const payment = await sign()
    proxy.fault = (method) =>
      method === 'eth_sendRawTransaction' ? { kind: 'drop_request' } : undefined
    expect(await settle(core, payment)).toEqual(failed('settlement_pending'))
    core.close()
    const successor = open({ ledger: core.ledger })
    expect(await settle(successor, payment)).toMatchObject({ success: true })
  })
})

describe('settle, when the transaction fails', () => {
  const erc20 = parseAbi(['function transfer(address to, uint256 value)'])

  it('answers that it failed, and refuses the payment with that reason until it can be sent again', async () => {
    const core = open()
    const privateKey = newNonce()
    const { address } = privateKeyToAccount(privateKey)
    await devnet.mint(address, PRICE)
    await askNode(devnet, 'anvil_setBalance', address, '0xde0b6b3a7640000')
    await askNode(devnet, 'anvil_impersonateAccount', address)
    const payment = await signPayment({ address, privateKey }, offerOf(devnet))
    const answer = await withoutMining(devnet, async () => {
      const settling = settle(core, payment)
      await core.until('submitted')
      const args = [otherRelayer(), PRICE] as const
      const data = encodeFunctionData({ abi: erc20, functionName: 'transfer', args })
      await sendAhead(address, devnet.asset, data)
      await devnet.mine()
      return settling
    })
    expect(answer).toMatchObject({
      success: false,
      errorReason: 'invalid_transaction_state',
      errorMessage: expect.any(String),
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect(core.happened().at(-1)).toBe('failed')
    expect(await settle(core, payment)).toEqual(answer)
    expect(await core.facilitator.verify(payment, offerOf(devnet), termsOf(devnet))).toMatchObject({
      invalidReason: 'invalid_transaction_state',
      invalidMessage: expect.any(String),
    })
    await devnet.mint(address, PRICE)
    expect(await settle(core, payment)).toMatchObject({ success: true })
  })

  async function frontRun(core: Core, payment: PaymentPayload, sender: Hex) {
    return withoutMining(devnet, async () => {
      const settling = settle(core, payment)
      await core.until('submitted')
      const transaction = await sendAhead(sender, devnet.asset, transferOf(payment))
      await devnet.mine()
      return { transaction, answer: await settling }
    })
  }

  it('counts the payment as paid once when a stranger sends the same authorization first', async () => {
    const core = open()
    const payment = await sign()
    const before = await merchantBalance()
    const { transaction, answer } = await frontRun(core, payment, otherRelayer())
    expect(answer).toMatchObject({ success: true, transaction })
    expect((await merchantBalance()) - before).toBe(PRICE)
    expect(await settle(core, payment)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
  })

  it("does not count the transaction of our own relayer in another process as a stranger's", async () => {
    const { proxy, core } = await openProxied()
    await settle(core, await sign())
    const payment = await sign()
    const before = await merchantBalance()
    proxy.fault = (method) => {
      if (method !== 'eth_sendRawTransaction') return undefined
      proxy.fault = undefined
      return sendAhead(core.relayer.address, devnet.asset, transferOf(payment)).then(
        () => undefined,
      )
    }
    const answer = await withoutMining(devnet, async () => {
      const settling = settle(core, payment)
      await core.until('submitted')
      const submitted = () => core.happened().filter((name) => name === 'submitted').length === 2
      await until(submitted)
      await devnet.mine()
      return settling
    })
    expect(answer).toEqual(failed('invalid_transaction_state'))
    expect((await merchantBalance()) - before).toBe(PRICE)
  })

  it('stays pending while the logs cannot be read, and is redeemed once they can', async () => {
    const { proxy, core } = await openProxied({ settleTimeoutMs: 500 })
    const payment = await sign()
    proxy.fault = (method) =>
      method === 'eth_getLogs' ? { kind: 'refuse', code: -32005, message: 'too far' } : undefined
    const { answer, transaction } = await frontRun(core, payment, otherRelayer())
    expect(answer).toEqual(failed('settlement_pending'))
    // A node that cannot answer is not asked without a pause.
    expect(proxy.methods.filter((method) => method === 'eth_getLogs').length).toBeLessThan(10)
    expect(await settle(core, payment)).toEqual(failed('settlement_pending'))
    proxy.fault = undefined
    expect(await settle(core, payment)).toMatchObject({ success: true, transaction })
    expect(await settle(core, payment)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
  })

  it.each<{ name: string; pieces: (keyof typeof tokenPieces)[] }>([
    { name: 'does nothing', pieces: [] },
    { name: 'only says that the authorization is used', pieces: ['used'] },
    { name: 'only says that money moved', pieces: ['transfer'] },
    { name: 'says twice that money moved', pieces: ['used', 'transfer', 'transfer'] },
    { name: 'says twice that the authorization is used', pieces: ['used', 'used', 'transfer'] },
    { name: 'says it in a form of its own', pieces: ['used', 'indexedTransfer'] },
  ])('reports a mismatch when the token $name', async ({ pieces }) => {
    const address = await deploy(devnet, fakeTokenCode(...pieces))
    const core = open({ assets: [{ ...usdc, address }] })
    const offer = offerOf(devnet, { asset: address })
    const payment = await signPayment(devnet.payers[0]!, offer)
    expect(await core.facilitator.settle(payment, offer)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_transfer_event_mismatch',
      errorMessage: expect.any(String),
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
  })

  it('counts as paid when the token logs each event once', async () => {
    const address = await deploy(devnet, fakeTokenCode('transfer', 'used'))
    const core = open({ assets: [{ ...usdc, address }] })
    const offer = offerOf(devnet, { asset: address })
    const payment = await signPayment(devnet.payers[0]!, offer)
    expect(await core.facilitator.settle(payment, offer)).toMatchObject({ success: true })
  })
})

describe('settle, where blocks take a second', () => {
  const slow = useDevnet({ blockTime: 1 })

  it('settles fifty payments that come at once', async () => {
    const core = openCore(slow)
    const offer = offerOf(slow)
    const payments = await Promise.all(
      Array.from({ length: 50 }, (_, n) => signPayment(slow.payers[n % 10]!, offer)),
    )
    const answers = await Promise.all(
      payments.map((payment) => core.facilitator.settle(payment, offer)),
    )
    expect(answers.filter(({ success }) => success)).toHaveLength(50)
    expect(await balanceOf(slow, slow.merchant.address)).toBe(50n * PRICE)
    core.close()
  })
})
