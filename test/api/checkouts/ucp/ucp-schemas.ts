import addFormats from 'ajv-formats'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { readdirSync, readFileSync } from 'node:fs'
import { UCP_VERSION } from '../../../../src/api/checkouts/ucp/handler.js'

/** The versions of UCP that a handler must fit. */
export const UCP_VERSIONS = ['2026-04-08', '2026-08-25'] as const

export type UcpVersion = (typeof UCP_VERSIONS)[number]

const FOLDER = new URL('schemas/', import.meta.url)

/** A validator that knows UCP's published schemas of one version, and takes ours strictly. */
function createAjv(version: UcpVersion): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: true,
    strict: true,
    // UCP's own leave types to what they are composed with.
    strictTypes: false,
    strictRequired: false,
  })
  addFormats.default(ajv)
  ajv.addVocabulary(['name', 'version', 'ucp_request', 'ucp_response'])
  const folder = new URL(`${version}/`, FOLDER)
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (file.endsWith('.json'))
      ajv.addSchema(JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as object)
  return ajv
}

/** Where a version has its profiles, and what it calls the definitions in them. */
const PROFILES: Readonly<Record<UcpVersion, readonly [file: string, suffix: string]>> = {
  '2026-04-08': ['discovery/profile.json', 'profile'],
  '2026-08-25': ['profile.json', 'schema'],
}

/** What UCP itself says of our documents, in one of its versions. */
export interface UcpValidators {
  readonly businessProfile: ValidateFunction
  readonly platformProfile: ValidateFunction
  readonly checkout: ValidateFunction
  readonly instrument: ValidateFunction
  readonly credential: ValidateFunction
  /** An entry of `payment_handlers`, by where it stands. */
  readonly handler: Readonly<Record<'business' | 'platform' | 'response', ValidateFunction>>
  /** Compiles a schema of ours, composed with those of this version. */
  compose(schema: object, pointer?: string): ValidateFunction
}

/** Compiles the published schemas of one version. */
export function ucpValidators(version: UcpVersion): UcpValidators {
  const ajv = createAjv(version)
  const compile = (path: string): ValidateFunction =>
    ajv.compile({ $ref: `https://ucp.dev/${version}/schemas/${path}` })
  const [profile, suffix] = PROFILES[version]
  const handler = (place: string): ValidateFunction =>
    compile(`payment_handler.json#/$defs/${place}_schema`)
  return {
    businessProfile: compile(`${profile}#/$defs/business_${suffix}`),
    platformProfile: compile(`${profile}#/$defs/platform_${suffix}`),
    checkout: compile('shopping/checkout.json'),
    instrument: compile(
      'shopping/types/payment_instrument.json#/$defs/selected_payment_instrument',
    ),
    credential: compile('shopping/types/payment_credential.json'),
    handler: {
      business: handler('business'),
      platform: handler('platform'),
      response: handler('response'),
    },
    compose(schema, pointer = '') {
      const text = JSON.stringify(schema)
      const composed = JSON.parse(text.replaceAll(`ucp.dev/${UCP_VERSION}/`, `ucp.dev/${version}/`))
      const { $id } = composed as { $id: string }
      if (ajv.getSchema($id) === undefined) ajv.addSchema(composed as object)
      return ajv.compile({ $ref: `${$id}#${pointer}` })
    },
  }
}

/** What a validator has against a document; nothing, where it takes it. */
export function errorsOf(validate: ValidateFunction, document: unknown): readonly string[] {
  validate(document)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
