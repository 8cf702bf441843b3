import type * as Noble from '@noble/curves/secp256k1'
import { loadPeer } from './load-peer.cjs'

/**
 * Recovers the public key of a signature (SEC 1 §4.1.6).
 *
 * @returns The uncompressed key, 65 bytes; `undefined` when no key can have made the signature.
 */
export type KeyRecovery = (signature: {
  readonly digest: Uint8Array
  /** `r` and `s`, 64 bytes. */
  readonly rs: Uint8Array
  readonly yParity: 0 | 1
}) => Uint8Array | undefined

/** Signs a digest with a private key, deterministically (RFC 6979), with a low `s`. */
export type KeySigning = (
  digest: Uint8Array,
  privateKey: Uint8Array,
) => { readonly rs: Uint8Array; readonly yParity: number }

/** The part of the package `secp256k1` that we use. */
interface Secp256k1 {
  ecdsaSign(
    digest: Uint8Array,
    privateKey: Uint8Array,
  ): { readonly signature: Uint8Array; readonly recid: number }
  ecdsaRecover(
    rs: Uint8Array,
    recoveryId: number,
    digest: Uint8Array,
    isCompressed: false,
    output: Uint8Array,
  ): Uint8Array
}

/** The addon alone: the package's main file falls back to JavaScript that is slower than viem's. */
const ADDON = 'secp256k1/bindings'

/** The curve's order (SEC 2 §2.4.1). */
export const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The generator's coordinates (SEC 2 §2.4.1). */
const GENERATOR_X = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'
const GENERATOR_Y = '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8'

/**
 * Recovery with libsecp256k1, about thirty times as fast as in JavaScript. The optional package has
 * binaries for common platforms only.
 *
 * @param load - Loads a package, or throws as `require` does.
 * @returns `undefined` when the addon is missing or recovers wrongly.
 */
export function nativeRecovery(
  load: (name: string) => unknown = loadPeer,
): KeyRecovery | undefined {
  try {
    const secp256k1 = load(ADDON) as Secp256k1
    const recover: KeyRecovery = ({ digest, rs, yParity }) => {
      try {
        return secp256k1.ecdsaRecover(rs, yParity, digest, false, new Uint8Array(65))
      } catch {
        return undefined
      }
    }
    return isRight(recover) ? recover : undefined
  } catch {
    return undefined
  }
}

/**
 * Signing with libsecp256k1.
 *
 * @param load - Loads a package, or throws as `require` does.
 * @returns `undefined` when the addon is missing or signs wrongly.
 */
export function nativeSigning(load: (name: string) => unknown = loadPeer): KeySigning | undefined {
  const recover = nativeRecovery(load)
  if (recover === undefined) return undefined
  const secp256k1 = load(ADDON) as Secp256k1
  const sign: KeySigning = (digest, privateKey) => {
    const { signature, recid } = secp256k1.ecdsaSign(digest, privateKey)
    return { rs: signature, yParity: recid }
  }
  try {
    const digest = new Uint8Array(32).fill(1)
    const { rs, yParity } = sign(digest, new Uint8Array(32).fill(2))
    const key = recover({ digest, rs, yParity: yParity === 0 ? 0 : 1 })
    return key === undefined ? undefined : sign
  } catch {
    return undefined
  }
}

let chosen: KeySigning | undefined

/** Signs at once, natively where that is possible, else in JavaScript. Both make the same signature. */
export const signDigest: KeySigning = (digest, privateKey) => {
  chosen ??= nativeSigning() ?? signInJavaScript
  return chosen(digest, privateKey)
}

/** The curve in JavaScript. */
export const loadCurve = () => (loadPeer('@noble/curves/secp256k1') as typeof Noble).secp256k1

export const signInJavaScript: KeySigning = (digest, privateKey) => {
  const signature = loadCurve().sign(digest, privateKey)
  return { rs: signature.toCompactRawBytes(), yParity: signature.recovery }
}

/** Checks a known answer: digest zero, `r = s =` the generator's x; the key is the generator. */
function isRight(recover: KeyRecovery): boolean {
  const rs = Buffer.from(GENERATOR_X + GENERATOR_X, 'hex')
  const key = recover({ digest: new Uint8Array(32), rs, yParity: 0 })
  return key !== undefined && Buffer.from(key).toString('hex') === `04${GENERATOR_X}${GENERATOR_Y}`
}
