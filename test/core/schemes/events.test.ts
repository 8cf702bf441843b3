import { describe, expect, it } from '@jest/globals'
import { createEventBus } from '../../../src/core/schemes/events.js'
import { issuesOf } from '../../support/issues.js'

const event = { network: 'eip155:84532', relayer: '0x', balance: 1n }

describe('the event bus', () => {
  it('tells every listener, and none that has left', () => {
    const bus = createEventBus(() => undefined)
    const heard: string[] = []
    bus.on('relayerLow', ({ balance }) => heard.push(`first ${balance}`))
    const leave = bus.on('relayerLow', () => heard.push('second'))
    bus.on('pending', () => heard.push('pending'))
    bus.emit('relayerLow', event)
    leave()
    bus.emit('relayerLow', event)
    expect(heard).toEqual(['first 1', 'second', 'first 1'])
  })

  it('reports what listeners throw, and tells the others', async () => {
    const thrown: unknown[] = []
    const bus = createEventBus((error) => thrown.push(error))
    const heard: bigint[] = []
    bus.on('relayerLow', () => {
      throw new Error('at once')
    })
    const later = (): unknown => Promise.reject(new Error('later'))
    bus.on('relayerLow', later)
    bus.on('relayerLow', ({ balance }) => heard.push(balance))
    bus.emit('relayerLow', event)
    await new Promise(setImmediate)
    expect(heard).toEqual([1n])
    expect(thrown).toEqual([new Error('at once'), new Error('later')])
  })

  it('refuses an unknown name, and suggests the one that was meant', () => {
    const { on } = createEventBus(() => undefined)
    const name = 'setled' as 'settled'
    const [issue] = issuesOf(() => on(name, () => undefined))
    expect(issue).toMatchObject({ option: "on('setled')", code: 'unknown_event' })
    expect(issue?.message).toContain("did you mean 'settled'?")
    const inherited = 'toString' as 'settled'
    expect(issuesOf(() => on(inherited, () => undefined))).toHaveLength(1)
    expect(() => on('settled', () => undefined)).not.toThrow()
  })

  it('refuses a listener that is not a function', () => {
    const { on } = createEventBus(() => undefined)
    const listener = 'console.log' as unknown as () => void
    expect(issuesOf(() => on('settled', listener))).toMatchObject([{ code: 'invalid_type' }])
  })
})
