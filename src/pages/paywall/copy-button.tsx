import { useState } from 'preact/hooks'
import { text } from './texts.js'

/** How long to say that it was copied (ms). */
const SAID_MS = 2000

interface CopyButtonProps {
  readonly text: string
  /** What the text is, for people who cannot see where the button stands. */
  readonly of: string
}

/** Copies a text; nothing where the browser does not allow that. */
export function CopyButton({ text: copied, of }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false)
  // Absent without a secure context.
  const { clipboard } = navigator as Partial<Navigator>
  if (clipboard === undefined) return null
  const copy = async (): Promise<void> => {
    await clipboard.writeText(copied)
    setCopied(true)
    setTimeout(() => setCopied(false), SAID_MS)
  }
  return (
    <button
      type="button"
      class="small"
      aria-label={`${text('copy')}: ${of}`}
      onClick={() => void copy().catch(() => undefined)}
    >
      <span aria-live="polite">{text(isCopied ? 'copied' : 'copy')}</span>
    </button>
  )
}
