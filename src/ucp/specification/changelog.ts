import { HANDLER_VERSION } from '../handler.js'
import { table } from './markdown.js'

/** Every version of the handler, newest first. */
const VERSIONS: readonly (readonly [version: string, change: string])[] = [
  [HANDLER_VERSION, 'First version.'],
]

/** What changed. */
export const changelog = (): string => `
## Changelog

A version is a date. It changes when the meaning of these documents does; its own copy of them stays.

${table(
  ['Version', 'Change'],
  VERSIONS.map(([version, change]) => [`\`${version}\``, change]),
)}
`
