import { describe, expect, it } from '@jest/globals'
import { createEventBus } from '../../src/schemes/events.js'

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
})
