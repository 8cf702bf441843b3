import { useEffect, useRef, useState } from 'preact/hooks'
import { announce } from '../state/announce.js'
import { Button } from './button.js'
import { Dialog } from './dialog.js'

interface CopyProps {
  readonly text: string
  /** What is copied, for screen readers. */
  readonly label: string
}

/** A text with a button that copies it. */
export function Copyable({ text, label }: CopyProps) {
  const [isCopied, setCopied] = useState(false)
  const shown = useRef<HTMLElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  // It takes the place of a form, which had the focus.
  useEffect(() => button.current?.focus(), [])
  const copy = async (): Promise<void> => {
    const isDone = await copyText(text)
    if (!isDone && shown.current) getSelection()?.selectAllChildren(shown.current)
    setCopied(isDone)
    announce(isDone ? `${label} copied.` : 'Press Ctrl+C to copy the selection.')
  }
  return (
    <div class="copyable">
      <code ref={shown}>{text}</code>
      <button ref={button} type="button" class="button" onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  )
}

/** A small button that copies a value beside it. */
export function CopyButton({ text, label }: CopyProps) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    const isDone = await copyText(text)
    setCopied(isDone)
    announce(isDone ? `${label} copied.` : 'The browser does not allow copying here.')
  }
  const name = `Copy ${label}`
  return (
    <button type="button" class="copy" aria-label={name} title={text} onClick={() => void copy()}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  )
}

/** The clipboard is missing over plain HTTP, and may be forbidden. */
async function copyText(text: string): Promise<boolean> {
  const clipboard = navigator.clipboard as Clipboard | undefined
  const copied = clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  return copied ?? false
}

interface SecretProps {
  readonly title: string
  readonly secret: string
  readonly children: string
  readonly onClose: () => void
}

/** A secret that is shown once: only its button closes it. */
export function SecretOnce({ title, secret, children, onClose }: SecretProps) {
  return (
    <Dialog title={title}>
      <p>{children}</p>
      <Copyable text={secret} label="Secret" />
      <p class="hint">Copy it now. You will not see it again.</p>
      <div class="actions dialog-foot">
        <Button kind="main" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  )
}
