import { useEffect, useRef, useState } from 'preact/hooks'
import { send } from '../api/client.js'
import type { SessionDocument } from '../api/documents.js'
import { useAction } from '../api/use-load.js'
import { TextField } from '../parts/field.js'
import { Notice, ProblemNotice } from '../parts/notice.js'
import { Mark } from '../parts/shell.js'

interface SignInProps {
  readonly hasEnded: boolean
  readonly onSignIn: (session: SessionDocument) => void
}

/** Exchanges a token for a session. The browser does not store the token. */
export function SignIn({ hasEnded, onSignIn }: SignInProps) {
  const [token, setToken] = useState('')
  const action = useAction()
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    document.title = 'Sign in – x402 gateway'
    form.current?.querySelector('input')?.focus()
  }, [])
  const submit = async (): Promise<void> => {
    const body = { token: token.trim() }
    onSignIn(await send<SessionDocument>('POST', './session', { body }))
  }
  return (
    <main class="gate">
      <p class="brand">
        <Mark />
        x402 gateway
      </p>
      <h1>Sign in to the console</h1>
      {hasEnded && <Notice>Your session has ended. Sign in again to continue.</Notice>}
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          void action.run(submit)
        }}
      >
        <ProblemNotice problem={action.problem} />
        <TextField
          label="Token"
          type="password"
          value={token}
          onValue={setToken}
          isRequired
          autoComplete="current-password"
          hint="An admin token shows all merchants; a merchant’s own token shows its payments."
        />
        <button type="submit" class="button button-main" aria-disabled={action.isBusy}>
          {action.isBusy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}
