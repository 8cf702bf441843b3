import type { Token } from '../api/documents.js'

/** What a token is called. */
export const nameOf = ({ label, id }: Token): string => (label ? `“${label}”` : id)
