import { useEffect, useRef, useState } from 'preact/hooks'
import { send, setSessionEnd, toProblem, type Problem } from './api/client.js'
import type { SessionDocument } from './api/documents.js'
import { useAction } from './api/use-load.js'
import { Button } from './parts/button.js'
import { Dialog } from './parts/dialog.js'
import { TextField } from './parts/field.js'
import { Notice, ProblemNotice } from './parts/notice.js'
import { Page } from './parts/page.js'
import { Mark, Shell } from './parts/shell.js'
import { linkTo, useRoute, type Route } from './state/route.js'
import { SessionContext } from './state/session.js'
import { useZone } from './state/use-zone.js'
import { AuditLog } from './views/audit-log.js'
import { MerchantView, OwnProject } from './views/merchant.js'
import { Merchants } from './views/merchants.js'
import { PaymentLinks } from './views/payment-links.js'
import { Overview } from './views/overview.js'
import { RefundList } from './views/refunds.js'
import { Relayers } from './views/relayers.js'
import { SettlementView } from './views/settlement.js'
import { Settlements } from './views/settlements.js'
import { WebhookView } from './views/webhook.js'
import { ownWebhooks, webhooksOf } from './views/webhook-owner.js'
import { Webhooks } from './views/webhook-list.js'

/** `undefined` while loading. */
type SignedIn = SessionDocument | 'nobody' | undefined

/** The console: session, and the view of the URL. */
export function App() {
  const [session, setSession] = useState<SignedIn>()
  const [hasEnded, setEnded] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  const route = useRoute()
  const [zone] = useZone()
  const take = (signedIn: SignedIn): void => {
    setSession(signedIn)
    setEnded(false)
  }
  const open = (): void => {
    setProblem(undefined)
    send<SessionDocument>('GET', './session').then(take, (error: unknown) => {
      const found = toProblem(error)
      if (found.status === 401) take('nobody')
      else setProblem(found)
    })
  }
  useEffect(() => {
    setSessionEnd(() => setEnded(true))
    open()
  }, [])
  const signOut = (): void => {
    send('DELETE', './session')
      .catch(() => undefined)
      .finally(() => take('nobody'))
  }
  if (problem !== undefined)
    return (
      <main class="gate">
        <h1>x402 gateway</h1>
        <ProblemNotice problem={problem} onRetry={open} />
      </main>
    )
  if (session === undefined) return <main class="gate" aria-busy="true" />
  if (session === 'nobody') return <SignIn onSignIn={take} />
  // The same user keeps what was typed; another user starts afresh.
  return (
    <SessionContext.Provider key={`${session.role} ${session.name}`} value={session}>
      <Shell route={route} onSignOut={signOut}>
        <View key={`${zone} ${route.path.join('/')}`} route={route} role={session.role} />
      </Shell>
      {hasEnded && <SignInAgain onSignIn={take} onLeave={() => take('nobody')} />}
    </SessionContext.Provider>
  )
}

/** The view of a route, if the role has one. */
function View({ route, role }: { readonly route: Route; readonly role: 'admin' | 'merchant' }) {
  const [view = 'overview', id, part, partId] = route.path
  if (view === 'overview') return <Overview route={route} />
  if (view === 'settlements')
    return id === undefined ? <Settlements route={route} /> : <SettlementView id={id} />
  if (view === 'refunds') return <RefundList route={route} />
  if (view === 'webhooks')
    return id === undefined ? (
      <Webhooks />
    ) : (
      <WebhookView owner={ownWebhooks(role)} id={id} route={route} />
    )
  if (role === 'merchant' && view === 'links') return <PaymentLinks route={route} />
  if (role === 'merchant' && view === 'settings') return <OwnProject />
  if (role === 'admin' && view === 'merchants') {
    if (id === undefined) return <Merchants route={route} />
    if (part === 'links') return <PaymentLinks route={route} project={id} />
    if (part === 'webhooks' && partId !== undefined)
      return <WebhookView owner={webhooksOf(id)} id={partId} route={route} />
    return <MerchantView id={id} />
  }
  if (role === 'admin' && view === 'relayers') return <Relayers />
  if (role === 'admin' && view === 'audit') return <AuditLog route={route} />
  return <NotFound />
}

function NotFound() {
  return (
    <Page title="Page not found">
      <p>
        Choose one from the menu, or go to the <a href={linkTo(['overview'])}>overview</a>.
      </p>
    </Page>
  )
}

interface SignInProps {
  readonly onSignIn: (session: SessionDocument) => void
}

/** The first view of those who are not signed in. */
function SignIn({ onSignIn }: SignInProps) {
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
function SignInAgain({ onSignIn, onLeave }: SignInProps & { readonly onLeave: () => void }) {
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
