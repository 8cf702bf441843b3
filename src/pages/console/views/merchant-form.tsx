import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Project } from '../api/documents.js'
import { useKey } from '../api/use-key.js'
import { useAction } from '../api/use-load.js'
import { FormFoot } from '../parts/dialog.js'
import { CheckField, SelectField, TextField } from '../parts/field.js'
import { ProblemNotice } from '../parts/notice.js'
import { useSession } from '../state/session.js'
import {
  changesOf,
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
  const [draft, setDraft] = useState(() => draftOf(project))
  const key = useKey(draft)
  const action = useAction()
  const change = (members: Partial<Draft>): void => setDraft({ ...draft, ...members })
  const errorOf = (path: string): string | undefined => action.problem?.errorOf(path)
  const isMoved = project !== undefined && draft.payTo.trim() !== project.merchant?.payTo
  const fields: Fields = { draft, change, errorOf, isMoved }
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        const form = event.currentTarget
        if (isMoved && !isRepeated(draft)) return focusFirstError(form)
        void action
          .run(async () => onSaved(await save(project, draft, key)))
          .then((isSaved) => isSaved || requestAnimationFrame(() => focusFirstError(form)))
      }}
    >
      <ProblemNotice
        problem={action.problem}
        shownElsewhere={(path) => SHOWN.some((one) => path === one || path.startsWith(`${one}.`))}
      />
      {project === undefined && (
        <TextField
          label="Id"
          value={draft.id}
          onValue={(id) => change({ id })}
          error={errorOf('id') ?? conflictOf(action.problem?.code, action.problem?.message)}
          hint="Letters, digits, dots, dashes and underscores. Cannot be changed later."
        />
      )}
      <MainFields {...fields} />
      <Accepted {...fields} />
      <details>
        <summary>Limits, rates and protocol</summary>
        <MoreFields {...fields} />
      </details>
      <FormFoot
        verb={project === undefined ? 'Create merchant' : 'Save'}
        isBusy={action.isBusy}
        onCancel={onCancel}
      />
    </form>
  )
}

/** Members whose errors are shown next to their fields. */
const SHOWN = [
  'id',
  ...['name', 'payTo', 'currency', 'accepts', 'minAmount', 'maxAmount'].map(
    (one) => `merchant.${one}`,
  ),
  ...['fxBufferBps', 'maxTimeoutSeconds', 'redeemWithoutProof', 'listed', 'v1'].map(
    (one) => `merchant.${one}`,
  ),
]

const conflictOf = (code: string | undefined, message: string | undefined): string | undefined =>
  code === 'project_exists' || code === 'project_configured' ? message : undefined

function focusFirstError(form: HTMLFormElement): void {
  const first = form.querySelector<HTMLElement>('[aria-invalid]')
  first?.closest('details')?.setAttribute('open', '')
  first?.focus()
}

function save(project: Project | undefined, draft: Draft, key: string): Promise<Project> {
  if (project === undefined) {
    const body = { id: draft.id.trim(), merchant: newSettingsOf(draft) }
    return ask<Project>('POST', 'admin/projects', { body, key })
  }
  return ask<Project>('PATCH', `admin/projects/${encodeURIComponent(project.id)}`, {
    body: { merchant: changesOf(project, draft) },
    version: project.version,
  })
}

interface Fields {
  readonly draft: Draft
  readonly change: (members: Partial<Draft>) => void
  readonly errorOf: (path: string) => string | undefined
  /** Whether another address is to be paid. */
  readonly isMoved: boolean
}

function MainFields({ draft, change, errorOf, isMoved }: Fields) {
  return (
    <>
      <TextField
        label="Name"
        value={draft.name}
        onValue={(name) => change({ name })}
        error={errorOf('merchant.name')}
        hint="Shown to buyers."
      />
      <TextField
        label="Paid to"
        value={draft.payTo}
        onValue={(payTo) => change({ payTo })}
        error={errorOf('merchant.payTo')}
        placeholder="0x…"
        hint="The address that receives every payment."
      />
      {isMoved && (
        <TextField
          label="Paid to, again"
          value={draft.payToAgain}
          onValue={(payToAgain) => change({ payToAgain })}
          error={isRepeated(draft) ? undefined : 'Enter the new address a second time.'}
          placeholder="0x…"
          hint="Payments to a wrong address are lost. The merchant’s webhooks are told of the new one."
        />
      )}
      <SelectField
        label="Currency"
        value={draft.currency}
        onValue={(currency) => change({ currency })}
        error={errorOf('merchant.currency')}
        hint="Of prices that name none."
        options={currenciesWith(draft.currency)}
      />
    </>
  )
}

/** The currencies that the browser knows, with their names, and one that is set already. */
function currenciesWith(chosen: string): ReadonlyArray<readonly [value: string, label: string]> {
  const names = new Intl.DisplayNames(undefined, { type: 'currency' })
  const known = Intl.supportedValuesOf('currency')
  const codes = known.includes(chosen) ? known : [chosen, ...known]
  return codes.map((code) => [code, `${code} – ${names.of(code) ?? code}`] as const)
}

/** Which tokens are taken: all, also those that the gateway gets later, or some. */
function Accepted({ draft, change, errorOf }: Fields) {
  const { networks } = useSession()
  const choices = choicesOf(networks, draft.accepts)
  const takesAll = draft.accepts.length === 0
  const taken = takesAll ? choices.map(([value]) => value) : draft.accepts
  const error = errorOf('merchant.accepts')
  return (
    <fieldset>
      <legend>Accepted tokens</legend>
      <CheckField
        label="All tokens of the gateway, also later ones"
        isChecked={takesAll}
        onChange={(isChecked) => change({ accepts: isChecked ? [] : taken })}
      />
      {choices.map(([value, label]) => (
        <CheckField
          key={value}
          label={label}
          isChecked={taken.includes(value)}
          onChange={(isChecked) =>
            change({
              accepts: isChecked ? [...taken, value] : taken.filter((one) => one !== value),
            })
          }
        />
      ))}
      {error && <p class="field-error">{error}</p>}
    </fieldset>
  )
}

function MoreFields({ draft, change, errorOf }: Fields) {
  const text = (name: 'minAmount' | 'maxAmount' | 'fxBufferBps' | 'maxTimeoutSeconds') => ({
    value: draft[name],
    onValue: (value: string) => change({ [name]: value }),
    error: errorOf(`merchant.${name}`),
  })
  return (
    <div class="form">
      <TextField label="Minimum amount" inputMode="decimal" {...text('minAmount')} />
      <TextField label="Maximum amount" inputMode="decimal" {...text('maxAmount')} />
      <CheckField
        label="Accept tokens of other currencies, at a rate"
        isChecked={draft.crossCurrency}
        onChange={(crossCurrency) => change({ crossCurrency })}
      />
      <TextField
        label="FX margin (hundredths of a percent)"
        inputMode="numeric"
        {...text('fxBufferBps')}
      />
      <TextField
        label="Offer expires after (seconds)"
        inputMode="numeric"
        placeholder="300"
        {...text('maxTimeoutSeconds')}
      />
      <ProtocolFields draft={draft} change={change} errorOf={errorOf} />
    </div>
  )
}

function ProtocolFields({ draft, change, errorOf }: Omit<Fields, 'isMoved'>) {
  return (
    <>
      <CheckField
        label="Repeat success for the same payment id"
        isChecked={draft.repeatSettlements}
        onChange={(repeatSettlements) => change({ repeatSettlements })}
      />
      <SelectField
        label="Retry without the offer id"
        value={draft.redeemWithoutProof}
        onValue={(redeemWithoutProof) => change({ redeemWithoutProof })}
        error={errorOf('merchant.redeemWithoutProof')}
        options={[
          ['', 'Default: from the same address'],
          ['same-address', 'From the same address'],
          ['never', 'Never'],
        ]}
      />
      <CheckField
        label="List what was sold in the public catalogue"
        hint="Agents find it there: URL, description, price, how often and when last."
        isChecked={draft.listed !== false}
        onChange={(listed) => change({ listed })}
      />
      <SelectField
        label="Buyers of x402 version 1"
        value={draft.v1}
        onValue={(v1) => change({ v1 })}
        error={errorOf('merchant.v1')}
        hint="Many buyers still speak it. They retry from their address, because it has no offer id."
        options={[
          ['', 'Default: as the gateway does'],
          ['yes', 'Served'],
          ['no', 'Not served'],
        ]}
      />
    </>
  )
}
