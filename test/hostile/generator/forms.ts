/** Other forms of a value, by its nature, and whether they still mean the same. */
import { concatHex, encodeAbiParameters, getAddress } from 'viem/utils'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { rewrite, SECP256K1_ORDER } from '../../support/rewrite-signature.js'
import type { Verdict } from './mutation.js'

/** A way to write or change a value. */
export interface Form {
  readonly name: string
  readonly verdict: Verdict
  /** @param other - The value of another payment. */
  readonly write: (value: string, other: string) => unknown
}

type Writer = Form['write']
const all =
  (verdict: Verdict) =>
  (forms: Readonly<Record<string, Writer>>): readonly Form[] =>
    Object.entries(forms).map(([name, write]) => ({ name, verdict, write }))
const accepted = all('accepted')
const refused = all('refused')

const FULLWIDTH_ZERO = 0xff10
const ARABIC_INDIC_ZERO = 0x0660
const digitsFrom =
  (zero: number): Writer =>
  (value) =>
    value.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)))

/** Whatever is no string. */
const OTHER_TYPES = refused({
  'no member': () => undefined,
  null: () => null,
  true: () => true,
  'a list of it': (value) => [value],
  'an object': (value) => ({ value, toString: value }),
  'an empty text': () => '',
  'a very long text': (value) => value.repeat(1 + 6000 / (value.length + 1)),
})

/** Decimal numbers as texts. */
export const UINT_FORMS: readonly Form[] = [
  ...refused({
    'one more': (value) => String(BigInt(value) + 1n),
    'one less': (value) => String(BigInt(value) - 1n),
    'a digit more': (value) => `${value}0`,
    'a leading zero': (value) => `0${value}`,
    'many leading zeros': (value) => value.padStart(78, '0'),
    'a plus': (value) => `+${value}`,
    'a minus': (value) => `-${value}`,
    'a fraction': (value) => `${value}.0`,
    'an exponent': (value) => `${value}e0`,
    'an upper-case exponent': (value) => `${value}E+0`,
    'hexadecimal digits': (value) => `0x${BigInt(value).toString(16)}`,
    'binary digits': (value) => `0b${BigInt(value).toString(2)}`,
    'a space before': (value) => ` ${value}`,
    'a space after': (value) => `${value} `,
    'a line end': (value) => `${value}\n`,
    'a no-break space': (value) => `${value}\u00a0`,
    'a space of no width': (value) => `\u200b${value}`,
    'a null character': (value) => `${value}\0`,
    'full-width digits': digitsFrom(FULLWIDTH_ZERO),
    'Arabic digits': digitsFrom(ARABIC_INDIC_ZERO),
    separators: (value) => `${value[0]}_${value.slice(1)}`,
    'a comma': (value) => `${value},0`,
    'a bigint literal': (value) => `${value}n`,
    'a number': (value) => Number(value),
    'a number with a fraction': (value) => Number(value) + 0.5,
    'the same modulo 2^256': (value) => String(BigInt(value) + 2n ** 256n),
    'the same modulo 2^64': (value) => String(BigInt(value) + 2n ** 64n),
    'the most': () => String(2n ** 256n - 1n),
    NaN: () => 'NaN',
    Infinity: () => 'Infinity',
  }),
  ...OTHER_TYPES,
]

/** Decimal or hexadecimal numbers as texts. */
export const NUMBER_FORMS: readonly Form[] = [
  ...UINT_FORMS.filter(({ name }) => name !== 'hexadecimal digits'),
  ...accepted({
    'hexadecimal digits': (value) => `0x${BigInt(value).toString(16)}`,
    'upper-case hexadecimal digits': (value) => `0x${BigInt(value).toString(16).toUpperCase()}`,
    '32 bytes': (value) => `0x${BigInt(value).toString(16).padStart(64, '0')}`,
  }),
  ...refused({
    '33 bytes': (value) => `0x${BigInt(value).toString(16).padStart(66, '0')}`,
    'an upper-case X': (value) => `0X${BigInt(value).toString(16)}`,
    'no 0x': (value) => `${BigInt(value).toString(16)}f`,
    'nothing but 0x': () => '0x',
    'a hexadecimal fraction': (value) => `0x${BigInt(value).toString(16)}.0`,
    'that of another payment': (_value, other) => other,
  }),
]

export const flipDigit = (value: string): string =>
  value.slice(0, -1) + (value.endsWith('0') ? '1' : '0')
const upper: Writer = (value) => `0x${value.slice(2).toUpperCase()}`
const lower: Writer = (value) => value.toLowerCase()

/** Hexadecimal texts of a fixed length. */
const HEX_FORMS: readonly Form[] = [
  ...accepted({
    'upper-case digits': upper,
    'lower-case digits': lower,
    'every other digit in upper case': (value) =>
      `0x${[...value.slice(2)].map((digit, i) => (i % 2 ? digit.toUpperCase() : digit.toLowerCase())).join('')}`,
  }),
  ...refused({
    'another digit': flipDigit,
    'an upper-case X': (value) => `0X${value.slice(2)}`,
    'no 0x': (value) => value.slice(2),
    '0x twice': (value) => `0x${value}`,
    'two digits less': (value) => value.slice(0, -2),
    'one digit less': (value) => value.slice(0, -1),
    'two zeros after': (value) => `${value}00`,
    'two zeros before': (value) => `0x00${value.slice(2)}`,
    'a space after': (value) => `${value} `,
    'a line end': (value) => `${value}\n`,
    'a null character': (value) => `${value}\0`,
    'a Cyrillic letter': (value) => `${value.slice(0, -1)}\u0430`,
    'full-width digits': digitsFrom(FULLWIDTH_ZERO),
    'nothing but 0x': () => '0x',
    'a decimal number': (value) => BigInt(value).toString(),
    'a number': (value) => Number(value),
  }),
  ...OTHER_TYPES,
]

/** Addresses. */
export const ADDRESS_FORMS: readonly Form[] = [
  ...HEX_FORMS,
  ...accepted({ 'a checksum': (value) => getAddress(value) }),
  ...refused({
    'the zero address': () => `0x${'0'.repeat(40)}`,
    'an ENS name': () => 'vitalik.eth',
    'a word of 32 bytes': (value) => `0x${value.slice(2).padStart(64, '0')}`,
  }),
]

/** Words of 32 bytes. */
export const WORD_FORMS: readonly Form[] = [
  ...HEX_FORMS,
  ...refused({
    'those of another payment': (_value, other) => other,
    zero: () => `0x${'0'.repeat(64)}`,
  }),
]

/** Ends the wrapper of a signature (ERC-6492). */
export const ERC6492_MAGIC: Hex = `0x${'6492'.repeat(16)}`

/** Puts a signature into the wrapper of an account that is not deployed yet. */
export function wrapErc6492(signature: Hex, factory: Hex, call: Hex): Hex {
  const wrapped = encodeAbiParameters(
    [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
    [factory, call, signature],
  )
  return concatHex([wrapped, ERC6492_MAGIC])
}

const FACTORY: Hex = `0x${'fac7'.repeat(10)}`
const wrap = (value: string): Hex => wrapErc6492(value as Hex, FACTORY, '0xdeadbeef')
const withWords = (r: bigint, s: bigint, v: string): string =>
  `0x${[r, s].map((word) => word.toString(16).padStart(64, '0')).join('')}${v}`
const wordsOf = (value: string): readonly [r: bigint, s: bigint, v: string] => [
  BigInt(value.slice(0, 66)),
  BigInt(`0x${value.slice(66, 130)}`),
  value.slice(130),
]

/** ECDSA signatures of 65 bytes by an account's own key. */
export const SIGNATURE_FORMS: readonly Form[] = [
  // Half of all signatures without their last byte are in the compact form of EIP-2098.
  ...HEX_FORMS.filter(({ name }) => name !== 'two digits less'),
  ...accepted({
    'v of 0 or 1': (value) => rewrite(value as Hex).v01,
    'a high s': (value) => rewrite(value as Hex).highS,
    '64 bytes': (value) => rewrite(value as Hex).compact,
    'a high s with v of 0 or 1': (value) => {
      const high = rewrite(value as Hex).highS
      return high.slice(0, 130) + (high.endsWith('1b') ? '00' : '01')
    },
  }),
  ...refused({
    'that of another payment': (_value, other) => other,
    'the other v': (value) => value.slice(0, 130) + (value.endsWith('1b') ? '1c' : '1b'),
    'v of 29': (value) => `${value.slice(0, 130)}1d`,
    'v of 255': (value) => `${value.slice(0, 130)}ff`,
    'v of EIP-155': (value) => `${value.slice(0, 130)}0293f`,
    'r of zero': (value) => withWords(0n, ...rest(value)),
    's of zero': (value) => withWords(wordsOf(value)[0], 0n, value.slice(130)),
    'r of the order': (value) => withWords(SECP256K1_ORDER, ...rest(value)),
    's of the order': (value) => withWords(wordsOf(value)[0], SECP256K1_ORDER, value.slice(130)),
    's and r in the other order': (value) => {
      const [r, s, v] = wordsOf(value)
      return withWords(s, r, v)
    },
    'half of it': (value) => value.slice(0, 66),
    'itself twice': (value) => value + value.slice(2),
    '66 bytes': (value) => `${value}00`,
    'an object of r, s and v': (value) => {
      const [r, s, v] = wordsOf(value)
      return { r: `0x${r.toString(16)}`, s: `0x${s.toString(16)}`, v: Number(`0x${v}`) }
    },
    'a wrapper of ERC-6492': wrap,
    'a wrapper within a wrapper': (value) => wrap(wrap(value)),
    'a truncated wrapper': (value) => wrap(value).slice(0, 66) + wrap(value).slice(-64),
    'a wrapper without a signature': () => wrap('0x'),
    'the mark of a wrapper alone': () => ERC6492_MAGIC,
    'a signature before the mark': (value) => concatHex([value as Hex, ERC6492_MAGIC]),
    'a long signature': (value) => `0x${value.slice(2).repeat(60)}`,
    'a longer signature': (value) => `0x${value.slice(2).repeat(120)}`,
  }),
]

const rest = (value: string): [s: bigint, v: string] => {
  const [, s, v] = wordsOf(value)
  return [s, v]
}
