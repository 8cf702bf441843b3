import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { Hex } from '../../../../../src/shared/protocol/payment.js'
import { Deployments } from '../../../../../src/core/schemes/evm/network/deployments.js'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

const hex = (byte: string, bytes: number): Hex => `0x${byte.repeat(bytes)}`
const keyOf = (nonce: string, from = 'bb') =>
  ({ chainId: 1, contract: hex('aa', 20), from: hex(from, 20), nonce: hex(nonce, 32) }) as const

describe('the payments of an account that is being deployed', () => {
  it('wait for the one that deploys it, and for no other', async () => {
    const deployments = new Deployments()
    expect(deployments.claim(keyOf('01'), performance.now())).toBeUndefined()
    expect(deployments.claim(keyOf('01'), performance.now())).toBeUndefined()
    expect(deployments.claim(keyOf('03', 'cc'), performance.now())).toBeUndefined()
    let hasEnded = false
    const ended = deployments.claim(keyOf('02'), performance.now())?.then(() => (hasEnded = true))
    deployments.end(keyOf('02'))
    deployments.end(keyOf('03', 'cc'))
    await Promise.resolve()
    expect(hasEnded).toBe(false)
    deployments.end(keyOf('01'))
    await expect(ended).resolves.toBe(true)
    expect(deployments.claim(keyOf('02'), performance.now())).toBeUndefined()
  })

  it('wait two minutes at most', async () => {
    const deployments = new Deployments()
    void deployments.claim(keyOf('01'), performance.now())
    const ended = deployments.claim(keyOf('02'), performance.now())
    jest.advanceTimersByTime(120_000)
    await expect(ended).resolves.toBeUndefined()
    expect(deployments.claim(keyOf('02'), performance.now())).toBeUndefined()
    deployments.end(keyOf('01'))
    expect(deployments.claim(keyOf('01'), performance.now())).toBeInstanceOf(Promise)
  })

  it('look again if their account was seen before another deployment of it ended', async () => {
    const deployments = new Deployments()
    const seenAt = performance.now()
    void deployments.claim(keyOf('01'), seenAt)
    jest.advanceTimersByTime(1)
    deployments.end(keyOf('01'))
    await expect(deployments.claim(keyOf('02'), seenAt)).resolves.toBeUndefined()
    expect(deployments.claim(keyOf('02'), performance.now())).toBeUndefined()
  })
})
