import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** The first view after loading leaves the focus to the browser. */
let isFirst = true

interface PageProps {
  readonly title: string
  /** Shown next to the title. */
  readonly actions?: ComponentChildren
  /** Leads to the view above. */
  readonly back?: { readonly href: string; readonly label: string }
  readonly children: ComponentChildren
}

/** A view with its heading, which gets the focus. */
export function Page({ title, actions, back, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} – x402 gateway`
  }, [title])
  useEffect(() => {
    if (!isFirst) heading.current?.focus()
    isFirst = false
  }, [])
  return (
    <>
      <header class="page-head">
        <div>
          {back && (
            <a class="back" href={back.href}>
              <span aria-hidden="true">← </span>
              {back.label}
            </a>
          )}
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

interface SectionProps {
  readonly title: string
  readonly note?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly class?: string
  readonly children: ComponentChildren
}

export function Section({ title, note, actions, class: className = '', children }: SectionProps) {
  return (
    <section class={`section ${className}`}>
      <header class="section-head">
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {note && <p class="note">{note}</p>}
      {children}
    </section>
  )
}
