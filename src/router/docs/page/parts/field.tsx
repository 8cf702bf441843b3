import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** A control with its label. */
export function Field({
  label,
  children,
}: {
  readonly label: ComponentChildren
  /** The control, which must have this id. */
  readonly children: (id: string) => ComponentChildren
}) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
    </div>
  )
}
