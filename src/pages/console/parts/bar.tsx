interface BarProps {
  /** From 0 to 1. */
  readonly share: number
  readonly tone?: 'accent' | 'bad'
}

/** A bar that illustrates a number next to it. */
export function Bar({ share, tone = 'accent' }: BarProps) {
  const width = `${Math.max(0, Math.min(1, share)) * 100}%`
  return (
    <span class="bar" aria-hidden="true">
      <span class={`bar-fill bar-${tone}`} style={{ width }} />
    </span>
  )
}
