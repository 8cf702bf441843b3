import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Token } from '../api/documents.js'
import { useKey } from '../api/use-key.js'
import { useAction } from '../api/use-load.js'
import { Copyable } from '../parts/copy.js'
import { Dialog, FormFoot } from '../parts/dialog.js'
import { CheckFields, TextField } from '../parts/field.js'
import { ProblemNotice } from '../parts/notice.js'
import { nameOf, SCOPES } from './token-name.js'

interface NewTokenProps {
  readonly path: string
  readonly replaced: Token | undefined
  readonly onRevoke: (token: Token) => Promise<unknown>
  readonly onClose: () => void
}

/** Creates a token and shows it once. A rotation revokes the old one after the new one is in place. */
export function NewToken({ path, replaced, onRevoke, onClose }: NewTokenProps) {
  const [created, setCreated] = useState<string>()
  const title = replaced ? `Rotate ${nameOf(replaced)}` : 'New token'
  return (
    <Dialog title={title} onClose={created === undefined ? onClose : undefined}>
      {created === undefined ? (
        <Create
          path={path}
          label={replaced?.label ?? ''}
          scopes={replaced?.scopes ?? SCOPES.map(([scope]) => scope)}
          isRotation={replaced !== undefined}
          onCancel={onClose}
          onCreated={setCreated}
        />
      ) : (
        <Created token={created} replaced={replaced} onRevoke={onRevoke} onClose={onClose} />
      )}
    </Dialog>
  )
}

interface CreateProps {
  readonly path: string
  readonly label: string
  readonly scopes: Token['scopes']
  readonly isRotation: boolean
  readonly onCancel: () => void
  readonly onCreated: (token: string) => void
}

function Create({ path, isRotation, onCancel, onCreated, ...before }: CreateProps) {
  const [label, setLabel] = useState(before.label)
  const [scopes, setScopes] = useState(before.scopes)
  const key = useKey([label, scopes])
  const action = useAction()
  const create = async (): Promise<void> => {
    const body = { label: label.trim(), scopes }
    const { token } = await ask<{ readonly token: string }>('POST', path, {
      body,
      key,
    })
    onCreated(token)
  }
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void action.run(create)
      }}
    >
      {isRotation && <p>The old token works until you revoke it.</p>}
      <ProblemNotice
        problem={action.problem}
        shownElsewhere={(path_) => path_ === 'label' || path_.startsWith('scopes')}
      />
      <TextField
        label="Label"
        value={label}
        onValue={setLabel}
        error={action.problem?.errorOf('label')}
        hint="Where it is used, such as “shop server”."
      />
      {!isRotation && (
        <CheckFields
          legend="It may"
          names={SCOPES}
          value={scopes}
          onValue={setScopes}
          error={action.problem?.errorOf('scopes')}
        />
      )}
      <FormFoot verb="Create token" isBusy={action.isBusy} onCancel={onCancel} />
    </form>
  )
}

interface CreatedProps extends Pick<NewTokenProps, 'replaced' | 'onRevoke' | 'onClose'> {
  readonly token: string
}

function Created({ token, replaced, onRevoke, onClose }: CreatedProps) {
  const action = useAction()
  return (
    <>
      <p>Copy this token now. You will not see it again.</p>
      <Copyable text={token} label="Token" />
      {replaced && <p>Put the new token in place, then revoke the old one.</p>}
      <ProblemNotice problem={action.problem} />
      <div class="actions dialog-foot">
        {replaced && (
          <button
            type="button"
            class="button button-danger"
            aria-disabled={action.isBusy}
            onClick={() =>
              void action.run(() => onRevoke(replaced)).then((isDone) => isDone && onClose())
            }
          >
            Revoke the old token
          </button>
        )}
        <button type="button" class="button button-main" onClick={onClose}>
          {replaced ? 'Later' : 'Done'}
        </button>
      </div>
    </>
  )
}
