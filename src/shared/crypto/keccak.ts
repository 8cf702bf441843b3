import { keccak_256 as inJavaScript } from '@noble/hashes/sha3'
import { loadPeer } from './load-peer.cjs'
import { bytesOf, hexOf } from '../protocol/hex.js'
import type { Hex } from '../protocol/payment.js'

export type Keccak = (bytes: Uint8Array) => Uint8Array

/** The part of the package `hash-wasm` that we use. */
interface HashWasm {
  createKeccak(bits: 256): Promise<{
    init(): void
    update(bytes: Uint8Array): void
    digest(outputType: 'binary'): Uint8Array
  }>
}

/** Keccak-256 of the empty string. */
const OF_EMPTY = 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'

/**
 * Keccak-256 in WebAssembly, about fifteen times as fast as in JavaScript.
 *
 * @param load - Loads a package, or throws as `require` does.
 * @returns `undefined` when the optional package is missing or hashes wrongly.
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
    const isRight = Buffer.from(hash(new Uint8Array())).toString('hex') === OF_EMPTY
    return isRight ? hash : undefined
  } catch {
    return undefined
  }
}

let chosen: Keccak | undefined

/**
 * Hashes with WebAssembly when `hash-wasm` is installed, else in JavaScript.
 *
 * Compiling takes a few milliseconds after the first call; until then it hashes in JavaScript.
 */
export const keccak: Keccak = (bytes) => {
  if (chosen === undefined) {
    chosen = inJavaScript
    void wasmKeccak().then((hash) => (chosen = hash ?? inJavaScript))
  }
  return chosen(bytes)
}

/** {@link keccak} of bytes or hex, as hex. */
export function keccakHex(data: Uint8Array | Hex): Hex {
  return hexOf(keccak(typeof data === 'string' ? bytesOf(data) : data))
}
