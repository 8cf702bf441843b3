/** `/console`: the page, and its sessions. */
import type { Operations } from '../../router/openapi/operation.js'
import { page, pageAsset } from '../../router/openapi/operations/page-operations.js'
import { ALWAYS, WITH_BODY } from '../../router/openapi/problems.js'
import { bodySchema } from '../../router/openapi/request-schema.js'
import { SIGN_IN_MEMBERS, signInSchema } from '../session/session-routes.js'
import { session } from './documents.js'

const OF_SESSION = [
  ...ALWAYS,
  ...(['unauthorized', 'cross_origin', 'ledger_unavailable'] as const),
] as const

const common = { tag: 'Console' } as const

/** Describes the console. */
export const consoleOperations: Operations = {
  'GET /console': {
    ...common,
    id: 'getConsole',
    ...page,
    summary: 'Open the console',
    description: 'The page of operators and merchants.',
  },
  'GET /console/assets/{name}': {
    ...common,
    id: 'getConsoleAsset',
    ...pageAsset,
  },
  'GET /console/session': {
    ...common,
    id: 'getSession',
    access: 'session',
    summary: 'Get the session',
    description: 'Who is signed in, and until when.',
    responses: { 200: { description: 'The session.', document: session } },
    problems: OF_SESSION,
  },
  'POST /console/session': {
    ...common,
    id: 'signIn',
    access: 'anyone',
    summary: 'Sign in',
    description:
      'Turns a token into a session, whose cookie only the browser sees. Taken from pages of the gateway only; an address may try ten wrong tokens a minute.',
    body: {
      schema: bodySchema(
        signInSchema,
        { token: { description: 'An admin token, or an identify token of a project.' } },
        SIGN_IN_MEMBERS,
      ),
      example: { token: 'x402_…' },
    },
    responses: {
      200: { description: 'Signed in.', document: session, headers: ['Set-Cookie'] },
    },
    problems: [...OF_SESSION, ...WITH_BODY],
  },
  'DELETE /console/session': {
    ...common,
    id: 'signOut',
    access: 'anyone',
    summary: 'Sign out',
    description: 'Ends the session, if there is one.',
    responses: { 204: { description: 'Signed out.', headers: ['Set-Cookie'] } },
    problems: OF_SESSION,
  },
}
