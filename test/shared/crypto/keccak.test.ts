import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { keccak256 } from 'viem/utils'
import { keccak, wasmKeccak } from '../../../src/shared/crypto/keccak.js'

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
/** Up to many blocks of the sponge, which takes 136 bytes at a time. */
const bytes = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 20_000 }))

describe('Keccak-256', () => {
  it('in WebAssembly equals viem’s', async () => {
    const hash = await wasmKeccak()
    if (hash === undefined) throw new Error('hash-wasm is not to be had')
    fc.assert(fc.property(bytes, (some) => expect(hex(hash(some))).toBe(keccak256(some))))
  })

  it('is the same before and after WebAssembly is ready', async () => {
    const some = Buffer.from('transferWithAuthorization')
    const first = keccak(some)
    expect(hex(first)).toBe(keccak256(some))
    await wasmKeccak()
    expect(keccak(some)).toEqual(first)
  })

  it('returns bytes that later hashes do not change', async () => {
    await wasmKeccak()
    const first = keccak(Buffer.from('one'))
    const kept = hex(first)
    keccak(Buffer.from('two'))
    expect(hex(first)).toBe(kept)
  })

  it.each<[string, (name: string) => unknown]>([
    [
      'is missing',
      () => {
        throw new Error('Cannot find module')
      },
    ],
    ['is something else', () => ({})],
    ['does not compile', () => ({ createKeccak: () => Promise.reject(new Error('no memory')) })],
    [
      'answers wrongly',
      () => ({
        createKeccak: async () => ({
          init: () => undefined,
          update: () => undefined,
          digest: () => new Uint8Array(32),
        }),
      }),
    ],
  ])('does not use a package that %s', async (_what, load) => {
    expect(await wasmKeccak(load)).toBeUndefined()
  })
})
