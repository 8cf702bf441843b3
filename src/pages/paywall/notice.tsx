import type { Notice } from './purchases.js'
import { text } from './texts.js'

/** A message to the buyer, with links that help. Its words say what its colour says. */
export function NoticeText({ notice }: { readonly notice: Notice | undefined }) {
  if (notice === undefined) return null
  const { message, tone = 'bad', funds, transaction } = notice
  return (
    <p class={`notice ${tone}`} role={tone === 'good' ? 'status' : 'alert'}>
      {message}
      {funds !== undefined && <Link to={funds.url} label={funds.label} />}
      {transaction !== undefined && <Link to={transaction} label={text('transaction')} />}
    </p>
  )
}

/** A link to another site, which learns nothing about this one. */
export function Link({ to, label }: { readonly to: string; readonly label: string }) {
  return (
    <>
      {' '}
      <a href={to} target="_blank" rel="noopener noreferrer">
        {label}
      </a>
    </>
  )
}
