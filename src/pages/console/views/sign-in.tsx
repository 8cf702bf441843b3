import { useEffect, useRef, useState } from 'preact/hooks'
import { send } from '../api/client.js'
import type { SessionDocument } from '../api/documents.js'
import { useAction } from '../api/use-load.js'
import { Button } from '../parts/button.js'
import { Dialog } from '../parts/dialog.js'
import { TextField } from '../parts/field.js'
import { Notice, ProblemNotice } from '../parts/notice.js'
import { Mark } from '../parts/shell.js'

interface SignInProps {
  readonly onSignIn: (session: SessionDocument) => void
}

/** The first view of those who are not signed in. */
export function SignIn({ onSignIn }: SignInProps) {
  useEffect(() => {
    document.title = 'Sign in – x402 gateway'
  }, [])
  return (
    <main class="gate">
      <p class="brand">
        <Mark />
        x402 gateway
      </p>
      <h1>Sign in to the console</h1>
      <SignInForm onSignIn={onSignIn} />
    </main>
  )
}

/** Asks for the token over the view whose session has ended, which keeps what was typed. */
export function SignInAgain({ onSignIn, onLeave }: SignInProps & { readonly onLeave: () => void }) {
  return (
    <Dialog title="Sign in again" class="curtain">
      <Notice>Your session has ended. Sign in again to continue.</Notice>
      <SignInForm onSignIn={onSignIn} />
      <Button onClick={onLeave}>Leave the console</Button>
    </Dialog>
  )
}

/** Exchanges a token for a session. The browser does not store the token. */
function SignInForm({ onSignIn }: SignInProps) {
  const [token, setToken] = useState('')
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.querySelector('input')?.focus(), [])
  const action = useAction(async () => {
    const body = { token: token.trim() }
    onSignIn(await send<SessionDocument>('POST', './session', { body }))
  })
  return (
    <form
      ref={form}
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void action.run()
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
  )
}
