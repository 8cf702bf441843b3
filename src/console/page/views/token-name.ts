import type { Token } from '../api/documents.js'

export const nameOf = ({ label, id }: Token): string => (label ? `“${label}”` : id)

/** The scopes of tokens, and what each allows. */
export const SCOPES = [
  ['settle', 'Make offers, verify and settle payments.'],
  ['read', 'See payments, refunds and reports, and sign in here.'],
  ['refund', 'Refund payments.'],
  ['webhooks', 'Manage webhooks.'],
] as const

export const scopesInWords = (scopes: Token['scopes']): string =>
  scopes.length === SCOPES.length ? 'all' : scopes.join(', ')
