import { beforeEach, describe, expect, it } from '@jest/globals'
import { RemoteCallers } from '../../../src/core/facilitator/remote-callers.js'
import type { SupportedResponse } from '../../../src/shared/protocol/payment.js'
import { findNetwork } from '../../../src/shared/protocol/networks.js'

const [base, sepolia] = ['base', 'base-sepolia'].map((id) => findNetwork(id)!)
const ONE = '0x1111111111111111111111111111111111111111'
const OTHER = '0x2222222222222222222222222222222222222222'
type Kind = SupportedResponse['kinds'][number]

const kind = (facilitatorAddress: unknown, network = 'eip155:84532', scheme = 'upto'): Kind => ({
  ...{ x402Version: 2, scheme, network },
  extra: { facilitatorAddress },
})

let now: number
let asked: number
let kinds: readonly Kind[] | Error
let callers: RemoteCallers
let answering: Promise<void> | undefined
beforeEach(() => {
  ;[now, asked, kinds] = [1_790_000_000_000, 0, [kind(ONE)]]
  const supported = async (): Promise<SupportedResponse> => {
    asked += 1
    await (answering = new Promise((resolve) => void setImmediate(resolve)))
    if (kinds instanceof Error) throw kinds
    return { kinds, extensions: [], signers: {} }
  }
  callers = new RemoteCallers({ supported }, () => now)
})

const learn = async () => {
  await callers.learn()
  // Nobody else waits for an answer that replaces another.
  await answering
  await new Promise(setImmediate)
  return callers.find(sepolia!)
}

it('asks once for all that ask at once, and for a minute', async () => {
  await Promise.all([callers.learn(), callers.learn()])
  expect(callers.find(sepolia!)).toBe(ONE)
  expect(callers.find(base!)).toBeUndefined()
  now += 59_999
  await learn()
  expect(asked).toBe(1)
})

it('names another caller once the facilitator does', async () => {
  await learn()
  kinds = [kind(OTHER)]
  now += 60_000
  await callers.learn()
  // The request that asks again does not wait.
  expect(callers.find(sepolia!)).toBe(ONE)
  expect(await learn()).toBe(OTHER)
})

it('asks soon after a payment to the caller was refused, but not for each', async () => {
  await learn()
  kinds = [kind(OTHER)]
  callers.doubt()
  now += 4999
  expect(await learn()).toBe(ONE)
  now += 1
  expect(await learn()).toBe(OTHER)
  expect(asked).toBe(2)
})

describe('a facilitator that cannot be reached', () => {
  it('fails those who ask first, and is asked again by the next', async () => {
    kinds = new Error('away')
    await expect(callers.learn()).rejects.toThrow('away')
    kinds = [kind(ONE)]
    expect(await learn()).toBe(ONE)
  })

  it('is believed what it said before', async () => {
    await learn()
    kinds = new Error('away')
    now += 60_000
    expect(await learn()).toBe(ONE)
    expect(await learn()).toBe(ONE)
    expect(asked).toBe(2)
  })
})

it.each<[string, readonly Kind[]]>([
  ['no address', [kind(undefined)]],
  ['what is no address', [kind(5), kind('0x11'), kind(`${ONE} `)]],
  ['another scheme', [kind(ONE, 'eip155:84532', 'exact')]],
  ['another network', [kind(ONE, 'eip155:1'), kind(ONE, 'solana:x')]],
])('finds nobody in %s', async (_name, given) => {
  kinds = given
  expect(await learn()).toBeUndefined()
})

it('reads short names of networks, and writes the checksum that wallets demand', async () => {
  const lower = '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd'
  kinds = [kind(lower.replace('ab', 'aB'), 'base-sepolia'), kind(OTHER)]
  expect(await learn()).toBe('0xABcdEFABcdEFabcdEfAbCdefabcdeFABcDEFabCD')
})
