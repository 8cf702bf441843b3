import {
  concatHex,
  hexToBigInt,
  numberToHex,
  recoverAddress,
  size,
  slice,
  encodeFunctionData,
  isErc6492Signature,
  parseAbi,
  parseErc6492Signature,
} from 'viem/utils'
import { keccak } from '../../../../shared/crypto/keccak.js'
import { nativeRecovery, SECP256K1_ORDER as N } from '../../../../shared/crypto/native-secp256k1.js'
import type { KeyRecovery } from '../../../../shared/crypto/native-secp256k1.js'
import type { Call, CallResult } from '../../../chain/types.js'
import { bytesOf, lowerHex } from '../../../../shared/protocol/hex.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import type { EcdsaSignature, TransferSignature } from '../transfer/transfer-method.js'
import type { Chain } from '../../../chain/chain.js'

/** A signature without the wrapper that may have been around it (ERC-6492). */
export interface UnwrappedSignature {
  readonly signature: Hex
  /** The call that deploys its account, where it came with one. Not checked. */
  readonly deployment: Call | undefined
}

/**
 * Takes a signature out of its ERC-6492 wrapper, if it has one.
 *
 * Wallets wrap signatures of deployed accounts too. For those, the inner signature is the one to check.
 *
 * @returns `undefined` for a wrapper that is cut short, empty, or inside another one.
 */
export function unwrapErc6492(signature: Hex): UnwrappedSignature | undefined {
  if (!isErc6492Signature(signature)) return { signature, deployment: undefined }
  try {
    const { address, data = '0x', signature: written } = parseErc6492Signature(signature)
    const inner = lowerHex(written)
    if (address === undefined || inner === '0x' || isErc6492Signature(inner)) return undefined
    return { signature: inner, deployment: { to: lowerHex(address), data: lowerHex(data) } }
  } catch {
    return undefined
  }
}

/**
 * Reads an ECDSA signature: 65 bytes, or 64 in the compact form of EIP-2098.
 *
 * A signature can be rewritten without its key (high `s`, `v` 0/1); all forms become one here.
 *
 * @returns `undefined` for bytes that no key can have made: perhaps a contract's own form.
 */
export function parseEcdsaSignature(signature: Hex): EcdsaSignature | undefined {
  const length = size(signature)
  if (length === 64) {
    const yParityAndS = hexToBigInt(slice(signature, 32))
    return canonical({
      r: hexToBigInt(slice(signature, 0, 32)),
      s: yParityAndS & ((1n << 255n) - 1n),
      odd: yParityAndS >> 255n === 1n,
    })
  }
  if (length !== 65) return undefined
  const v = Number(slice(signature, 64))
  const yParity = v >= 27 ? v - 27 : v
  if (yParity > 1) return undefined
  return canonical({
    r: hexToBigInt(slice(signature, 0, 32)),
    s: hexToBigInt(slice(signature, 32, 64)),
    odd: yParity === 1,
  })
}

function canonical(point: { r: bigint; s: bigint; odd: boolean }): EcdsaSignature | undefined {
  const { r, s, odd } = point
  if (r === 0n || r >= N || s === 0n || s >= N) return undefined
  const isLow = s <= N / 2n
  return {
    r: numberToHex(r, { size: 32 }),
    s: numberToHex(isLow ? s : N - s, { size: 32 }),
    v: odd === isLow ? 28 : 27,
  }
}

export function joinSignature({ r, s, v }: EcdsaSignature): Hex {
  return `${r}${s.slice(2)}${v.toString(16)}`
}

/** Recovers the signer of a digest, in lower case; `undefined` where no key can have made it. */
export type SignerRecovery = (
  digest: Hex,
  signature: EcdsaSignature,
) => Promise<Address | undefined>

/** Chosen at first use: loading the native package takes time. */
let recovery: SignerRecovery | undefined

/** Recovers the signer of a digest by the fastest implementation on this machine. */
export const recoverSigner: SignerRecovery = (digest, signature) => {
  recovery ??= chooseRecovery(nativeRecovery())
  return recovery(digest, signature)
}

/** Chooses the native implementation where there is one, else viem's; results are the same. */
export function chooseRecovery(recoverKey: KeyRecovery | undefined): SignerRecovery {
  if (recoverKey === undefined) return recoverByViem
  return async (digest, { r, s, v }) => {
    const key = recoverKey({
      digest: bytesOf(digest),
      rs: bytesOf(concatHex([r, s])),
      yParity: v === 28 ? 1 : 0,
    })
    return key && addressOf(key)
  }
}

const recoverByViem: SignerRecovery = async (digest, signature) => {
  try {
    const signer = await recoverAddress({ hash: digest, signature: joinSignature(signature) })
    return lowerHex(signer)
  } catch {
    // `r` is not on the curve.
    return undefined
  }
}

/** An account's address: the last twenty bytes of its public key's hash. */
function addressOf(key: Uint8Array): Address {
  return `0x${Buffer.from(keccak(key.subarray(1))).toString('hex', 12)}`
}

const accountAbi = parseAbi([
  'function isValidSignature(bytes32 digest, bytes signature) view returns (bytes4)',
])

/** What an account returns for a signature of its own (ERC-1271), in a whole word: others echo what they are asked. */
const MAGIC_VALUE = `0x1626ba7e${'0'.repeat(56)}`

export interface AccountSignature {
  readonly account: Address
  readonly digest: Hex
  readonly signature: Hex
}

export type AccountAnswer = 'agrees' | 'refuses' | 'has_no_code'

/**
 * Asks a contract account whether a signature is its own (ERC-1271).
 *
 * @param deployment - Deploys the account first, if it has no code.
 */
export async function askAccount(
  chain: Pick<Chain, 'call' | 'callMany'>,
  { account, digest, signature }: AccountSignature,
  deployment?: Call,
): Promise<AccountAnswer> {
  const args = [digest, signature] as const
  const data = encodeFunctionData({ abi: accountAbi, functionName: 'isValidSignature', args })
  const question = { to: account, data }
  const first = answerIn(await chain.call(question))
  if (first !== 'has_no_code' || deployment === undefined) return first
  const [deployed, second] = await chain.callMany([deployment, question])
  return deployed?.ok && second ? answerIn(second) : 'has_no_code'
}

/**
 * Reads a signature in the form that its token takes.
 *
 * One that the account's own key did not make is left whole: if the account has code, that decides
 * (ERC-1271). So is one that was wrapped, because wrapping it says that the account has code.
 */
export async function readSignature({
  account,
  digest,
  signature,
  deployment,
}: AccountSignature & UnwrappedSignature): Promise<TransferSignature> {
  if (deployment !== undefined) return signature
  const ecdsa = parseEcdsaSignature(signature)
  const signer = ecdsa && (await recoverSigner(digest, ecdsa))
  return ecdsa !== undefined && signer === account ? ecdsa : signature
}

/** Tells whether an account calls a signature its own. An allowed factory may deploy it for the question. */
export async function isApproved(
  {
    chain,
    factories,
  }: { readonly chain: Pick<Chain, 'call' | 'callMany'>; readonly factories: ReadonlySet<Address> },
  { deployment, ...asked }: AccountSignature & UnwrappedSignature,
): Promise<boolean> {
  const isAllowed = deployment !== undefined && factories.has(deployment.to)
  return (await askAccount(chain, asked, isAllowed ? deployment : undefined)) === 'agrees'
}

/** Only an account without code answers nothing at all. */
function answerIn({ ok, data }: CallResult): AccountAnswer {
  if (!ok) return 'refuses'
  if (data === '0x') return 'has_no_code'
  return data.toLowerCase().startsWith(MAGIC_VALUE) ? 'agrees' : 'refuses'
}
