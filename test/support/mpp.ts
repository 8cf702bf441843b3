/** Buyers that pay by MPP: the official client, unmodified, and one that tells what it signs. */
import { Mppx } from 'mppx-0.11/client'
import { Types } from 'mppx-0.11/evm'
import { assets, charge } from 'mppx-0.11/evm/client'
import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { transferTypes, type TestPayer } from './sign-payment.js'
import type { Answer } from './tool-shop.js'

/** How mppx pays here. */
export const methodsOf = (privateKey: Hex): readonly ReturnType<typeof charge>[] => [
  charge({ account: privateKeyToAccount(privateKey), currencies: [assets.baseSepolia.USDC] }),
]

/** A `fetch` that pays by MPP where it is asked to, of mppx alone. */
export function mppFetch(privateKey: Hex, transport: typeof fetch = fetch): typeof fetch {
  const methods = methodsOf(privateKey)
  return Mppx.create({ fetch: transport, methods, polyfill: false }).fetch as typeof fetch
}

/** A challenge, as its response has it. */
export interface SeenChallenge {
  readonly id: string
  readonly realm: string
  readonly method: string
  readonly intent: string
  readonly request: string
  readonly expires: string
  readonly digest?: string
  readonly opaque: string
}

/** The challenges of a 402. */
export function challengesOf(response: Response): readonly SeenChallenge[] {
  const header = response.headers.get('www-authenticate') ?? ''
  return header
    .split(/,\s*(?=[A-Z][a-z]+ )/)
    .filter((one) => one.startsWith('Payment '))
    .map(
      (one) =>
        Object.fromEntries(
          [...one.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
        ) as unknown as SeenChallenge,
    )
}

/** What is to be paid for a challenge. */
export const requestOf = ({ request }: Pick<SeenChallenge, 'request'>) =>
  JSON.parse(Buffer.from(request, 'base64url').toString()) as {
    readonly amount: string
    readonly currency: Hex
    readonly methodDetails: { readonly chainId: number }
    readonly recipient: Hex
  }

/** Replaces a part of JSON in base64url. */
const swapped = (text: string, from: string, to: string) =>
  Buffer.from(Buffer.from(text, 'base64url').toString().replace(from, to)).toString('base64url')

/** Changes of one member of a challenge, none of which its server has made. */
export const CHANGED_MEMBERS: readonly [
  string,
  (challenge: SeenChallenge) => Partial<SeenChallenge>,
][] = [
  ['price', ({ request }) => ({ request: swapped(request, '"10000"', '"1"') })],
  [
    'payee',
    ({ request }) => ({
      request: swapped(request, requestOf({ request }).recipient, `0x${'1'.repeat(40)}`),
    }),
  ],
  [
    'new member of its request',
    ({ request }) => ({ request: swapped(request, '{', '{"added":1,') }),
  ],
  ['entry', ({ opaque }) => ({ opaque: swapped(opaque, '10000', '1') })],
  ['expiry', () => ({ expires: '2099-01-01T00:00:00.000Z' })],
  ['realm', () => ({ realm: 'other.example' })],
  ['method', () => ({ method: 'usdc' })],
  ['intent', () => ({ intent: 'session' })],
  ['digest', () => ({ digest: 'sha-256=:AAAA:' })],
  ['id', ({ id }) => ({ id: `${id.slice(0, -2)}AA` })],
  ['length of its id', ({ id }) => ({ id: `${id}=` })],
]

/** What is signed otherwise than a wallet would. */
export interface CredentialOverrides {
  readonly challenge?: Partial<SeenChallenge>
  readonly payload?: Readonly<Record<string, unknown>>
  readonly signed?: { readonly nonce?: Hex; readonly validBefore?: string; readonly value?: string }
  readonly source?: string
}

export interface SignedCredential {
  readonly challenge: SeenChallenge
  readonly payload: Readonly<Record<string, string>>
  readonly source: string
}

/** Signs the credential that a wallet would for a challenge. */
export async function signCredential(
  payer: TestPayer,
  challenge: SeenChallenge,
  { signed, ...overrides }: CredentialOverrides = {},
): Promise<SignedCredential> {
  const { amount, currency, methodDetails, recipient } = requestOf(challenge)
  const { chainId } = methodDetails
  const authorization = {
    from: payer.address,
    to: recipient,
    value: amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.parse(challenge.expires) / 1000)),
    nonce: Types.challengeHash(challenge),
    ...signed,
  }
  const signature = await privateKeyToAccount(payer.privateKey).signTypedData({
    domain: { name: 'USDC', version: '2', chainId, verifyingContract: currency },
    types: transferTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(authorization.value),
      validAfter: 0n,
      validBefore: BigInt(authorization.validBefore),
    },
  })
  return {
    challenge: { ...challenge, ...overrides.challenge },
    payload: { type: 'authorization', ...authorization, signature, ...overrides.payload },
    source: overrides.source ?? `did:pkh:eip155:${chainId}:${payer.address}`,
  }
}

/** Members of `_meta`, by their last word. */
export const META = {
  required: 'org.paymentauth/payment-required',
  credential: 'org.paymentauth/credential',
  receipt: 'org.paymentauth/receipt',
} as const

/** The challenges of a tool's answer, as HTTP would have them. */
export function toolChallengesOf({ _meta }: Answer): readonly SeenChallenge[] {
  const { challenges = [] } = (_meta?.[META.required] ?? {}) as { challenges?: SeenChallenge[] }
  return challenges.map((one) => ({
    ...one,
    request: Buffer.from(JSON.stringify(one.request)).toString('base64url'),
  }))
}

/** The `_meta` of a call that brings a credential. */
export function credentialMeta({ challenge, ...signed }: SignedCredential) {
  return {
    [META.credential]: { challenge: { ...challenge, request: requestOf(challenge) }, ...signed },
  }
}

/** The value of `Authorization`. */
export const credentialText = (credential: unknown): string =>
  `Payment ${Buffer.from(JSON.stringify(credential)).toString('base64url')}`

/** The receipt of an answer; `undefined` if it has none. */
export function receiptOf(response: Response): unknown {
  const header = response.headers.get('payment-receipt')
  return header === null ? undefined : JSON.parse(Buffer.from(header, 'base64url').toString())
}
