/** Options of a UCP profile. */
import { z } from 'zod'
import { ConfigError, type ConfigIssue } from '../../../shared/errors.js'
import { isHttpUrl } from '../../../shared/http/http-url.js'
import { readOptions } from '../../../shared/protocol/option-issues.js'

/** Entries of a profile by reverse-domain name. */
export type UcpRegistry = Readonly<Record<string, readonly object[]>>

/** A public key as a JSON Web Key (RFC 7517). */
export interface UcpPublicKey {
  /** Names the key in signatures. */
  readonly kid: string
  /** `EC` or `OKP`. */
  readonly kty: string
  /** Members of its type: `crv`, `x`, `y`, `alg`. */
  readonly [member: string]: unknown
}

/**
 * Options of `ucpProfile`: a profile without this gateway's payment handler.
 *
 * @example
 * ```ts
 * import type { UcpProfileOptions } from 'express-x402-gateway'
 *
 * const options: UcpProfileOptions = {
 *   capabilities: { 'dev.ucp.shopping.checkout': [{ version: '2026-08-25' }] },
 * }
 * ```
 */
export interface UcpProfileOptions {
  /** UCP version of the business, the date of a release. @defaultValue `'2026-08-25'` */
  readonly version?: string
  /**
   * Public keys (JWK) by which signatures of the business are verified. They are `keys` of the profile, and
   * `signing_keys` before UCP 2026-08-25. @defaultValue none
   */
  readonly keys?: readonly UcpPublicKey[]
  /**
   * Earlier versions that the business speaks, too, each with the URL of its own profile:
   * `{ '2026-04-08': 'https://shop.example/.well-known/ucp/2026-04-08' }`. `ucpProfile` writes that profile as
   * well, with this `version`. @defaultValue none
   */
  readonly supportedVersions?: Readonly<Record<string, string>>
  /**
   * Services of the business: `{ 'dev.ucp.shopping': [{ version, transport, endpoint }] }`.
   * @defaultValue none
   */
  readonly services?: UcpRegistry
  /**
   * Capabilities of the business: `{ 'dev.ucp.shopping.checkout': [{ version, schema }] }`.
   * @defaultValue none
   */
  readonly capabilities?: UcpRegistry
  /** Other payment handlers of the business. @defaultValue none */
  readonly paymentHandlers?: UcpRegistry
}

/** The version since which keys are called `keys`, and UCP's own entries have the version of the profile. */
export const KEYS_VERSION = '2026-08-25'

/** Members of private and secret keys only (RFC 7518). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

const release = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/, "must be a release of UCP, like '2026-08-25'")

const publicKey = z
  .looseObject({ kid: z.string().min(1), kty: z.string().min(1) })
  .refine((key) => !PRIVATE_MEMBERS.some((name) => name in key), {
    message:
      'is a private key, and everybody can read the profile: give its public part, without ' +
      PRIVATE_MEMBERS.join(', '),
    params: { code: 'invalid_value' },
  })

const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'x', 'y'],
  OKP: ['crv', 'x'],
}

const wholeKey = publicKey.refine(
  (key) => (MEMBERS[key.kty] ?? []).every((name) => typeof key[name] === 'string'),
  {
    message: 'is not whole: a key of type EC has crv, x and y, one of type OKP crv and x',
    params: { code: 'invalid_value' },
  },
)

const schema = z.looseObject({
  version: release,
  keys: z.array(wholeKey).optional(),
  supportedVersions: z
    .record(release, z.string().refine(isHttpUrl, 'must be the URL of a profile'))
    .optional(),
})

/** @throws `ConfigError` with everything that platforms would refuse, and for a private key. */
export function checkProfileOptions(
  options: UcpProfileOptions & { readonly version: string },
): void {
  const read = readOptions(schema, options)
  const issues = [...(read.ok ? [] : read.issues), ...versionIssues(options)]
  if (issues.length > 0) throw new ConfigError(issues)
}

/** Since 2026-08-25, platforms refuse UCP's own entries of another version than the profile's. */
function versionIssues({
  version,
  services = {},
  capabilities = {},
  supportedVersions = {},
}: Parameters<typeof checkProfileOptions>[0]): readonly ConfigIssue[] {
  const issue = (option: string, message: string): ConfigIssue => {
    return { option, code: 'conflicting_options', message }
  }
  const itself = Object.hasOwn(supportedVersions, version)
    ? [issue(`supportedVersions.${version}`, 'is the version of this very profile: remove it')]
    : []
  if (version < KEYS_VERSION) return itself
  const others = Object.entries({ services, capabilities }).flatMap(([kind, registry]) =>
    Object.entries(registry)
      .filter(([name, entries]) => name.startsWith('dev.ucp.') && entries.some(isOther))
      .map(([name]) =>
        issue(
          `${kind}.${name}`,
          `must have the version of the profile, ${version}: declare other versions in profiles of their own (supportedVersions)`,
        ),
      ),
  )
  return [...itself, ...others]

  function isOther(entry: object): boolean {
    return !('version' in entry) || entry.version !== version
  }
}
