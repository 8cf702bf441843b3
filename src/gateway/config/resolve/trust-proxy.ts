import { isIP } from 'node:net'
import { z } from 'zod'

/** Ranges of addresses by the names that Express gives them. */
const RANGES: readonly string[] = ['loopback', 'linklocal', 'uniquelocal']

const EXPECTED =
  'must be how many proxies there are (1, 2, …), or their addresses and subnets, loopback, linklocal or uniquelocal, separated by commas'

const EVERYBODY =
  'trusts everybody: every client could choose its address; name the addresses of the proxies, or how many there are'

export type TrustedProxies = number | false | readonly string[]

/** The option `trustProxy`, as Express's `trust proxy` takes it. */
export const trustProxySchema = z
  .custom<string | number | false>(isSetting, {
    error: ({ input }) => (trustsEverybody(input) ? EVERYBODY : EXPECTED),
  })
  .default('loopback')
  .transform((given): TrustedProxies => (typeof given === 'string' ? addressesIn(given) : given))

/** Reads the option from text: how many proxies, `false`, or addresses. */
export function trustedFrom(text: string): string | number | false {
  if (text === 'false') return false
  return /^\d{1,9}$/.test(text) ? Number(text) : text
}

export function explainTrusted(text: string): string | undefined {
  return trustProxySchema.safeParse(trustedFrom(text)).error?.issues[0]?.message
}

function isSetting(given: unknown): boolean {
  if (given === false || given === undefined) return true
  if (typeof given === 'number') return Number.isInteger(given) && given > 0
  return typeof given === 'string' && addressesIn(given).every(isAddress)
}

function trustsEverybody(given: unknown): boolean {
  return given === true || given === 'true' || /\/0+\s*(,|$)/.test(String(given))
}

function addressesIn(text: string): readonly string[] {
  return text.split(',').map((one) => one.trim())
}

/** Tells whether a text is an address, a subnet, or the name of a range. */
function isAddress(text: string): boolean {
  if (RANGES.includes(text)) return true
  const [address = '', bits, ...others] = text.split('/')
  const family = isIP(address)
  if (family === 0 || others.length > 0) return false
  const most = family === 4 ? 32 : 128
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= most)
}
