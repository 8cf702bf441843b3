import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Checkout } from '../api/documents.js'
import { useKey } from '../api/use-key.js'
import { useAction } from '../api/use-load.js'
import { FormFoot } from '../parts/dialog.js'
import { SelectField, TextField } from '../parts/field.js'
import { ProblemNotice } from '../parts/notice.js'

interface PaymentLinkFormProps {
  /** Path of the list. */
  readonly path: string
  readonly onCancel: () => void
  readonly onSaved: (created: Checkout) => void
}

const DAY = 24 * 3600

/** How long a link can be paid (s). */
const LIFETIMES = [
  ['3600', '1 hour'],
  [String(DAY), '1 day'],
  [String(7 * DAY), '7 days'],
  [String(30 * DAY), '30 days'],
  [String(90 * DAY), '90 days'],
] as const

const EMPTY = {
  amount: '',
  currency: 'USD',
  description: '',
  reference: '',
  successUrl: '',
  cancelUrl: '',
  expiresIn: String(7 * DAY),
}

type Draft = typeof EMPTY

export function PaymentLinkForm({ path, onCancel, onSaved }: PaymentLinkFormProps) {
  const [draft, setDraft] = useState(EMPTY)
  const body = bodyOf(draft)
  const key = useKey(body)
  const action = useAction()
  const fieldOf = (name: keyof Draft) => ({
    value: draft[name],
    onValue: (value: string) => setDraft({ ...draft, [name]: value }),
    error: action.problem?.errorOf(name),
  })
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void action.run(async () => onSaved(await ask<Checkout>('POST', path, { body, key })))
      }}
    >
      <ProblemNotice problem={action.problem} shownElsewhere={(at) => at in EMPTY} />
      <TextField label="Price" inputMode="decimal" placeholder="15.00" {...fieldOf('amount')} />
      <TextField label="Currency" hint="ISO 4217, like EUR." {...fieldOf('currency')} />
      <TextField label="For" hint="What is bought. Buyers see it." {...fieldOf('description')} />
      <TextField
        label="Reference"
        hint="Your own name for the payment, like an order number."
        {...fieldOf('reference')}
      />
      <TextField
        label="Then go to"
        type="url"
        placeholder="https://shop.example/thanks"
        hint="The page that buyers get once they have paid."
        {...fieldOf('successUrl')}
      />
      <TextField
        label="Back to"
        type="url"
        placeholder="https://shop.example/cart"
        hint="The page for those who do not want to pay."
        {...fieldOf('cancelUrl')}
      />
      <SelectField label="Can be paid for" options={LIFETIMES} {...fieldOf('expiresIn')} />
      <FormFoot verb="Create link" isBusy={action.isBusy} onCancel={onCancel} />
    </form>
  )
}

/** What is sent: without fields that are empty. */
function bodyOf({ expiresIn, ...texts }: Draft): object {
  const given = Object.entries(texts)
    .map(([name, text]) => [name, text.trim()] as const)
    .filter(([, text]) => text !== '')
  return { ...Object.fromEntries(given), expiresIn: Number(expiresIn) }
}
