import { useRef, useState } from 'preact/hooks'
import { announce } from '../state/announce.js'
import { Dialog } from './dialog.js'

/** A text with a button that copies it. */
export function Copyable({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  const shown = useRef<HTMLElement>(null)
  const copy = async (): Promise<void> => {
    const isDone = await copyText(text)
    if (!isDone && shown.current) getSelection()?.selectAllChildren(shown.current)
    setCopied(isDone)
    announce(isDone ? `${label} copied.` : 'Press Ctrl+C to copy the selection.')
  }
  return (
    <div class="copyable">
      <code ref={shown}>{text}</code>
      <button type="button" class="button" onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  )
}

/** The clipboard is missing over plain HTTP, and may be forbidden. */
async function copyText(text: string): Promise<boolean> {
  const clipboard = navigator.clipboard as Clipboard | undefined
  return clipboard === undefined
    ? false
    : clipboard.writeText(text).then(
        () => true,
        () => false,
      )
}

interface SecretProps {
  readonly title: string
  readonly secret: string
  readonly children: string
  readonly onClose: () => void
}

export function SecretOnce({ title, secret, children, onClose }: SecretProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{children}</p>
      <Copyable text={secret} label="Secret" />
      <p class="hint">Copy it now. You will not see it again.</p>
      <div class="actions dialog-foot">
        <button type="button" class="button button-main" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
