import { useState } from 'preact/hooks'
import type { Project } from '../api/documents.js'
import { CurrencyField } from '../parts/currency-field.js'
import { AmountField, CheckField, SelectField, TextField } from '../parts/field.js'
import { Form, useForm, type FormState } from '../parts/form.js'
import { Notice } from '../parts/notice.js'
import type { Of } from '../parts/of.js'
import { useSession } from '../state/session.js'
import {
  changesOf,
  canSell,
  choicesOf,
  draftOf,
  isRepeated,
  newSettingsOf,
  type Draft,
} from './merchant-draft.js'

interface MerchantFormProps {
  /** `undefined` for a new merchant. */
  readonly project: Project | undefined
  readonly onCancel: () => void
  readonly onSaved: (project: Project) => void
}

/** Creates or changes a merchant. The gateway's errors are shown next to the fields. */
export function MerchantForm({ project, onCancel, onSaved }: MerchantFormProps) {
  const form = useForm({
    initial: draftOf,
    method: project ? 'PATCH' : 'POST',
    path: project ? `admin/projects/${encodeURIComponent(project.id)}` : 'admin/projects',
    project,
    bodyOf: (draft, read) =>
      read
        ? { merchant: changesOf(read, draft) }
        : { id: draft.id.trim(), merchant: newSettingsOf(draft) },
    pathOf: (name) => (name === 'id' ? 'id' : `merchant.${name}`),
    onSaved,
  })
  const [isAsked, setAsked] = useState(false)
  const { values, problem, field } = form
  const isMoved = project !== undefined && values.payTo.trim() !== form.project?.merchant?.payTo
  const conflict = CONFLICTS.includes(problem?.code ?? '') ? problem?.message : undefined
  const submit = async (element: HTMLFormElement): Promise<void> => {
    setAsked(true)
    if (isMoved && !isRepeated(values)) requestAnimationFrame(() => focusFirstError(element))
    else if (!(await form.run())) requestAnimationFrame(() => focusFirstError(element))
  }
  return (
    <Form
      of={form}
      verb={project ? 'Save' : 'Create merchant'}
      onCancel={onCancel}
      onSubmit={(element) => void submit(element)}
    >
      {project === undefined && (
        <TextField
          label="Id"
          hint="Letters, digits, dots, dashes and underscores. Cannot be changed later."
          {...field('id')}
          error={form.errorOf('id') ?? conflict}
        />
      )}
      <TextField label="Name" hint="Shown to buyers." {...field('name')} />
      <PaidTo of={form} isMoved={isMoved} isAsked={isAsked} />
      <CurrencyField hint="Of prices that name none." {...field('currency')} />
      <Accepted of={form} />
      <More of={form} />
      <div role="status">
        <Unsellable of={values} />
      </div>
    </Form>
  )
}

/** Problems of an id that is taken. */
const CONFLICTS = ['project_exists', 'project_configured']

function focusFirstError(form: HTMLFormElement): void {
  const first = form.querySelector<HTMLElement>('[aria-invalid]')
  first?.closest('details')?.setAttribute('open', '')
  first?.focus()
}

interface PaidToProps extends Of<FormState<Draft>> {
  readonly isMoved: boolean
  /** Whether it was to be saved: until then, nothing is missing. */
  readonly isAsked: boolean
}

function PaidTo({ of: form, isMoved, isAsked }: PaidToProps) {
  const { scopes } = useSession()
  const mayMove = form.project === undefined || scopes.includes('own')
  return (
    <>
      <TextField
        label="Paid to"
        placeholder="0x…"
        hint={`The address that receives every payment.${mayMove ? '' : ' Only an owner can change it.'}`}
        isReadOnly={!mayMove}
        {...form.field('payTo')}
      />
      {isMoved && (
        <TextField
          label="Paid to, again"
          placeholder="0x…"
          hint="Payments to a wrong address are lost. The merchant’s webhooks are told of the new one."
          {...form.field('payToAgain')}
          error={
            !isAsked || isRepeated(form.values) ? undefined : 'Enter the new address a second time.'
          }
        />
      )}
    </>
  )
}

/** Says that nothing can be sold in the merchant's currency. */
export function Unsellable({ of }: Of<Draft>) {
  if (canSell(useSession().networks, of)) return null
  return (
    <Notice>
      Prices in {of.currency} are refused: no accepted token is worth one {of.currency}. Accept such
      a token, or tokens of other currencies at a rate.
    </Notice>
  )
}

/** Which tokens are taken: all, also those that the gateway gets later, or some. */
function Accepted({ of: form }: Of<FormState<Draft>>) {
  const { networks } = useSession()
  const { value: accepts, onValue, error } = form.field('accepts')
  const choices = choicesOf(networks, accepts)
  const takesAll = accepts.length === 0
  const taken = takesAll ? choices.map(([value]) => value) : accepts
  return (
    <fieldset>
      <legend>Accepted tokens</legend>
      <CheckField
        label="All tokens of the gateway, also later ones"
        isChecked={takesAll}
        onChange={(isChecked) => onValue(isChecked ? [] : taken)}
      />
      {choices.map(([value, label]) => (
        <CheckField
          key={value}
          label={label}
          isChecked={taken.includes(value)}
          onChange={(isChecked) =>
            onValue(isChecked ? [...taken, value] : taken.filter((one) => one !== value))
          }
        />
      ))}
      {error && <p class="field-error">{error}</p>}
    </fieldset>
  )
}

function More({ of: { values, change, field } }: Of<FormState<Draft>>) {
  return (
    <details>
      <summary>Limits, rates and protocol</summary>
      <div class="form">
        <AmountField label="Minimum amount" {...field('minAmount')} />
        <AmountField label="Maximum amount" {...field('maxAmount')} />
        <CheckField
          label="Accept tokens of other currencies, at a rate"
          isChecked={values.crossCurrency}
          onChange={(crossCurrency) => change({ crossCurrency })}
        />
        <TextField
          label="FX margin (hundredths of a percent)"
          inputMode="numeric"
          {...field('fxBufferBps')}
        />
        <TextField
          label="Offer expires after (seconds)"
          inputMode="numeric"
          placeholder="300"
          {...field('maxTimeoutSeconds')}
        />
        <SelectField
          label="Retry without the offer id"
          options={[
            ['', 'Default: from the same address'],
            ['same-address', 'From the same address'],
            ['never', 'Never'],
          ]}
          {...field('redeemWithoutProof')}
        />
        <CheckField
          label="List what was sold in the public catalogue"
          hint="Agents find it there: URL, description, price, how often and when last."
          isChecked={values.listed !== false}
          onChange={(listed) => change({ listed })}
        />
        <SelectField
          label="Buyers of x402 version 1"
          hint="Many buyers still speak it. They retry from their address, because it has no offer id."
          options={[
            ['', 'Gateway default'],
            ['yes', 'Served'],
            ['no', 'Not served'],
          ]}
          {...field('v1')}
        />
      </div>
    </details>
  )
}
