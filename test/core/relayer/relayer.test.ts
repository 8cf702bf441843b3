import { describe, expect, it } from '@jest/globals'
import { parseTransaction } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { askNode, minedCount, openCore, type Core, type CoreOptions } from '../../support/core.js'
import { useDevnet } from '../../support/devnet.js'
import { startRpcProxy, type Fault, type RpcProxy } from '../../support/rpc-proxy.js'
import { newNonce } from '../../support/sign-payment.js'
import { useStoppableClock } from '../../support/stopped-clock.js'
import { unattended } from '../../support/unattended.js'
import { until } from '../../support/until.js'
import type { WrittenCall } from '../../support/written-calls.js'
import { callOf, type CallOverrides } from './pools.js'
import { hasWaiting, withoutMining } from '../../support/mining.js'
import { useCleanup } from '../../support/cleanup.js'

const devnet = useDevnet()
/** The newest relayer's own: what an earlier one has still to ask is not seen here. */
let proxy: RpcProxy
const toEnd = useCleanup()

const clock = useStoppableClock()

/** A relayer that has sent nothing yet. */
async function newRelayer(options: CoreOptions = {}): Promise<Core & { address: Hex }> {
  proxy = await startRpcProxy(devnet.rpcUrl)
  const relayerKey = newNonce()
  const { address } = privateKeyToAccount(relayerKey)
  await askNode(devnet, 'anvil_setBalance', address, '0xde0b6b3a7640000')
  const core = openCore(devnet, { rpcUrl: proxy.url, relayerKey, ...options })
  toEnd.push(
    () => proxy.close(),
    () => core.close(),
  )
  return { ...core, address }
}

const aCall = (overrides?: CallOverrides) => callOf(devnet, overrides)
const refuse = (message: string): Fault => ({ kind: 'refuse', code: -32000, message })
/** Lets the node refuse whatever was written of a call, so many times; all of it, where not told. */
const refuseAll = ({ written }: WrittenCall, refusal: Fault, times = Infinity): void => {
  let left = times
  proxy.fault = (method, [sent]) =>
    method === 'eth_sendRawTransaction' && written.some(({ raw }) => raw === sent) && left-- > 0
      ? refusal
      : undefined
}
/** A node takes a transaction before it has mined it. */
const becomesMined = (address: Hex, count: number): Promise<void> =>
  until(async () => (await minedCount(devnet, address)) === count)
/** Another process uses the relayer's key. */
const sendElsewhere = async (from: Hex): Promise<void> => {
  await askNode(devnet, 'anvil_impersonateAccount', from)
  const fees = { maxFeePerGas: '0x4a817c800', maxPriorityFeePerGas: '0x2540be400' }
  await askNode(devnet, 'eth_sendTransaction', { from, to: from, gas: '0x5208', ...fees })
}

describe('Relayer', () => {
  it('gives consecutive nonces to transactions that come at once', async () => {
    const { relayers, address } = await newRelayer()
    const calls = Array.from({ length: 20 }, () => aCall())
    const sent = await Promise.all(calls.map(({ member }) => relayers.send(member)))
    expect(sent.map(({ submission }) => submission.accountNonce)).toEqual(
      Array.from({ length: 20 }, (_, n) => n),
    )
    await becomesMined(address, 20)
  })

  it('asks for its account nonce once', async () => {
    const { relayers } = await newRelayer({ ledger: unattended() })
    await Promise.all([1, 2, 3].map(() => relayers.send(aCall().member)))
    expect(proxy.methods.filter((name) => name === 'eth_getTransactionCount')).toHaveLength(1)
  })

  it('asks for fees and balance once for all concurrent callers', async () => {
    const { relayers } = await newRelayer()
    await Promise.all(Array.from({ length: 10 }, () => relayers.requireReady()))
    expect(proxy.methods.sort()).toEqual([
      'eth_chainId',
      'eth_getBalance',
      'eth_getBlockByNumber',
      'eth_maxPriorityFeePerGas',
    ])
  })

  it('records exactly the transaction that it sends before it sends it', async () => {
    const { relayers, address } = await newRelayer()
    const { member, written } = aCall({
      writeAhead: async () => expect(proxy.methods).not.toContain('eth_sendRawTransaction'),
    })
    const sent = await relayers.send(member)
    expect(written).toEqual([sent.submission])
    expect(sent.submission).toMatchObject({ relayer: address, accountNonce: 0 })
    const { nonce, gas, chainId } = parseTransaction(sent.submission.raw)
    expect({ nonce: nonce ?? 0, gas, chainId }).toEqual({ nonce: 0, gas: 60_000n, chainId: 84532 })
    const { transaction } = sent.submission
    await until(
      async () => (await askNode(devnet, 'eth_getTransactionReceipt', transaction)) !== null,
    )
  })

  it('sends nothing that could not be recorded, and leaves no nonce gap', async () => {
    const { relayers, address } = await newRelayer()
    const writeAhead = () => Promise.reject(new Error('no ink'))
    await expect(relayers.send(aCall({ writeAhead }).member)).rejects.toThrow('no ink')
    expect(await minedCount(devnet, address)).toBe(0)
    await relayers.send(aCall().member)
    await becomesMined(address, 1)
  })

  it('leaves no nonce gap after a rejected transaction', async () => {
    const { relayers, address } = await newRelayer()
    await relayers.send(aCall().member)
    const calls = [aCall(), aCall(), aCall()]
    refuseAll(calls[1]!, refuse('exceeds block gas limit'), 1)
    const sent = await Promise.all(calls.map(({ member }) => relayers.send(member)))
    expect(sent.map(({ kind }) => kind)).toEqual(['accepted', 'unknown', 'accepted'])
    expect(sent.map(({ submission }) => submission.accountNonce)).toEqual([1, 2, 3])
    await becomesMined(address, 4)
  })

  it('keeps the nonce of a transaction that a node may have received', async () => {
    const { relayers } = await newRelayer({ ledger: unattended() })
    const { member, written } = aCall()
    let drops = 0
    proxy.fault = (method, [sent]) => {
      const isOurs = written.some((one) => one.raw === sent || one.transaction === sent)
      // Where it is asked for in the meantime, the node has not heard of it yet.
      if (isOurs && method === 'eth_getTransactionByHash') return { kind: 'answer', result: null }
      return isOurs && ++drops <= 2 ? { kind: 'drop_answer' } : undefined
    }
    const [lost, next] = await Promise.all([relayers.send(member), relayers.send(aCall().member)])
    expect(lost).toMatchObject({ kind: 'unknown', submission: { accountNonce: 0 } })
    expect(next).toMatchObject({ kind: 'accepted', submission: { accountNonce: 1 } })
  })

  it('signs again when another process has used its nonce', async () => {
    const { relayers, address } = await newRelayer()
    await relayers.send(aCall().member)
    await sendElsewhere(address)
    const { member, written } = aCall()
    const sent = await relayers.send(member)
    expect(sent).toMatchObject({ kind: 'accepted', submission: { accountNonce: 2 } })
    expect(written.map(({ accountNonce }) => accountNonce)).toEqual([1, 2])
  })

  it('signs again when another process has a pending transaction with its nonce', async () => {
    const { relayers, address } = await newRelayer()
    await relayers.send(aCall().member)
    await withoutMining(devnet, async () => {
      await sendElsewhere(address)
      const sent = await relayers.send(aCall().member)
      expect(sent).toMatchObject({ kind: 'accepted', submission: { accountNonce: 2 } })
    })
    await becomesMined(address, 3)
  })

  it('signs again only once', async () => {
    const { relayers } = await newRelayer()
    const { member, written } = aCall()
    refuseAll({ written }, refuse('nonce too low'))
    const sent = await relayers.send(member)
    expect(sent).toEqual({ kind: 'unknown', submission: written[1] })
    expect(written).toHaveLength(2)
  })

  it('keeps the record of a transaction that the node rejects but has', async () => {
    const { relayers, address } = await newRelayer({ ledger: unattended() })
    const { member, written } = aCall({
      // It comes twice: the node says of the second that its nonce is used, by the first.
      writeAhead: async ({ raw }) => {
        await askNode(devnet, 'eth_sendRawTransaction', raw)
        await becomesMined(address, 1)
        await until(async () => !(await hasWaiting(devnet)))
      },
    })
    const sent = await relayers.send(member)
    expect(sent).toEqual({ kind: 'unknown', submission: written[0] })
    const sends = proxy.methods.filter((method) => method === 'eth_sendRawTransaction')
    expect([sends.length, written.length]).toEqual([1, 1])
  })

  it('reports a rejected transaction that it cannot sign again', async () => {
    const { relayers } = await newRelayer()
    await relayers.send(aCall().member)
    proxy.fault = (method) => {
      if (method === 'eth_sendRawTransaction') return refuse('nonce too low')
      return method === 'eth_getTransactionCount' ? { kind: 'http', status: 500 } : undefined
    }
    const { member, written } = aCall()
    await expect(relayers.send(member)).rejects.toMatchObject({ code: 'chain_unreachable' })
    expect(written).toHaveLength(1)
  })

  it('prices a transaction again when the node rejects it after a jump of the base fee', async () => {
    const { relayers, address } = await newRelayer()
    clock.stop()
    await relayers.send(aCall().member)
    await becomesMined(address, 1)
    await askNode(devnet, 'anvil_setNextBlockBaseFeePerGas', '0x45d964b800')
    await devnet.mine()
    const { member, written } = aCall()
    const sent = await relayers.send(member)
    expect(sent).toMatchObject({ kind: 'accepted', submission: { accountNonce: 1 } })
    expect(written).toHaveLength(2)
    await becomesMined(address, 2)
    await askNode(devnet, 'anvil_setNextBlockBaseFeePerGas', '0x3b9aca00')
    await devnet.mine()
  })

  it('gives up a transaction that the node keeps rejecting as too cheap', async () => {
    const { relayers } = await newRelayer()
    const { member, written } = aCall()
    refuseAll({ written }, refuse('max fee per gas less than block base fee: address 0x…'))
    expect(await relayers.send(member)).toEqual({ kind: 'unknown', submission: written[3] })
    expect(written).toHaveLength(4)
  })

  it('offers twice the base fee plus the priority fee that the node suggests', async () => {
    const { relayers, chain } = await newRelayer()
    clock.stop()
    const { submission } = await relayers.send(aCall().member)
    const { maxFeePerGas, maxPriorityFeePerGas } = await chain.getFees()
    expect(parseTransaction(submission.raw)).toMatchObject({ maxFeePerGas, maxPriorityFeePerGas })
  })
})
