import type { Token } from '../api/documents.js'

export const nameOf = ({ label, id }: Token): string => (label ? `“${label}”` : id)

type TokenScope = Token['scopes'][number]

/** What each scope of a token allows. */
const MEANINGS: Readonly<Record<TokenScope, string>> = {
  settle: 'Make offers, verify and settle payments.',
  read: 'See payments, refunds and reports, and sign in here.',
  refund: 'Refund payments.',
  webhooks: 'Manage webhooks.',
}

/** The scopes of tokens, and what each allows. */
export const SCOPES = Object.entries(MEANINGS) as ReadonlyArray<
  readonly [scope: TokenScope, meaning: string]
>

export const scopesInWords = (scopes: Token['scopes']): string =>
  scopes.length === SCOPES.length ? 'all' : scopes.join(', ')
