import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parseTransaction } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../src/protocol/payment.js'
import { askNode, minedCount, openCore, type Core } from '../support/core.js'
import { useDevnet } from '../support/devnet.js'
import { startRpcProxy, type Fault, type RpcProxy } from '../support/rpc-proxy.js'
import { newNonce } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { callOf, type CallOverrides } from './pools.js'

const devnet = useDevnet()
let proxy: RpcProxy
beforeAll(async () => {
  proxy = await startRpcProxy(devnet.rpcUrl)
})
afterAll(() => proxy.close())

/** A relayer that has sent nothing yet. */
async function newRelayer(): Promise<Core & { address: Hex }> {
  proxy.fault = undefined
  const relayerKey = newNonce()
  const { address } = privateKeyToAccount(relayerKey)
  await askNode(devnet, 'anvil_setBalance', address, '0xde0b6b3a7640000')
  return { ...openCore(devnet, { rpcUrl: proxy.url, relayerKey }), address }
}

const aCall = (overrides?: CallOverrides) => callOf(devnet, overrides)
const refuse = (message: string): Fault => ({ kind: 'refuse', code: -32000, message })
const onBroadcast = (...faults: (Fault | undefined)[]): void => {
  proxy.fault = (method) => (method === 'eth_sendRawTransaction' ? faults.shift() : undefined)
}
/** A node takes a transaction before it has mined it. */
const becomesMined = (address: Hex, count: number): Promise<void> =>
  until(async () => (await minedCount(devnet, address)) === count)
/** Somebody else uses the relayer's key. */
const sendElsewhere = async (from: Hex): Promise<void> => {
  await askNode(devnet, 'anvil_impersonateAccount', from)
  const fees = { maxFeePerGas: '0x4a817c800', maxPriorityFeePerGas: '0x2540be400' }
  await askNode(devnet, 'eth_sendTransaction', { from, to: from, gas: '0x5208', ...fees })
}

describe('a relayer', () => {
  it('gives consecutive counts to transactions that come at once', async () => {
    const { relayers, address } = await newRelayer()
    const calls = Array.from({ length: 20 }, () => aCall())
    const sent = await Promise.all(calls.map(({ dispatch }) => relayers.send(dispatch)))
    expect(sent.map(({ submission }) => submission.accountNonce)).toEqual(
      Array.from({ length: 20 }, (_, n) => n),
    )
    await becomesMined(address, 20)
  })

  it('asks for its count once', async () => {
    const { relayers } = await newRelayer()
    proxy.methods.length = 0
    await Promise.all([1, 2, 3].map(() => relayers.send(aCall().dispatch)))
    expect(proxy.methods.filter((name) => name === 'eth_getTransactionCount')).toHaveLength(1)
  })

  it('asks for fees and funds once, however many ask at once', async () => {
    const { relayers } = await newRelayer()
    proxy.methods.length = 0
    await Promise.all(Array.from({ length: 10 }, () => relayers.requireReady()))
    expect(proxy.methods.sort()).toEqual([
      'eth_chainId',
      'eth_getBalance',
      'eth_getBlockByNumber',
      'eth_maxPriorityFeePerGas',
    ])
  })

  it('writes down the very transaction that it sends, before it sends it', async () => {
    const { relayers, address } = await newRelayer()
    proxy.methods.length = 0
    const { dispatch, written } = aCall({
      writeAhead: async () => expect(proxy.methods).not.toContain('eth_sendRawTransaction'),
    })
    const sent = await relayers.send(dispatch)
    expect(written).toEqual([sent.submission])
    expect(sent.submission).toMatchObject({ relayer: address, accountNonce: 0 })
    const { nonce, gas, chainId } = parseTransaction(sent.submission.raw)
    expect({ nonce: nonce ?? 0, gas, chainId }).toEqual({ nonce: 0, gas: 60_000n, chainId: 84532 })
    const { transaction } = sent.submission
    await until(
      async () => (await askNode(devnet, 'eth_getTransactionReceipt', transaction)) !== null,
    )
  })

  it('sends nothing that could not be written down, and leaves no gap', async () => {
    const { relayers, address } = await newRelayer()
    const writeAhead = () => Promise.reject(new Error('no ink'))
    await expect(relayers.send(aCall({ writeAhead }).dispatch)).rejects.toThrow('no ink')
    expect(await minedCount(devnet, address)).toBe(0)
    await relayers.send(aCall().dispatch)
    await becomesMined(address, 1)
  })

  it('leaves no gap after a rejected transaction, and takes it back', async () => {
    const { relayers, address } = await newRelayer()
    await relayers.send(aCall().dispatch)
    onBroadcast(undefined, refuse('exceeds block gas limit'))
    const calls = [aCall(), aCall(), aCall()]
    const sent = await Promise.all(calls.map(({ dispatch }) => relayers.send(dispatch)))
    expect(sent.map(({ kind }) => kind)).toEqual(['accepted', 'rejected', 'accepted'])
    expect(sent.map(({ submission }) => submission.accountNonce)).toEqual([1, 2, 2])
    expect(calls.map(({ takenBack }) => takenBack.length)).toEqual([0, 1, 0])
    await becomesMined(address, 3)
  })

  it('keeps the count of a transaction that a node may have', async () => {
    const { relayers } = await newRelayer()
    onBroadcast({ kind: 'drop_answer' }, { kind: 'drop_answer' })
    const [lost, next] = await Promise.all([
      relayers.send(aCall().dispatch),
      relayers.send(aCall().dispatch),
    ])
    expect(lost).toMatchObject({ kind: 'unknown', submission: { accountNonce: 0 } })
    expect(next).toMatchObject({ kind: 'accepted', submission: { accountNonce: 1 } })
  })

  it('signs anew when somebody else has used its count', async () => {
    const { relayers, address } = await newRelayer()
    await relayers.send(aCall().dispatch)
    await sendElsewhere(address)
    const { dispatch, written } = aCall()
    const sent = await relayers.send(dispatch)
    expect(sent).toMatchObject({ kind: 'accepted', submission: { accountNonce: 2 } })
    expect(written.map(({ accountNonce }) => accountNonce)).toEqual([1, 2])
  })

  it('signs anew when somebody else has a transaction waiting under its count', async () => {
    const { relayers, address } = await newRelayer()
    await relayers.send(aCall().dispatch)
    await askNode(devnet, 'evm_setAutomine', false)
    try {
      await sendElsewhere(address)
      const sent = await relayers.send(aCall().dispatch)
      expect(sent).toMatchObject({ kind: 'accepted', submission: { accountNonce: 2 } })
    } finally {
      await devnet.mine()
      await askNode(devnet, 'evm_setAutomine', true)
    }
    await becomesMined(address, 3)
  })

  it('signs anew once only', async () => {
    const { relayers } = await newRelayer()
    onBroadcast(refuse('nonce too low'), refuse('nonce too low'))
    const { dispatch, written, takenBack } = aCall()
    const sent = await relayers.send(dispatch)
    expect(sent).toMatchObject({ kind: 'rejected', cause: 'stale_nonce' })
    expect(written).toHaveLength(2)
    expect(takenBack).toEqual([written[1]])
  })

  it('neither takes back nor replaces what the node refuses though it has it', async () => {
    const { relayers, address } = await newRelayer()
    let sends = 0
    proxy.fault = async (method, [raw]) => {
      if (method !== 'eth_sendRawTransaction' || ++sends > 1) return undefined
      // It comes twice: the node says of the second that its count is used, by the first.
      await askNode(devnet, method, raw)
      await becomesMined(address, 1)
      return undefined
    }
    const { dispatch, written, takenBack } = aCall()
    const sent = await relayers.send(dispatch)
    expect(sent).toEqual({ kind: 'unknown', submission: written[0] })
    expect([sends, written.length, takenBack.length]).toEqual([1, 1, 0])
  })

  it('takes back what was rejected when it cannot sign anew', async () => {
    const { relayers } = await newRelayer()
    await relayers.send(aCall().dispatch)
    proxy.fault = (method) => {
      if (method === 'eth_sendRawTransaction') return refuse('nonce too low')
      return method === 'eth_getTransactionCount' ? { kind: 'http', status: 500 } : undefined
    }
    const { dispatch, written, takenBack } = aCall()
    await expect(relayers.send(dispatch)).rejects.toMatchObject({ code: 'chain_unreachable' })
    expect(written).toHaveLength(1)
    expect(takenBack).toEqual(written)
  })

  it('prices anew what the node finds too cheap, for the base fee has jumped', async () => {
    const { relayers, address } = await newRelayer()
    await relayers.send(aCall().dispatch)
    await becomesMined(address, 1)
    await askNode(devnet, 'anvil_setNextBlockBaseFeePerGas', '0x45d964b800')
    await devnet.mine()
    const { dispatch, written, takenBack } = aCall()
    const sent = await relayers.send(dispatch)
    expect(sent).toMatchObject({ kind: 'accepted', submission: { accountNonce: 1 } })
    expect(written).toHaveLength(2)
    expect(takenBack).toEqual([])
    await becomesMined(address, 2)
    await askNode(devnet, 'anvil_setNextBlockBaseFeePerGas', '0x3b9aca00')
    await devnet.mine()
  })

  it('gives up what the node finds too cheap again and again, and takes it back', async () => {
    const { relayers } = await newRelayer()
    const refusal = refuse('max fee per gas less than block base fee: address 0x…')
    onBroadcast(refusal, refusal, refusal, refusal)
    const { dispatch, written, takenBack } = aCall()
    expect(await relayers.send(dispatch)).toMatchObject({ cause: 'fee_too_low' })
    expect(written).toHaveLength(4)
    expect(takenBack).toEqual([written[3]])
  })

  it('offers twice the base fee, and the tip that the node names', async () => {
    const { relayers, chain } = await newRelayer()
    const { submission } = await relayers.send(aCall().dispatch)
    const { maxFeePerGas, maxPriorityFeePerGas } = await chain.getFees()
    expect(parseTransaction(submission.raw)).toMatchObject({ maxFeePerGas, maxPriorityFeePerGas })
  })
})
