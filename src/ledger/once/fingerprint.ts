/** How a store names requests: by the hash of their key, and by the hash of what they ask. */
import { sha256 } from '../../shared/crypto/sha256.js'
import { findNetwork } from '../../shared/protocol/networks.js'

/** Levels of nesting that count; no member that means something is nested deeper. */
const MAX_DEPTH = 32

/**
 * Makes the key under which a store keeps a request.
 *
 * The client's own key is a secret: stores see only a hash of it.
 *
 * @param parts - The client's key, and everything that limits its scope: project, endpoint, URL.
 */
export function idempotencyKey(...parts: readonly string[]): string {
  return sha256(JSON.stringify(parts), 'hex')
}

/**
 * Hashes what a request asks for.
 *
 * Two documents have the same fingerprint when they mean the same: the order of members, the case of
 * hexadecimal digits, short and CAIP-2 names of networks, and absent or null members do not count.
 */
export function fingerprintOf(document: unknown): string {
  return sha256(JSON.stringify(canonical(document, 0)), 'hex')
}

function canonical(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return null
  if (typeof value === 'string') return /^0x[0-9a-f]*$/i.test(value) ? value.toLowerCase() : value
  if (Array.isArray(value)) return value.map((one) => canonical(one, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined && member !== null)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(
    members.map(([name, member]) => [
      name,
      name === 'network' && typeof member === 'string'
        ? (findNetwork(member)?.caip2 ?? member)
        : canonical(member, depth + 1),
    ]),
  )
}
