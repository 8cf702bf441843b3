import { keccak256 } from 'viem/utils'
import { loadPeer } from './load-peer.cjs'
import type { Hex } from '../protocol/payment.js'

/** Hashes bytes by Keccak-256: 32 bytes. */
export type Keccak = (bytes: Uint8Array) => Uint8Array

/** What we use of the package `hash-wasm`. */
interface HashWasm {
  createKeccak(bits: 256): Promise<{
    init(): void
    update(bytes: Uint8Array): void
    digest(outputType: 'binary'): Uint8Array
  }>
}

/** Keccak-256 of nothing. */
const OF_NOTHING = 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'

const byViem: Keccak = (bytes) => keccak256(bytes, 'bytes')

/**
 * Keccak-256 in WebAssembly, some fifteen times as fast as in JavaScript.
 *
 * @param load - Finds a package, or throws as `require` does.
 * @returns `undefined` where the optional package is missing, or does not answer as it should.
 */
export async function wasmKeccak(
  load: (name: string) => unknown = loadPeer,
): Promise<Keccak | undefined> {
  try {
    const hasher = await (load('hash-wasm') as HashWasm).createKeccak(256)
    const hash: Keccak = (bytes) => {
      hasher.init()
      hasher.update(bytes)
      return hasher.digest('binary')
    }
    const isRight = Buffer.from(hash(new Uint8Array())).toString('hex') === OF_NOTHING
    return isRight ? hash : undefined
  } catch {
    return undefined
  }
}

let chosen: Keccak | undefined

/**
 * Hashes by the fastest way there is on this machine; the answers are the same.
 *
 * WebAssembly has to be compiled first: until then, a few milliseconds after the first call, by viem.
 */
export const keccak: Keccak = (bytes) => {
  if (chosen === undefined) {
    chosen = byViem
    void wasmKeccak().then((hash) => (chosen = hash ?? byViem))
  }
  return chosen(bytes)
}

/** {@link keccak} as hex, of bytes or of hex. */
export function keccakHex(data: Uint8Array | Hex): Hex {
  const bytes = typeof data === 'string' ? Buffer.from(data.slice(2), 'hex') : data
  return `0x${Buffer.from(keccak(bytes)).toString('hex')}`
}
