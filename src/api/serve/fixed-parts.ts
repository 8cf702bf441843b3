/** Parts of the document that all endpoints share. */
import { API_KEY, IDEMPOTENCY_KEY, PROJECT_TOKEN } from '../../shared/protocol/headers.js'

/** The headings, in the order in which they are shown. */
export const TAGS = [
  {
    name: 'Payments',
    description: 'The x402 facilitator: make offers, verify and settle payments.',
  },
  { name: 'Discovery', description: 'What the projects of this gateway have sold.' },
  { name: 'Merchant', description: 'What a shop publishes in its UCP profile and checkouts.' },
  { name: 'Payment links', description: 'Links that are paid once, by people and programs.' },
  {
    name: 'Shop plugins',
    description: 'The same as for a merchant, in the places where shops’ plugins look for it.',
  },
  { name: 'Settlements', description: 'What became of a project’s payments.' },
  { name: 'Refunds', description: 'Pay settlements back, in full or in part.' },
  { name: 'Webhooks', description: 'Be told of payments and refunds.' },
  { name: 'Reports', description: 'Revenue and conversion of a project.' },
  { name: 'UCP', description: 'The public documents of the UCP payment handler.' },
  { name: 'Documentation', description: 'This document, and its page.' },
  { name: 'Probes', description: 'For load balancers and orchestrators.' },
  { name: 'Admin: projects', description: 'Projects, their merchants and tokens. For operators.' },
  { name: 'Admin: payments', description: 'Payments of all projects. For operators.' },
  { name: 'Admin: webhooks', description: 'Webhooks of projects and of the operator.' },
  {
    name: 'Admin: operations',
    description: 'Relayers, networks and the audit log. For operators.',
  },
  { name: 'Console', description: 'The page of operators and merchants, and its sessions.' },
] as const

export type Tag = (typeof TAGS)[number]['name']

export const PARAMETERS = {
  'Idempotency-Key': {
    name: IDEMPOTENCY_KEY,
    in: 'header',
    required: false,
    description:
      'Names the request: 1 to 255 visible ASCII characters. Repeated with the same body, it gets the first answer; with another body, it is refused.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
    example: 'order-7-settle',
  },
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    required: false,
    description: 'The `ETag` of the version that is meant. Another version is not changed.',
    schema: { type: 'string' },
    example: '"3"',
  },
  'If-None-Match': {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description:
      'The `ETag` of the document that the client has. It gets a 304 if that is current.',
    schema: { type: 'string' },
  },
} as const

export type RequestHeader = keyof typeof PARAMETERS

export const HEADERS = {
  'X-Request-Id': {
    description: 'Id of the request, as in the log.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'What is left of the limit (`r`), and seconds until it is full again (`t`); draft-ietf-httpapi-ratelimit-headers-08. Absent where requests are not limited.',
    schema: { type: 'string' },
    example: '"600-in-1min"; r=599; t=60',
  },
  'RateLimit-Policy': {
    description:
      'Requests (`q`) in a window of seconds (`w`), for each project, admin, session, or address.',
    schema: { type: 'string' },
    example: '"600-in-1min"; q=600; w=60; pk=:MmQxZTA3:',
  },
  'Retry-After': {
    description: 'Seconds after which the request is worth another try.',
    schema: { type: 'integer', minimum: 0 },
  },
  ETag: { description: 'Names this version of the document.', schema: { type: 'string' } },
  Location: { description: 'Where it is.', schema: { type: 'string' } },
  'Content-Disposition': { description: 'Names the file.', schema: { type: 'string' } },
  'Set-Cookie': { description: 'The cookie of the session.', schema: { type: 'string' } },
  'WWW-Authenticate': {
    description: 'How a request says who sends it.',
    schema: { type: 'string' },
  },
} as const

export type ResponseHeader = keyof typeof HEADERS

/** How requests say who sends them. */
export const SECURITY = {
  projectToken: {
    type: 'apiKey',
    in: 'header',
    name: PROJECT_TOKEN,
    description:
      'Identify token of a project. It is a secret of the server: never put it into a page, an app or a repository.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: API_KEY,
    description: 'The same token, under the name that shops’ plugins give it.',
  },
  adminToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'Admin token of the gateway’s operator.',
  },
  consoleSession: {
    type: 'apiKey',
    in: 'cookie',
    name: 'x402-console',
    description:
      'Session of the console, from `POST /console/session`. Over HTTPS the name begins with `__Host-`, or with `__Secure-` below a path. Changes are taken from pages of the gateway itself only.',
  },
} as const
