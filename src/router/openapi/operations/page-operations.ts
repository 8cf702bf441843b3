/** What the pages of the gateway have in common: the documentation and the console. */
import type { Operation, Success } from '../operation.js'
import { ALWAYS } from '../problems.js'

/** The client has the document already. */
export const NOT_MODIFIED: Success = {
  description: 'The client has it already.',
  headers: ['ETag'],
}

/** A page. */
export const page = {
  access: 'anyone',
  headers: ['If-None-Match'],
  responses: {
    200: { description: 'The page.', type: 'text/html', headers: ['ETag'] },
    304: NOT_MODIFIED,
    308: { description: 'The page is at the path with a slash.', headers: ['Location'] },
    503: { description: 'The page is not installed.', type: 'text/plain' },
  },
  problems: ALWAYS,
} as const satisfies Partial<Operation>

/** A file of a page. */
export const pageAsset = {
  access: 'anyone',
  summary: 'Get a file of the page',
  description: 'Script, style sheet and icon. The name of a file changes with its content.',
  path: { name: 'Name of the file.' },
  responses: { 200: { description: 'The file.', type: 'application/octet-stream' } },
  problems: [...ALWAYS, 'not_found'],
} as const satisfies Partial<Operation>
