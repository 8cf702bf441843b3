/** What a search looks for. */
export type Search =
  | { readonly kind: 'nothing' }
  /** Part of an address or a transaction, as lists show it. */
  | { readonly kind: 'partial' }
  | { readonly kind: 'settlement'; readonly id: string }
  | {
      readonly kind: 'payer' | 'transaction' | 'resource' | 'reference'
      readonly value: string
    }

/** Recognises an address, a transaction, a settlement's id, a URL or a reference. */
export function readSearch(text: string): Search {
  const value = text.trim()
  if (value === '') return { kind: 'nothing' }
  if (/^0x[0-9a-f]{40}$/i.test(value)) return { kind: 'payer', value }
  if (/^0x[0-9a-f]{64}$/i.test(value)) return { kind: 'transaction', value }
  if (/^0x[0-9a-f…]*$/i.test(value)) return { kind: 'partial' }
  if (/^[0-9a-f]{32}$/.test(value)) return { kind: 'settlement', id: value }
  if (/^[a-z]+:\/\//i.test(value)) return { kind: 'resource', value }
  return { kind: 'reference', value }
}
