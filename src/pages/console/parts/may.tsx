import type { ComponentChildren } from 'preact'
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
