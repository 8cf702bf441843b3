import type { ApiDocument, Operation } from '../state/document.js'

/** Tokens, for as long as the page is open: they are kept nowhere. */
export interface Tokens {
  readonly projectToken: string
  readonly adminToken: string
}

export const NO_TOKENS: Tokens = { projectToken: '', adminToken: '' }

export interface TokensProps {
  readonly tokens: Tokens
  readonly setTokens: (tokens: Tokens) => void
}

const LABELS = {
  projectToken: 'Project token',
  adminToken: 'Admin token',
} as const satisfies Record<keyof Tokens, string>

/** The fields of the tokens that an operation needs, or of all that there are. */
export function TokenFields({
  api,
  operation,
  tokens,
  setTokens,
}: { readonly api: ApiDocument; readonly operation?: Operation } & TokensProps) {
  const names = (Object.keys(LABELS) as (keyof Tokens)[]).filter((name) =>
    operation === undefined ? isUsed(api, name) : needs(operation, name),
  )
  if (names.length === 0) return null
  return (
    <div class="tokens">
      {names.map((name) => (
        <div class="field" key={name}>
          <label for={name}>{LABELS[name]}</label>
          <input
            id={name}
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={tokens[name]}
            onInput={(event) => setTokens({ ...tokens, [name]: event.currentTarget.value })}
          />
        </div>
      ))}
      <p class="hint">
        Forgotten when this page is closed. A token is a secret of the server: use one that may be
        revoked. The gateway’s log notes that a browser has sent it.
      </p>
    </div>
  )
}

/** The headers by which a request says who sends it. */
export function tokenHeaders(operation: Operation, tokens: Tokens): Record<string, string> {
  const isAdmin = needs(operation, 'adminToken')
  return {
    ...(tokens.projectToken !== '' &&
      needs(operation, 'projectToken') && { 'X-Project-Identify-Token': tokens.projectToken }),
    ...(tokens.adminToken !== '' && isAdmin && { Authorization: `Bearer ${tokens.adminToken}` }),
  }
}

function needs({ security = [] }: Operation, name: keyof Tokens): boolean {
  return security.some((one) => name in one)
}

function isUsed({ paths }: ApiDocument, name: keyof Tokens): boolean {
  return JSON.stringify(paths).includes(`"${name}"`)
}
