import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { amountError } from '../format/money.js'
import { words } from '../format/text.js'

/** The value of a control, and what sets it. */
export interface Controlled<Value = string> {
  readonly value: Value
  readonly onValue: (value: Value) => void
}

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly error?: string | undefined
  /** The control, which must have this id and these descriptions. */
  readonly children: (control: ControlProps) => ComponentChildren
}

/** Connects a control to its label, hint and error. */
interface ControlProps {
  readonly id: string
  readonly 'aria-describedby'?: string
  readonly 'aria-invalid'?: 'true'
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div class={error ? 'field field-bad' : 'field'}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described && { 'aria-describedby': described }),
        ...(error && { 'aria-invalid': 'true' as const }),
      })}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

interface TextFieldProps extends Omit<FieldProps, 'children'>, Controlled {
  readonly type?: 'text' | 'password' | 'date' | 'url' | 'search'
  readonly inputMode?: 'decimal' | 'numeric' | 'url'
  readonly placeholder?: string
  readonly isRequired?: boolean
  readonly isReadOnly?: boolean
  readonly autoComplete?: string
  readonly min?: string | undefined
  readonly max?: string | undefined
}

export function TextField(props: TextFieldProps) {
  const { label, hint, error, onValue, type = 'text', ...others } = props
  const { isRequired = false, isReadOnly = false, ...rest } = others
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          {...control}
          // Preact's types tell the kinds of inputs apart by literals.
          {...({ type } as { readonly type: 'text' })}
          required={isRequired}
          readOnly={isReadOnly}
          autoComplete="off"
          {...rest}
          spellcheck={false}
          autoCapitalize="off"
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

export function AmountField({ error, ...field }: TextFieldProps) {
  const shown = error && (amountError(field.value) ?? error)
  return <TextField inputMode="decimal" error={shown} {...field} />
}

export interface SelectFieldProps extends Omit<FieldProps, 'children'>, Controlled {
  readonly options: ReadonlyArray<readonly [value: string, label: string]>
}

/** The options of a filter: its values, after what applies none. */
export const optionsOf = (none: string, values: readonly string[]): SelectFieldProps['options'] => [
  ['', none],
  ...values.map((value) => [value, words(value)] as const),
]

export function SelectField({ value, onValue, options, ...field }: SelectFieldProps) {
  return (
    <Field {...field}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
          {options.map(([option, label]) => (
            <option key={option} value={option} selected={option === value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface CheckFieldProps {
  readonly label: ComponentChildren
  readonly hint?: ComponentChildren
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
}

/** Yes or no. */
export function CheckField({ label, hint, isChecked, onChange }: CheckFieldProps) {
  const id = useId()
  return (
    <div class="check">
      <input
        type="checkbox"
        id={id}
        checked={isChecked}
        {...(hint && { 'aria-describedby': `${id}-hint` })}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <div>
        <label for={id}>{label}</label>
        {hint && (
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}

interface CheckFieldsProps<Name extends string> extends Controlled<readonly Name[]> {
  readonly legend: string
  readonly names: ReadonlyArray<readonly [name: Name, meaning: string]>
  readonly error: string | undefined
}

/** Any of several names, each with its meaning. */
export function CheckFields<Name extends string>(props: CheckFieldsProps<Name>) {
  const { legend, names, value, onValue, error } = props
  return (
    <fieldset>
      <legend>{legend}</legend>
      {names.map(([name, meaning]) => (
        <CheckField
          key={name}
          label={<code>{name}</code>}
          hint={meaning}
          isChecked={value.includes(name)}
          onChange={(isChecked) =>
            onValue(isChecked ? [...value, name] : value.filter((one) => one !== name))
          }
        />
      ))}
      {error && <p class="field-error">{error}</p>}
    </fieldset>
  )
}
