import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { useAction } from '../api/use-load.js'
import { Button } from './button.js'
import { ProblemNotice } from './notice.js'

interface DialogProps {
  readonly title: string
  /** Called by Escape. Left out where that would lose what is shown once. */
  readonly onClose?: (() => void) | undefined
  readonly class?: string
  readonly children: ComponentChildren
}

/** A modal dialog. The focus goes back to where it was. */
export function Dialog({ title, onClose, class: className, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const before = document.activeElement
    const shown = dialog.current
    shown?.showModal()
    return () => {
      shown?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
      else document.querySelector<HTMLElement>('h1')?.focus()
    }
  }, [])
  const isHeld = onClose === undefined
  useEffect(() => {
    // A second Escape would close the dialog, whatever `cancel` says.
    const hold = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && isHeld) event.preventDefault()
    }
    document.addEventListener('keydown', hold)
    return () => document.removeEventListener('keydown', hold)
  }, [isHeld])
  return (
    <dialog
      ref={dialog}
      class={className}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

interface ConfirmProps {
  readonly title: string
  readonly verb: string
  readonly act: () => Promise<unknown>
  readonly onClose: () => void
  readonly onDone: () => void
  readonly children: ComponentChildren
}

/** Asks before something irreversible. */
export function Confirm({ title, verb, act, onClose, onDone, children }: ConfirmProps) {
  const action = useAction(act)
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <ProblemNotice problem={action.problem} />
      <div class="actions dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind="danger"
          action={action}
          onClick={() => void action.run().then((isDone) => isDone && onDone())}
        >
          {verb}
        </Button>
      </div>
    </Dialog>
  )
}
