import type { Token } from '../api/documents.js'

export const nameOf = ({ label, id }: Token): string => (label ? `“${label}”` : id)
