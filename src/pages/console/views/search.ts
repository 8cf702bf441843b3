/** What a search looks for. */
export type Search = 'nothing' | 'payer' | 'transaction' | 'settlement' | 'resource' | 'reference'

/** Recognises an address, a transaction, a settlement's id or a URL. */
export function readSearch(text: string): Search {
  const value = text.trim()
  if (value === '') return 'nothing'
  if (/^0x[0-9a-f]{64}$/i.test(value)) return 'transaction'
  if (/^0x[0-9a-f]+((…|\.{2,3})([0-9a-f]{2})*)?$/i.test(value)) return 'payer'
  if (/^[0-9a-f]{32}$/.test(value)) return 'settlement'
  return /^https?:\/\//i.test(value) ? 'resource' : 'reference'
}
