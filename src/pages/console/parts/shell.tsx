import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { words } from '../format/text.js'
import { ownZone } from '../format/zone.js'
import { setAnnouncer } from '../state/announce.js'
import { linkTo, type Route } from '../state/route.js'
import { useSession } from '../state/session.js'
import { useZone } from '../state/use-zone.js'
import { Button } from './button.js'
import { SelectField } from './field.js'

/** The views of the menu, and the role that has them, if only one has. */
const VIEWS = [
  ['overview', 'Overview'],
  ['settlements', 'Settlements'],
  ['refunds', 'Refunds'],
  ['merchants', 'Merchants', 'admin'],
  ['relayers', 'Relayers', 'admin'],
  ['links', 'Payment links', 'merchant'],
  ['webhooks', 'Webhooks'],
  ['audit', 'Audit log', 'admin'],
  ['settings', 'Settings', 'merchant'],
] as const

interface ShellProps {
  readonly route: Route
  readonly onSignOut: () => void
  readonly children: ComponentChildren
}

export function Shell({ route, onSignOut, children }: ShellProps) {
  const { role, adminRole, name, project, scopes, version } = useSession()
  const [isOpen, setOpen] = useState(false)
  const here = route.path[0] ?? 'overview'
  useEffect(() => setOpen(false), [here])
  const mayHave = (path: string): boolean =>
    path !== 'webhooks' || role === 'admin' || scopes.includes('webhooks')
  const views = VIEWS.filter(([path, , only = role]) => only === role && mayHave(path))
  return (
    <div class="shell">
      <SkipLink />
      <header class="rail">
        <a class="brand" href={linkTo(['overview'])}>
          <Mark />
          x402 gateway
        </a>
        <button
          type="button"
          class="button menu"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
        <div id="navigation" class={isOpen ? 'rail-body is-open' : 'rail-body'}>
          <nav aria-label="Views">
            <ul>
              {views.map(([path, label]) => (
                <li key={path}>
                  <a href={linkTo([path])} {...(path === here && { 'aria-current': 'page' })}>
                    {label}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          <div class="who">
            <p>
              <strong>{project ?? name}</strong>
              <span>{words(adminRole ?? role)}</span>
            </p>
            <ZoneField />
            <Button onClick={onSignOut}>Sign out</Button>
            <small>Version {version}</small>
          </div>
        </div>
      </header>
      <main id="main">{children}</main>
      <LiveRegion />
    </div>
  )
}

/** Two arrows of a payment that meet. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M8 11h11a5 5 0 0 1 0 10H8" />
      <circle cx="9" cy="16" r="2.4" />
    </svg>
  )
}

/** The hash is the view: a link to `#main` would leave it. */
function SkipLink() {
  return (
    <a
      class="skip"
      href="#main"
      onClick={(event) => {
        event.preventDefault()
        document.querySelector<HTMLElement>('h1')?.focus()
      }}
    >
      Skip to content
    </a>
  )
}

function LiveRegion() {
  const [text, setText] = useState('')
  useEffect(() => setAnnouncer(setText), [])
  return (
    <div class="hidden" role="status" aria-live="polite">
      {text}
    </div>
  )
}

/** Chooses between the browser's time zone and UTC, for all times and days of the page. */
function ZoneField() {
  const [zone, choose] = useZone()
  if (ownZone === 'UTC') return <small>Times in UTC</small>
  return (
    <SelectField
      label="Times in"
      value={zone}
      onValue={choose}
      options={[
        [ownZone, ownZone.replaceAll('_', ' ')],
        ['UTC', 'UTC'],
      ]}
    />
  )
}
