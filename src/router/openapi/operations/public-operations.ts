/** What needs no token: the documents of the UCP handler, this document and its page. */
import { anyJsonSchema, openApiDocument } from '../documents/checkout.js'
import type { Operation, Operations, Success } from '../operation.js'
import { ALWAYS } from '../problems.js'
import { NOT_MODIFIED, page, pageAsset } from './page-operations.js'

const VERSION = 'Version of the handler: a date, `2026-11-21`.'

/** The operation of a document, current and by version. */
function ucpDocument(
  name: string,
  { id, what, type }: { readonly id: string; readonly what: string; readonly type?: string },
): Operations {
  const found: Success = {
    description: 'The document.',
    headers: ['ETag'],
    ...(type === undefined ? { document: anyJsonSchema } : { type }),
  }
  const common = {
    tag: 'UCP',
    access: 'anyone',
    headers: ['If-None-Match'],
    responses: { 200: found, 304: NOT_MODIFIED },
    problems: ALWAYS,
  } as const satisfies Partial<Operation>
  return {
    [`GET /ucp/${name}`]: {
      ...common,
      id: `get${id}`,
      summary: `Get ${what}`,
      description: `Public; pages of any origin may read it. It is ${what}, in its current version.`,
    },
    [`GET /ucp/{version}/${name}`]: {
      ...common,
      id: `get${id}OfVersion`,
      summary: `Get ${what} of a version`,
      description: `Public; pages of any origin may read it. It is ${what} of a version, which never changes.`,
      path: { version: VERSION },
      problems: [...ALWAYS, 'not_found'],
    },
  }
}

/** `/ucp/*` */
export const ucpOperations: Operations = {
  ...ucpDocument('schema.json', { id: 'HandlerSchema', what: 'the JSON schema of the handler' }),
  ...ucpDocument('instrument_schema.json', {
    id: 'InstrumentSchema',
    what: 'the JSON schema of its instruments',
  }),
  ...ucpDocument('gateway.md', {
    id: 'HandlerSpecification',
    what: 'the specification of the handler',
    type: 'text/markdown',
  }),
}

/** This document, and its page. */
export const docsOperations: Operations = {
  'GET /api/v2/openapi.json': {
    id: 'getOpenApi',
    tag: 'Documentation',
    access: 'anyone',
    summary: 'Get this document',
    description: 'The description of this API in OpenAPI 3.1: what this gateway has mounted.',
    headers: ['If-None-Match'],
    responses: {
      200: { description: 'The document.', document: openApiDocument, headers: ['ETag'] },
      304: NOT_MODIFIED,
    },
    problems: ALWAYS,
  },
  'GET /api/v2/docs': {
    id: 'getDocs',
    tag: 'Documentation',
    ...page,
    summary: 'Open the documentation',
    description: 'This document as a page, on which requests can be tried.',
  },
  'GET /api/v2/docs/assets/{name}': {
    id: 'getDocsAsset',
    tag: 'Documentation',
    ...pageAsset,
  },
}
