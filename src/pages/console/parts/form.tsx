import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { ask, newKey } from '../api/client.js'
import { useAction, type Action } from '../api/use-load.js'
import { Button } from './button.js'
import { ProblemNotice } from './notice.js'
import type { Of } from './of.js'

interface FormOptions<Values, Saved> {
  readonly initial: () => Values
  /** The endpoint. What it creates, a retry does not create twice. */
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  /** The version to change. */
  readonly version?: number | undefined
  readonly bodyOf: (values: Values) => object
  /** Where the API's errors name a field. @defaultValue the field's own name */
  readonly pathOf?: (name: keyof Values & string) => string
  readonly onSaved: (saved: Saved) => void
}

/** What was typed into a form, and what became of it. */
export interface FormState<Values> extends Action {
  readonly values: Values
  change(members: Partial<Values>): void
  errorOf(name: keyof Values & string): string | undefined
  /** The value of a field, its setter and its error. */
  field<Name extends keyof Values & string>(name: Name): FieldState<Values[Name]>
  /** Whether an error is shown next to its field. */
  isShown(path: string): boolean
}

/** A field of a form. */
export interface FieldState<Value> {
  readonly value: Value
  readonly onValue: (value: Value) => void
  readonly error: string | undefined
}

export function useForm<Values extends object, Saved = unknown>(
  options: FormOptions<Values, Saved>,
): FormState<Values> {
  const { initial, method, path, version, bodyOf, pathOf = (name) => name, onSaved } = options
  const [values, setValues] = useState(initial)
  const body = bodyOf(values)
  const content = method === 'POST' && JSON.stringify(body)
  // oxlint-disable-next-line react/exhaustive-deps -- another content has another key
  const key = useMemo(newKey, [content])
  const action = useAction(async () =>
    onSaved(await ask(method, path, { body, version, key: content ? key : undefined })),
  )
  const change = (members: Partial<Values>): void =>
    setValues((before) => ({ ...before, ...members }))
  const errorOf = (name: keyof Values & string) => action.problem?.errorOf(pathOf(name))
  return {
    ...action,
    values,
    change,
    errorOf,
    field: (name) => ({
      value: values[name],
      onValue: (value) => change({ [name]: value } as object),
      error: errorOf(name),
    }),
    isShown: (at) =>
      (Object.keys(values) as (keyof Values & string)[])
        .map(pathOf)
        .some((shown) => at === shown || at.startsWith(`${shown}.`)),
  }
}

interface FormProps extends Of<Pick<FormState<unknown>, 'problem' | 'isBusy' | 'run' | 'isShown'>> {
  readonly verb: string
  readonly onCancel: () => void
  /** @defaultValue sends it */
  readonly onSubmit?: (form: HTMLFormElement) => void
  /** Shown above what went wrong. */
  readonly lead?: ComponentChildren
  readonly children: ComponentChildren
}

/** A form with what went wrong above its fields, and with Cancel and the button that submits it below. */
export function Form({ of, verb, onCancel, onSubmit, lead, children }: FormProps) {
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (onSubmit) onSubmit(event.currentTarget)
        else void of.run()
      }}
    >
      {lead}
      <ProblemNotice problem={of.problem} shownElsewhere={of.isShown} />
      {children}
      <div class="actions dialog-foot">
        <Button onClick={onCancel}>Cancel</Button>
        <button type="submit" class="button button-main" aria-disabled={of.isBusy}>
          {verb}
        </button>
      </div>
    </form>
  )
}
