import { PROJECT_TOKEN } from '../../shared/protocol/headers.js'
import type { Access, Description } from '../serve/define-endpoint.js'
import { SECURITY } from '../serve/fixed-parts.js'

const AS_PROJECT = `-H "${PROJECT_TOKEN}: $PROJECT_TOKEN"`

/** The option of curl by which each caller says who it is. */
const CREDENTIALS: Readonly<Record<Access, string>> = {
  anyone: '',
  project: AS_PROJECT,
  merchant: AS_PROJECT,
  admin: '-H "Authorization: Bearer $ADMIN_TOKEN"',
  session: `-b "${SECURITY.consoleSession.name}=$SESSION"`,
}

/** The command that calls an endpoint, with the body of its example. `$GATEWAY` is the URL of the server. */
export function curlOf({ method, path, access, body }: Description): string {
  const json = body && JSON.stringify(body.example).replaceAll("'", String.raw`'\''`)
  return [
    'curl',
    method === 'GET' || (method === 'POST' && json !== undefined) ? '' : `-X ${method}`,
    `"$GATEWAY${path.replaceAll(/\{(\w+)\}/g, '$$$1')}"`,
    CREDENTIALS[access],
    json === undefined ? '' : `--json '${json}'`,
  ]
    .filter(Boolean)
    .join(' ')
}
