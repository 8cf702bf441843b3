/**
 * Schemas of single options.
 *
 * Their output is what the code uses. Their errors never repeat the input, which may be a secret.
 */
import { z } from 'zod'
import { hasRightChecksum } from '../../../shared/crypto/checksum-address.js'
import { SECP256K1_ORDER } from '../../../shared/crypto/native-secp256k1.js'
import type { ConfigErrorCode } from '../../../shared/errors.js'
import { explainCurrency, isCurrency } from '../../../shared/money/currency.js'
import { isHttpUrl } from '../../../shared/http/http-url.js'
import { isHexAddress } from '../../../shared/protocol/primitives.js'
import type { Hex } from '../../../shared/protocol/payment.js'

/**
 * One schema for each option of a hand-written interface, and none for anything else.
 *
 * Keeps schemas and documentation in step: a member that only one of them has does not compile.
 */
export type FieldsOf<Options> = {
  readonly [Name in keyof Options]-?: z.ZodType<unknown, Loose<Options[Name]>>
}

/** `undefined` means "not given" for every option, whatever `exactOptionalPropertyTypes` says. */
type Loose<T> = T extends ((...args: never) => unknown) | string
  ? T
  : { [Name in keyof T]: Loose<T[Name]> | undefined }

type Given<T> = { [Name in keyof T]: Exclude<T[Name], undefined> }

export function omitUndefined<T extends object>(options: T): Given<T> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as Given<T>
}

/**
 * Says what a required option is for where it is missing.
 *
 * @param otherwise - Says what it must be, for every other mistake. @defaultValue the schema's own words
 */
export const missing =
  (purpose: string, otherwise?: string) =>
  ({ input }: { input?: unknown }): string | undefined =>
    input === undefined ? `is missing: ${purpose}` : otherwise

/** Says what to write where a value has the wrong type. */
export const instead = (words: string) => ({
  error: ({ code }: { code?: string | undefined }): string | undefined =>
    code === 'invalid_type' ? words : undefined,
})

/** Settings of a check whose failure has a code of its own. */
export const mistake = (code: ConfigErrorCode, error: string) => ({ error, params: { code } })

/** Like {@link mistake}; the checks that follow are skipped. */
const fatal = (code: ConfigErrorCode, error: string) => ({ ...mistake(code, error), abort: true })

/** Refuses an empty text: mostly, it is a variable of the environment that is not set. */
const notEmpty = (purpose: string) =>
  [
    (text: string) => text.trim() !== '',
    fatal('missing_option', `is empty: ${purpose}. Is its variable set?`),
  ] as const

/** An address, as written: with its checksum or in lower case. */
export const addressOf = (purpose: string) =>
  z
    .string({ error: missing(purpose) })
    .refine(...notEmpty(purpose))
    .refine(
      (text) => !/^[^\s.]+(\.[^\s.]+)+$/.test(text),
      fatal('invalid_address', 'must be an address; names like acme.eth are not looked up'),
    )
    .refine(
      (text) => !/^['"]/.test(text),
      fatal('invalid_address', "must not be in quotes: Docker's --env-file keeps them"),
    )
    .refine(isHexAddress, fatal('invalid_address', 'must be 0x and 40 hexadecimal digits'))
    .refine((text) => BigInt(text) !== 0n, fatal('invalid_address', 'must not be the zero address'))
    .refine(
      hasRightChecksum,
      mistake(
        'invalid_address',
        'has a wrong checksum (EIP-55): check it for typing errors, or write it in lower case',
      ),
    )

export const httpUrl = (purpose: string) =>
  z
    .string({ error: missing(purpose) })
    .refine(...notEmpty(purpose))
    .refine(isHttpUrl, mistake('invalid_url', 'must be an absolute http(s) URL'))

/** The root that paths are appended to, without slashes at its end. */
export const rootUrl = httpUrl('a URL')
  .refine(
    (text) => !/[?#]/.test(text),
    mistake('invalid_url', 'must have neither query nor fragment'),
  )
  .transform((url) => url.replace(/\/+$/, ''))

/** A currency of ISO 4217. */
export const currency = z.string().refine((code) => isCurrency(code), {
  error: ({ input }) => explainCurrency(input),
  params: { code: 'unknown_currency' },
})

/** A private key of secp256k1. Wallets export it without `0x`. */
export const privateKey = z
  .string()
  .refine(...notEmpty('a private key'))
  .transform((key) => (/^[0-9a-fA-F]{64}$/.test(key) ? `0x${key}` : key))
  .refine(
    (key) => !isHexAddress(key),
    fatal('invalid_key', 'is an address: write its private key, 0x and 64 hexadecimal digits'),
  )
  .refine(
    (text): text is Hex => /^0x[0-9a-fA-F]{64}$/.test(text),
    fatal('invalid_key', 'must be 0x and 64 hexadecimal digits'),
  )
  .refine(
    (key) => BigInt(key) > 0n && BigInt(key) < SECP256K1_ORDER,
    mistake('invalid_key', 'is outside the range of private keys'),
  )

/** An object that has certain methods; objects are not copied. */
export const instanceWith = <T extends object>(...methods: readonly (keyof T & string)[]) =>
  z.custom<T>((value) => methods.every((name) => hasMethod(value, name)), {
    error: `must be an object with the methods ${methods.join(', ')}`,
  })

export const callback = <T extends (...args: never) => unknown>() =>
  z.custom<T>((value) => typeof value === 'function', 'must be a function')

export function hasMethod(value: unknown, name: string): boolean {
  return typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function'
}
