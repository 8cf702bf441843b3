import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { encodeFunctionData, keccak256, parseAbi, parseSignature } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { LedgerStore, LedgerEntry } from '../../../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../../../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../../../src/ledger/sqlite-ledger.js'
import type { Hex, PaymentPayload } from '../../../../../src/shared/protocol/payment.js'
import {
  askNode,
  chainTime,
  type Core,
  offerOf,
  openCore,
  payingOn,
} from '../../../../support/core.js'
import { failed } from '../../../../support/failed-settlement.js'
import { decoded } from '../../../../support/decoded.js'
import { useDevnet } from '../../../../support/devnet.js'
import { createSchema, findPostgres } from '../../../../support/postgres.js'
import { startRpcProxy, type Fault } from '../../../../support/rpc-proxy.js'
import { signPayment } from '../../../../support/sign-payment.js'
import { until } from '../../../../support/until.js'
import { patchedLedger } from '../../../../support/patched-ledger.js'
import { temporaryFolder, useCleanup, closedBy } from '../../../../support/cleanup.js'
import { signedAuthorization, transferOf, undo, untilMined } from '../../../../support/on-chain.js'

const PRICE = 10_000n
const devnet = useDevnet()
const postgres = await findPostgres()
const databases = ['SQLite', ...(postgres ? ['PostgreSQL' as const] : [])] as const
const toEnd = useCleanup()

type Options = NonNullable<Parameters<typeof openCore>[1]>

function open(options: Options = {}): Core {
  return closedBy(toEnd, openCore(devnet, { reconcileIntervalMs: 100, ...options }))
}

async function openProxied(options?: Options) {
  const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
  return { proxy, core: open({ ...options, rpcUrl: proxy.url }) }
}

/** A database that several ledgers open, each as if by a process of its own. */
async function useDatabase(kind: 'SQLite' | 'PostgreSQL'): Promise<() => LedgerStore> {
  const opened = (ledger: LedgerStore): LedgerStore => {
    toEnd.push(() => ledger.close())
    return ledger
  }
  if (kind === 'PostgreSQL') {
    const schema = await createSchema(postgres!)
    toEnd.push(() => schema.drop())
    return () => opened(openPostgresLedger(schema.url))
  }
  const folder = temporaryFolder(toEnd)
  return () => opened(openSqliteLedger(join(folder, 'ledger.db')))
}

const { sign, reserve, settle, merchantBalance } = payingOn(devnet)
const stranger = () => privateKeyToAccount(devnet.relayerKeys[1]!).address
const count = (core: Core, name: string): number =>
  core.happened().filter((one) => one === name).length

function entryOf(payment: PaymentPayload): LedgerEntry {
  const { key, facts } = decoded(payment, offerOf(devnet))
  const { payTo, amount: value, validBefore } = facts
  const scheme = 'exact'
  return { ...key, scheme, asset: key.contract, payTo, value, validBefore, project: 'shop' }
}

/** Sends a call from a stranger's account; returns when it is mined. */
async function sendAsStranger(data: Hex): Promise<Hex> {
  const fees = { maxFeePerGas: '0x4a817c800', maxPriorityFeePerGas: '0x2540be400', gas: '0x30d40' }
  const transaction = await askNode<Hex>(devnet, 'eth_sendTransaction', {
    from: stranger(),
    to: devnet.asset,
    data,
    ...fees,
  })
  await untilMined(devnet, transaction)
  return transaction
}

/** Writes down a transaction as a process does that is killed before it sends it. */
async function writeAheadOnly(ledger: LedgerStore, payment: PaymentPayload): Promise<Hex> {
  const account = privateKeyToAccount(devnet.relayerKeys[0]!)
  const accountNonce = Number(
    await askNode(devnet, 'eth_getTransactionCount', account.address, 'latest'),
  )
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: devnet.chainId,
    nonce: accountNonce,
    to: devnet.asset,
    data: transferOf(payment),
    gas: 200_000n,
    maxFeePerGas: 20_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  })
  const transaction = keccak256(raw)
  const entry = entryOf(payment)
  await ledger.payments.reserve(entry)
  await ledger.payments.submit(entry, {
    transaction,
    relayer: account.address.toLowerCase() as Hex,
    accountNonce,
    raw,
  })
  return transaction
}

/** A memory ledger with a record that nobody works on. */
async function abandonedRecord(payment: PaymentPayload) {
  const ledger = createMemoryLedger()
  const transaction = await writeAheadOnly(ledger, payment)
  await ledger.payments.unlock(entryOf(payment))
  return { ledger, transaction }
}

/** A request of a proxy's waits until it is released. */
function hold(): { readonly held: Promise<void>; release(): void } {
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  return { held, release }
}

const stateOf = async (ledger: LedgerStore, payment: PaymentPayload) =>
  (await ledger.payments.find(entryOf(payment)))?.state

describe.each(databases)('a gateway that starts on a ledger in %s', (kind) => {
  it('sends a recorded but unsent transaction, and lets the payment be redeemed once', async () => {
    const connect = await useDatabase(kind)
    const payment = await sign()
    const gone = connect()
    const transaction = await writeAheadOnly(gone, payment)
    await gone.close()
    const before = await merchantBalance()

    const [core, other] = [open({ ledger: connect() }), open({ ledger: connect() })]
    await Promise.race([core.until('settled'), other.until('settled')])
    expect(await stateOf(core.ledger, payment)).toBe('settled')
    expect((await merchantBalance()) - before).toBe(PRICE)
    const answers = await Promise.all([core, other, core, other].map((one) => settle(one, payment)))
    expect(answers.filter(({ success }) => success)).toEqual([
      expect.objectContaining({ transaction }),
    ])
    expect(await settle(other, payment)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
    expect((await merchantBalance()) - before).toBe(PRICE)
    for (const one of [core, other]) expect(count(one, 'settled')).toBeLessThanOrEqual(1)
  })

  it('settles what a process that is gone has sent', async () => {
    const connect = await useDatabase(kind)
    const payment = await sign()
    const gone = connect()
    await writeAheadOnly(gone, payment)
    const record = await gone.payments.find(entryOf(payment))
    if (record?.state !== 'submitted') throw new Error('not submitted')
    await askNode(devnet, 'eth_sendRawTransaction', record.submission.raw)
    await gone.close()
    const core = open({ ledger: connect() })
    expect(await core.until('settled')).toMatchObject({ project: 'shop', amount: '10000' })
    expect(count(core, 'submitted')).toBe(0)
  })

  it('does not send what another process is sending at that moment', async () => {
    const connect = await useDatabase(kind)
    const payment = await sign()
    const beside = connect()
    await writeAheadOnly(beside, payment)
    const { proxy, core } = await openProxied({ ledger: connect() })
    // It looks at the payment in every round.
    const looks = () => proxy.methods.filter((method) => method === 'eth_getTransactionReceipt')
    await until(() => looks().length >= 10)
    expect(proxy.methods).not.toContain('eth_sendRawTransaction')
    expect(await stateOf(core.ledger, payment)).toBe('submitted')
  })

  it('redeems once a payment that a killed process settled but never delivered', async () => {
    const connect = await useDatabase(kind)
    const first = open({ ledger: connect() })
    const payment = await sign()
    const { transaction } = await (await reserve(first, payment)).settle()
    first.close()
    await first.ledger.close()
    const second = open({ ledger: connect() })
    await until(async () => (await second.ledger.payments.find(entryOf(payment)))?.locked === false)
    const answers = await Promise.all(Array.from({ length: 5 }, () => settle(second, payment)))
    expect(answers.filter(({ success }) => success)).toEqual([
      expect.objectContaining({ transaction }),
    ])
  })
})

describe('a gateway that starts', () => {
  it('starts while its node is away, and settles once it is back', async () => {
    const { ledger } = await abandonedRecord(await sign())
    const { proxy, core } = await openProxied({ ledger })
    proxy.fault = () => ({ kind: 'http', status: 503 })
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(core.happened()).toEqual([])
    proxy.fault = undefined
    await core.until('settled')
  })

  it('starts while its ledger is away', async () => {
    const { ledger } = await abandonedRecord(await sign())
    let isAway = true
    const listSubmitted = async () => {
      if (isAway) throw new Error('gone')
      return ledger.payments.listSubmitted()
    }
    const core = open({ ledger: patchedLedger(ledger, { listSubmitted }) })
    await new Promise((resolve) => setTimeout(resolve, 150))
    isAway = false
    expect(await core.until('settled')).toMatchObject({ project: 'shop' })
  })

  it('asks an absent node once a round, not once a record', async () => {
    const ledger = createMemoryLedger()
    for (let n = 0; n < 40; n++) {
      const payment = await sign()
      await writeAheadOnly(ledger, payment)
      await ledger.payments.unlock(entryOf(payment))
    }
    const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
    // Its chain it still says: else it is asked nothing else.
    proxy.fault = (method) => (method === 'eth_chainId' ? undefined : { kind: 'http', status: 503 })
    open({ ledger, rpcUrl: proxy.url, reconcileIntervalMs: 3_600_000 })
    const looks = () => proxy.methods.filter((method) => method === 'eth_getTransactionReceipt')
    await until(() => looks().length > 0)
    await sleep(700)
    expect(looks().length).toBeLessThan(12)
  })
})

describe('a payment that lapsed', () => {
  it('fails once the chain is past its end and it is unused, and not before', async () => {
    const snapshot = await askNode<string>(devnet, 'evm_snapshot')
    toEnd.push(() => askNode(devnet, 'evm_revert', snapshot))
    const validBefore = (await chainTime(devnet)) + 100
    const payment = await sign(0, { validBefore: String(validBefore) })
    const { ledger, transaction } = await abandonedRecord(payment)
    const { proxy, core } = await openProxied({ ledger, settleTimeoutMs: 100 })
    proxy.fault = (method) =>
      method === 'eth_sendRawTransaction' ? { kind: 'drop_request' } : undefined
    expect(await settle(core, payment)).toEqual(failed('settlement_pending'))
    await askNode(devnet, 'evm_setNextBlockTimestamp', validBefore + 60)
    await devnet.mine()
    const reason = 'invalid_exact_evm_payload_authorization_valid_before'
    const answer = await settle(core, payment)
    expect(answer).toMatchObject({ errorReason: reason, transaction })
    expect(await core.until('failed')).toMatchObject({ reason, transaction })
    expect(await settle(core, payment)).toEqual(failed(reason))
    expect(count(core, 'failed')).toBe(1)
  })
})

describe('an authorization that somebody else used', () => {
  /** The last look at a payment is too old by then: it is looked at once more before it is sent. */
  const untilLookedAtAnew = (): Promise<void> => sleep(600)

  it('is a payment, once, if that happened before our transaction was sent', async () => {
    const core = open()
    const payment = await sign()
    const before = await merchantBalance()
    const reservation = await reserve(core, payment)
    const transaction = await sendAsStranger(transferOf(payment))
    await untilLookedAtAnew()
    expect(await reservation.settle()).toMatchObject({ success: true, transaction })
    await reservation.markDelivered()
    expect((await merchantBalance()) - before).toBe(PRICE)
    expect(await settle(core, payment)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
    expect(core.happened()).toEqual(['verified', 'settled', 'refused'])
  })

  it('is pending while the logs cannot be read, and is checked again', async () => {
    const { proxy, core } = await openProxied()
    const payment = await sign()
    const reservation = await reserve(core, payment)
    const transaction = await sendAsStranger(transferOf(payment))
    await untilLookedAtAnew()
    proxy.fault = (method) =>
      method === 'eth_getLogs' ? { kind: 'refuse', code: -32000, message: 'too far' } : undefined
    expect(await reservation.settle()).toEqual(failed('settlement_pending'))
    proxy.fault = undefined
    const answers = await Promise.all([settle(core, payment), settle(core, payment)])
    expect(answers.filter(({ success }) => success)).toEqual([
      expect.objectContaining({ transaction }),
    ])
  })

  it('is found in the logs, however old, if it was used after we were killed', async () => {
    const payment = await sign()
    const { ledger } = await abandonedRecord(payment)
    const transaction = await sendAsStranger(transferOf(payment))
    await askNode(devnet, 'anvil_mine', '0x12c')
    const core = open({ ledger })
    expect(await core.until('settled')).toMatchObject({ transaction })
    expect(await settle(core, payment)).toMatchObject({ success: true, transaction })
  })

  it('is no payment to us if it was used before we received it', async () => {
    const core = open()
    const payment = await sign()
    await sendAsStranger(transferOf(payment))
    expect(await settle(core, payment)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
  })

  it('fails if it was cancelled', async () => {
    const payer = devnet.payers[5]!
    const payment = await signPayment(payer, offerOf(devnet))
    const { ledger } = await abandonedRecord(payment)
    const { nonce } = signedAuthorization(payment)
    const types = {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    } as const
    const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
      domain: {
        name: 'USDC',
        version: '2',
        chainId: devnet.chainId,
        verifyingContract: devnet.asset,
      },
      types,
      primaryType: 'CancelAuthorization',
      message: { authorizer: payer.address, nonce },
    })
    const abi = parseAbi([
      'function cancelAuthorization(address, bytes32, uint8 v, bytes32 r, bytes32 s)',
    ])
    const { r, s, yParity } = parseSignature(signature)
    const args = [payer.address, nonce, 27 + yParity, r, s] as const
    const transaction = await sendAsStranger(encodeFunctionData({ abi, args }))
    const core = open({ ledger })
    expect(await core.until('failed')).toMatchObject({
      reason: 'invalid_exact_evm_nonce_already_used',
      transaction,
    })
  })
})

describe('a reorganisation', () => {
  it('has a dropped settled transaction sent again', async () => {
    const core = open()
    const before = await merchantBalance()
    const payment = await sign()
    const answer = await settle(core, payment)
    expect(answer).toMatchObject({ success: true })
    await undo(devnet, answer.transaction as Hex)
    await until(async () => (await merchantBalance()) - before === PRICE)
    expect(await settle(core, payment)).toEqual(failed('invalid_exact_evm_nonce_already_used'))
    expect(count(core, 'settled')).toBe(1)
    expect(await settle(core, await sign())).toMatchObject({ success: true })
    expect((await merchantBalance()) - before).toBe(2n * PRICE)
  })

  it('has a transaction sent again that was dropped before its receipt was seen', async () => {
    const { proxy, core } = await openProxied({ settleTimeoutMs: 200 })
    const before = await merchantBalance()
    const payment = await sign()
    const withhold = (method: string): Fault | undefined =>
      method === 'eth_getTransactionReceipt' ? { kind: 'answer', result: null } : undefined
    const loseSends = (method: string): Fault | undefined =>
      method === 'eth_sendRawTransaction' ? { kind: 'drop_request' } : undefined
    proxy.fault = withhold
    const pending = await settle(core, payment)
    expect(pending).toEqual(failed('settlement_pending'))
    const transaction = pending.transaction as Hex
    await untilMined(devnet, transaction)
    proxy.fault = (method) => withhold(method) ?? loseSends(method)
    await undo(devnet, transaction)
    // Until it was presented once more, it is not sent again.
    proxy.fault = loseSends
    expect(await settle(core, payment)).toMatchObject({ errorReason: 'settlement_pending' })
    proxy.fault = undefined
    await core.until('settled')
    expect(await settle(core, payment)).toMatchObject({ success: true })
    expect((await merchantBalance()) - before).toBe(PRICE)
  })
})

describe('a settlement that runs out of time', () => {
  it('is pending with its hash while the broadcast hangs, and is redeemed once', async () => {
    const { proxy, core } = await openProxied({ settleTimeoutMs: 2500 })
    await settle(core, await sign())
    const before = await merchantBalance()
    const payment = await sign()
    const { held, release } = hold()
    proxy.fault = async (method) => {
      if (method === 'eth_sendRawTransaction') await held
      return undefined
    }
    const pending = await settle(core, payment)
    release()
    expect(pending).toEqual(failed('settlement_pending'))
    expect(pending.transaction).toMatch(/^0x[0-9a-f]{64}$/)
    await core.until('settled')
    const settled = () => count(core, 'settled') === 2
    await until(settled)
    expect(await settle(core, payment)).toMatchObject({
      success: true,
      transaction: pending.transaction,
    })
    expect((await merchantBalance()) - before).toBe(PRICE)
    expect(count(core, 'submitted')).toBe(2)
  })

  it('sends nothing if it still waits for its turn when time is over', async () => {
    const { proxy, core } = await openProxied({ settleTimeoutMs: 300 })
    const payment = await sign()
    const { held, release } = hold()
    proxy.fault = async (method) => {
      if (method === 'eth_estimateGas') await held
      return undefined
    }
    await expect(settle(core, payment)).rejects.toMatchObject({ code: 'settlement_timeout' })
    const sent = proxy.methods.filter((method) => method === 'eth_sendRawTransaction').length
    release()
    await sleep(500)
    expect(proxy.methods.filter((method) => method === 'eth_sendRawTransaction')).toHaveLength(sent)
    const patient = open({ ledger: core.ledger })
    expect(await settle(patient, payment)).toMatchObject({ success: true })
  })
})
