import type { Token } from '../api/documents.js'

/** Name of a token. */
export const nameOf = ({ label, id }: Token): string => (label ? `“${label}”` : id)
