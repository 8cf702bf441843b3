import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import { LedgerError, RelayerError } from '../../../src/shared/errors.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import {
  askNode,
  type Core,
  minedCount,
  offerOf,
  openCore,
  payingOn,
  termsOf,
} from '../../support/core.js'
import { failed } from '../../support/failed-settlement.js'
import { decoded } from '../../support/decoded.js'
import { useDevnet } from '../../support/devnet.js'
import { startRpcProxy, type Fault, type RpcProxy } from '../../support/rpc-proxy.js'
import { newNonce, signPayment } from '../../support/sign-payment.js'
import { methodsOf, patchedLedger, type LedgerMethods } from '../../support/patched-ledger.js'
import { until } from '../../support/until.js'
import { useCleanup } from '../../support/cleanup.js'

const PRICE = 10_000n
const ONE_ETHER = '0xde0b6b3a7640000'
const devnet = useDevnet()
const toEnd = useCleanup()

async function open(
  options: Parameters<typeof openCore>[1] = {},
): Promise<{ proxy: RpcProxy; core: Core }> {
  const proxy = await startRpcProxy(devnet.rpcUrl)
  const core = openCore(devnet, { rpcUrl: proxy.url, ...options })
  toEnd.push(
    () => core.close(),
    () => proxy.close(),
  )
  return { proxy, core }
}

const { sign, settle, merchantBalance } = payingOn(devnet)
const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

/** Lets one fault happen to a method, so many times. */
function faulty(proxy: RpcProxy, method: string, ...faults: readonly Fault[]): void {
  const left = [...faults]
  proxy.fault = (asked) => (asked === method ? left.shift() : undefined)
}

describe('a node that cannot be reached', () => {
  const everywhere: [string, Fault, object][] = [
    ['breaks connections', { kind: 'drop_request' }, { code: 'chain_unreachable' }],
    ['has had too many requests', { kind: 'http', status: 429 }, { code: 'chain_unreachable' }],
    ['wants another key', { kind: 'http', status: 401 }, { code: 'chain_unreachable' }],
    ['is broken', { kind: 'http', status: 503 }, { code: 'chain_unreachable' }],
    ['answers no JSON', { kind: 'garble' }, { code: 'chain_unreachable' }],
    [
      'answers with an error of its own',
      { kind: 'refuse', code: -32005, message: 'limit exceeded' },
      { code: 'chain_unreachable' },
    ],
    ['answers null', { kind: 'answer', result: null }, { code: 'chain_refused' }],
    ['answers no hexadecimal', { kind: 'answer', result: 'zz' }, { code: 'chain_refused' }],
    ['is on another chain', { kind: 'answer', result: '0x1' }, { code: 'chain_mismatch' }],
  ]

  it.each(everywhere)('makes no payment invalid when it %s', async (_name, fault, expected) => {
    const { proxy, core } = await open()
    proxy.fault = () => fault
    const payment = await sign()
    const error = await rejection(core.facilitator.verify(payment, offerOf(devnet)))
    expect(error).toMatchObject({ name: 'ChainError', ...expected })
    expect(await rejection(settle(core, payment))).toMatchObject(expected)
    expect(core.happened()).toEqual([])
    proxy.fault = undefined
    expect(await settle(core, payment)).toMatchObject({ success: true })
  })

  it.each(everywhere)('reveals nothing of its URL when it %s', async (_name, fault) => {
    const { proxy, core } = await open()
    const { host, hostname } = new URL(proxy.url)
    const withUrl = fault.kind === 'refuse' ? { ...fault, message: `no ${proxy.url}` } : fault
    proxy.fault = () => withUrl
    const error = await rejection(core.facilitator.verify(await sign(), offerOf(devnet)))
    const shown = inspect(error, { depth: Infinity, showHidden: true })
    for (const secret of ['secret-provider-key', host, hostname])
      expect(shown).not.toContain(secret)
  })

  it('is given up when it is slow', async () => {
    const { proxy, core } = await open({ rpcTimeoutMs: 50 })
    proxy.fault = () => ({ kind: 'delay', ms: 300 })
    const error = await rejection(core.facilitator.verify(await sign(), offerOf(devnet)))
    expect(error).toMatchObject({ code: 'chain_unreachable' })
  })

  it('is asked again after one failure', async () => {
    const { proxy, core } = await open()
    faulty(proxy, 'eth_call', { kind: 'drop_answer' })
    expect(await core.facilitator.verify(await sign(), offerOf(devnet))).toMatchObject({
      isValid: true,
    })
  })

  it.each(['eth_getBalance', 'eth_getBlockByNumber', 'eth_estimateGas', 'eth_getTransactionCount'])(
    'prevents sending while %s fails, and the payment can be presented again',
    async (method) => {
      const { proxy, core } = await open()
      const payment = await sign()
      proxy.fault = (asked) => (asked === method ? { kind: 'http', status: 500 } : undefined)
      expect(await rejection(settle(core, payment))).toMatchObject({ code: 'chain_unreachable' })
      expect(proxy.methods).not.toContain('eth_sendRawTransaction')
      proxy.fault = undefined
      expect(await settle(core, payment)).toMatchObject({ success: true })
    },
  )

  it('gets a transaction without a tip if it cannot suggest one', async () => {
    const { proxy, core } = await open()
    const refusal = { kind: 'refuse', code: -32601, message: 'no such method' } as const
    proxy.fault = (method) => (method === 'eth_maxPriorityFeePerGas' ? refusal : undefined)
    expect(await settle(core, await sign())).toMatchObject({ success: true })
    expect(await core.chain.getFees()).toMatchObject({ maxPriorityFeePerGas: 0n })
  })
})

describe('an answer to a broadcast', () => {
  const lost: [string, Fault[]][] = [
    ['that is lost', [{ kind: 'drop_answer' }]],
    ['that is lost twice', [{ kind: 'drop_answer' }, { kind: 'drop_answer' }]],
    ['that is garbled', [{ kind: 'garble' }]],
    ['that is a time-out of the gateway before the node', [{ kind: 'http', status: 504 }]],
    ['whose request was lost', [{ kind: 'drop_request' }]],
    ['whose request was lost twice', [{ kind: 'drop_request' }, { kind: 'drop_request' }]],
    ['that is an internal error', [{ kind: 'refuse', code: -32603, message: 'something broke' }]],
    [
      'that is a time-out of the node',
      [{ kind: 'refuse', code: -32000, message: 'context deadline exceeded' }],
    ],
    [
      'that is lost, and then a refusal',
      [
        { kind: 'drop_answer' },
        { kind: 'refuse', code: -32000, message: 'insufficient funds for gas * price + value' },
      ],
    ],
    [
      'that is lost, and then too late',
      [{ kind: 'drop_answer' }, { kind: 'refuse', code: -32000, message: 'nonce too low' }],
    ],
    [
      'that says the node has it already',
      [{ kind: 'drop_answer' }, { kind: 'refuse', code: -32000, message: 'already known' }],
    ],
  ]

  it.each(lost)('is no failure if %s, and the payment is settled once', async (_name, faults) => {
    const { proxy, core } = await open()
    const before = await merchantBalance()
    faulty(proxy, 'eth_sendRawTransaction', ...faults)
    expect(await settle(core, await sign())).toMatchObject({ success: true })
    expect((await merchantBalance()) - before).toBe(PRICE)
    expect(core.happened()).toEqual(['verified', 'submitted', 'settled'])
    expect(await settle(core, await sign())).toMatchObject({ success: true })
  })

  it('is retried with the same transaction after one refusal', async () => {
    const { proxy, core } = await open()
    const payment = await sign()
    const before = await merchantBalance()
    const refusal = { kind: 'refuse', code: -32000, message: 'intrinsic gas too low' } as const
    faulty(proxy, 'eth_sendRawTransaction', refusal)
    expect(await settle(core, payment)).toMatchObject({ success: true })
    expect(core.happened()).toEqual(['verified', 'submitted', 'settled'])
    expect(await settle(core, payment)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
    expect((await merchantBalance()) - before).toBe(PRICE)
  })

  it('leaves the payment pending if the node refuses for now, and it is paid once later', async () => {
    const { proxy, core } = await open({ settleTimeoutMs: 200 })
    const payment = await sign()
    const before = await merchantBalance()
    let raw: unknown
    proxy.fault = (method, [param]) => {
      if (method !== 'eth_sendRawTransaction') return undefined
      raw ??= param
      return { kind: 'refuse', code: -32000, message: 'intrinsic gas too low' }
    }
    expect(await settle(core, payment)).toEqual(failed('settlement_pending'))
    await until(() => raw !== undefined)
    // A second node behind the same URL has got it nevertheless.
    await askNode(devnet, 'eth_sendRawTransaction', raw)
    await core.until('settled')
    expect(await settle(core, payment)).toMatchObject({ success: true })
    expect((await merchantBalance()) - before).toBe(PRICE)
  })
})

describe('a receipt', () => {
  const withheld: [string, Fault][] = [
    ['that is withheld', { kind: 'answer', result: null }],
    ['that cannot be asked for', { kind: 'http', status: 500 }],
    ['without logs', { kind: 'answer', result: { status: '0x1' } }],
    ['that is no object', { kind: 'answer', result: '0x' }],
    ['with logs that are none', { kind: 'answer', result: receiptWith([{ address: '0x' }]) }],
    ['with logs that are numbers', { kind: 'answer', result: receiptWith([1]) }],
  ]

  it.each(withheld)(
    'leaves the payment pending if %s, to be redeemed later',
    async (_name, fault) => {
      const { proxy, core } = await open({ settleTimeoutMs: 150 })
      const payment = await sign()
      const before = await merchantBalance()
      proxy.fault = (method) => (method === 'eth_getTransactionReceipt' ? fault : undefined)
      const pending = await settle(core, payment)
      expect(pending).toEqual(failed('settlement_pending'))
      expect(core.happened()).toContain('pending')
      proxy.fault = undefined
      await core.until('settled')
      const { transaction } = pending
      expect(await settle(core, payment)).toMatchObject({ success: true, transaction })
      expect((await merchantBalance()) - before).toBe(PRICE)
    },
  )
})

describe('a relayer without gas money', () => {
  it('sends nothing, and settles the payment after it was refilled', async () => {
    const relayerKey = newNonce()
    const { address } = privateKeyToAccount(relayerKey)
    const { core, proxy } = await open({ relayerKey })
    const payment = await sign()
    const error = await rejection(settle(core, payment))
    expect(error).toBeInstanceOf(RelayerError)
    expect(error).toMatchObject({ code: 'relayer_without_funds' })
    expect(proxy.methods).not.toContain('eth_sendRawTransaction')
    expect(core.events.at(-1)).toMatchObject({
      name: 'relayerLow',
      event: { relayer: address, balance: 0n },
    })
    await askNode(devnet, 'anvil_setBalance', address, ONE_ETHER)
    expect(await settle(core, payment)).toMatchObject({ success: true })
  })

  it('leaves the payment pending if the node refuses the transaction that it was given', async () => {
    const relayerKey = newNonce()
    const { address } = privateKeyToAccount(relayerKey)
    await askNode(devnet, 'anvil_setBalance', address, ONE_ETHER)
    const { core } = await open({ relayerKey })
    expect(await settle(core, await sign())).toMatchObject({ success: true })
    await askNode(devnet, 'anvil_setBalance', address, '0x0')
    const payment = await sign()
    // Somebody has the bytes now: they can be mined as soon as the relayer has money.
    const { transaction, ...pending } = await settle(core, payment)
    expect(pending).toMatchObject({ errorReason: 'settlement_pending' })
    await askNode(devnet, 'anvil_setBalance', address, ONE_ETHER)
    expect(await settle(core, payment)).toMatchObject({ success: true, transaction })
    expect(await minedCount(devnet, address)).toBe(2)
  })

  it('settles with little left, and warns', async () => {
    const relayerKey = newNonce()
    const { address } = privateKeyToAccount(relayerKey)
    const { core } = await open({ relayerKey })
    const { maxFeePerGas } = await core.chain.getFees()
    const little = maxFeePerGas * 150_000n * 10n
    await askNode(devnet, 'anvil_setBalance', address, `0x${little.toString(16)}`)
    expect(await settle(core, await sign())).toMatchObject({ success: true })
    expect(core.happened().slice(0, 2)).toContain('relayerLow')
  })
})

describe('a ledger that cannot be written', () => {
  /** An operator's own store that fails at some methods. */
  const broken = (...methods: (keyof LedgerMethods)[]): LedgerStore & { mended: boolean } => {
    const store = createMemoryLedger()
    const own = methodsOf(store)
    const fail = async (): Promise<never> => {
      throw new LedgerError('ledger_unavailable', 'The disk is full.')
    }
    const changes = methods.map((method) => [
      method,
      (...args: unknown[]) =>
        ledger.mended ? (own[method] as (...args: unknown[]) => Promise<unknown>)(...args) : fail(),
    ])
    const ledger = Object.assign(patchedLedger(store, Object.fromEntries(changes)), {
      mended: false,
    })
    return ledger
  }

  /** A node that does not see transactions mined. */
  const withoutReceipts: RpcProxy['fault'] = (method) =>
    method === 'eth_getTransactionReceipt' ? { kind: 'answer', result: null } : undefined

  it('prevents sending if it is full', async () => {
    const { proxy, core } = await open({ ledger: createMemoryLedger({ maxRecords: 1 }) })
    const [first, second] = [await sign(), await sign()]
    await core.facilitator.reserve(decoded(first, offerOf(devnet)), termsOf(devnet))
    const error = await rejection(settle(core, second))
    expect(error).toMatchObject({ name: 'LedgerError', code: 'ledger_full' })
    expect(proxy.methods).not.toContain('eth_sendRawTransaction')
    expect(await settle(core, first)).toEqual(failed('duplicate_settlement'))
  })

  it('gives neither a yes nor a refusal while find fails', async () => {
    const ledger = broken('find')
    const { core } = await open({ ledger })
    const payment = decoded(await sign(), offerOf(devnet))
    const verified = core.facilitator.verifyPayment(payment, termsOf(devnet))
    expect(await rejection(verified)).toMatchObject({ code: 'ledger_unavailable' })
    const lapsed = await signPayment(devnet.payers[0]!, offerOf(devnet), { validBefore: '1' })
    expect(await rejection(settle(core, lapsed))).toMatchObject({ code: 'ledger_unavailable' })
  })

  it.each([['reserve'], ['submitNext']] as const)(
    'prevents sending while %s fails, and the payment can be presented again',
    async (...methods) => {
      const ledger = broken(...methods)
      const { proxy, core } = await open({ ledger })
      const payment = await sign()
      expect(await rejection(settle(core, payment))).toMatchObject({ code: 'ledger_unavailable' })
      expect(proxy.methods).not.toContain('eth_sendRawTransaction')
      ledger.mended = true
      expect(await settle(core, payment)).toMatchObject({ success: true })
    },
  )

  it('names the failure of a payment that is left while it loses its lock', async () => {
    const store = createMemoryLedger()
    let isLost = true
    const ledger = patchedLedger(store, {
      async submitNext(account, leastNonce, sign) {
        if (!isLost) return store.relayers.submitNext(account, leastNonce, sign)
        const { members } = await sign(leastNonce)
        // Its time is over meanwhile.
        await sleep(200)
        return members.map(({ key }) => key)
      },
    })
    const { proxy, core } = await open({ ledger, settleTimeoutMs: 50 })
    const payment = await sign()
    const error = await rejection(settle(core, payment))
    expect(error).toMatchObject({ name: 'LedgerError', code: 'ledger_unavailable' })
    expect(proxy.methods).not.toContain('eth_sendRawTransaction')
    isLost = false
    await until(async () => {
      const settled = await settle(core, payment)
      return settled.success
    })
  })

  it('does not change what the chain has decided while settle fails', async () => {
    const { proxy, core } = await open({ ledger: broken('markSettled'), settleTimeoutMs: 50 })
    proxy.fault = withoutReceipts
    const payment = await sign()
    expect(await settle(core, payment)).toEqual(failed('settlement_pending'))
    proxy.fault = undefined
    await core.until('settled')
    expect(core.errors).toHaveLength(1)
    expect(await settle(core, payment)).toMatchObject({ success: true })
    expect(await settle(core, payment)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
  })

  it('ends no process and leaves the payment open when it throws outside its contract', async () => {
    const settleBadly = (): never => {
      throw new TypeError('a bug of theirs')
    }
    const { proxy, core } = await open({
      ledger: patchedLedger(createMemoryLedger(), { markSettled: settleBadly }),
      settleTimeoutMs: 50,
    })
    proxy.fault = withoutReceipts
    expect(await settle(core, await sign())).toEqual(failed('settlement_pending'))
    proxy.fault = undefined
    await until(() => core.errors.length > 0)
    expect(core.errors).toMatchObject([{ fields: { error: new TypeError('a bug of theirs') } }])
  })

  it('still answers pending while yield fails, and delivers nothing twice', async () => {
    const { proxy, core } = await open({ ledger: broken('unlock'), settleTimeoutMs: 50 })
    proxy.fault = withoutReceipts
    const payment = await sign()
    expect(await settle(core, payment)).toEqual(failed('settlement_pending'))
    proxy.fault = undefined
    await core.until('settled')
    expect(await settle(core, payment)).toEqual(failed('duplicate_settlement'))
  })

  it('does not hide why the payment was not settled while release fails', async () => {
    const { proxy, core } = await open({ ledger: broken('release') })
    proxy.fault = (method) =>
      method === 'eth_estimateGas' ? { kind: 'http', status: 500 } : undefined
    expect(await rejection(settle(core, await sign()))).toMatchObject({ code: 'chain_unreachable' })
    expect(core.errors).toHaveLength(1)
  })
})

function receiptWith(logs: unknown[]): object {
  const hash = `0x${'11'.repeat(32)}`
  return { transactionHash: hash, from: '0x', status: '0x1', blockNumber: '0x1', logs }
}
