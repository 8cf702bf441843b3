import type { ComponentChildren } from 'preact'
import type { Action } from '../api/use-load.js'
import { useSession } from '../state/session.js'

type Scope = ReturnType<typeof useSession>['scopes'][number]

interface MayProps {
  readonly scope: Scope
  readonly children: ComponentChildren
}

/** Shows its children to those who may use them. The gateway refuses the others in any case. */
export function May({ scope, children }: MayProps) {
  return useSession().scopes.includes(scope) ? <>{children}</> : null
}

interface ButtonProps {
  readonly kind?: 'main' | 'danger' | 'small'
  /** Who may use it: the others do not see it. */
  readonly scope?: Scope
  /** Its name for screen readers, if its text says too little. */
  readonly label?: string | undefined
  /** What it does, one at a time. */
  readonly action?: Action
  readonly onClick?: () => void
  readonly children: ComponentChildren
}

export function Button({ kind, scope, label, action, onClick, children }: ButtonProps) {
  const button = (
    <button
      type="button"
      class={kind === undefined ? 'button' : `button button-${kind}`}
      aria-label={label}
      aria-disabled={action?.isBusy}
      onClick={onClick ?? (() => void action?.run())}
    >
      {children}
    </button>
  )
  return scope === undefined ? button : <May scope={scope}>{button}</May>
}
