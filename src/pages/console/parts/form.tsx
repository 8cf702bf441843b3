import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { ask, newKey } from '../api/client.js'
import type { Project } from '../api/documents.js'
import { useAction, type Action } from '../api/use-load.js'
import { Button } from './button.js'
import { Changes, type Change } from './changes.js'
import type { Controlled } from './field.js'
import { Notice, ProblemNotice } from './notice.js'
import type { Of } from './of.js'

interface FormOptions<Values, Saved> {
  readonly initial: (project: Project | undefined) => Values
  /** The endpoint. What it creates, a retry does not create twice. */
  readonly method: 'POST' | 'PATCH'
  readonly path: string
  /** The project to change, which is asked for again at `path` if somebody else has changed it. */
  readonly project?: Project | undefined
  readonly bodyOf: (values: Values, project: Project | undefined) => object
  /** Where the API's errors name a field. @defaultValue the field's own name */
  readonly pathOf?: (name: keyof Values & string) => string
  readonly onSaved: (saved: Saved) => void
}

/** What was typed into a form, and what became of it. */
export interface FormState<Values> extends Action {
  readonly values: Values
  /** What was changed by somebody else, once it was asked for. */
  readonly foreign: Change | undefined
  /** The project as it was last read. */
  readonly project: Project | undefined
  /** Reads the project again. What was typed stays; the other fields follow. */
  review(): void
  change(members: Partial<Values>): void
  errorOf(name: keyof Values & string): string | undefined
  field<Name extends keyof Values & string>(name: Name): FieldState<Values[Name]>
  /** Whether an error is shown next to its field. */
  isShown(path: string): boolean
}

export interface FieldState<Value> extends Controlled<Value> {
  readonly error: string | undefined
}

export function useForm<Values extends object, Saved = unknown>(
  options: FormOptions<Values, Saved>,
): FormState<Values> {
  const { initial, method, path, bodyOf, pathOf = (name) => name, onSaved } = options
  const [project, setProject] = useState(options.project)
  const [foreign, setForeign] = useState<Change>()
  const [values, setValues] = useState(() => initial(project))
  const body = bodyOf(values, project)
  const content = method === 'POST' && JSON.stringify(body)
  // oxlint-disable-next-line react/exhaustive-deps -- another content has another key
  const key = useMemo(newKey, [content])
  const review = async (): Promise<void> => {
    const now = await ask<Project>('GET', path)
    const isTyped = changedMembers(initial(project), values)
    setValues({ ...initial(now), ...isTyped })
    setForeign({ before: project?.merchant, after: now.merchant })
    setProject(now)
  }
  const action = useAction(async (isReview = false) => {
    if (isReview) return review()
    const { version } = project ?? {}
    onSaved(await ask(method, path, { body, version, key: content ? key : undefined }))
  })
  const change = (members: Partial<Values>): void =>
    setValues((before) => ({ ...before, ...members }))
  const errorOf = (name: keyof Values & string) => action.problem?.errorOf(pathOf(name))
  return {
    ...action,
    run: () => action.run(),
    values,
    foreign,
    project,
    review: () => void action.run(true),
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

/** The members of an object that are not what they were. */
function changedMembers<Values extends object>(before: Values, after: Values): Partial<Values> {
  const is = (value: unknown) => JSON.stringify(value)
  const changed = (Object.keys(after) as (keyof Values)[]).filter(
    (name) => is(after[name]) !== is(before[name]),
  )
  return Object.fromEntries(changed.map((name) => [name, after[name]])) as Partial<Values>
}

type Shown = 'problem' | 'isBusy' | 'run' | 'isShown' | 'foreign' | 'review'

interface FormProps extends Of<Pick<FormState<unknown>, Shown>> {
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
  const isConflict = of.problem?.code === 'precondition_failed'
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
      <ProblemNotice problem={of.problem} shownElsewhere={of.isShown}>
        {isConflict && <Button onClick={of.review}>Show the change</Button>}
      </ProblemNotice>
      {of.foreign && !isConflict && (
        <Notice>
          <p>Somebody changed this. What you typed is kept. Save again if it still fits.</p>
          <Changes {...of.foreign} />
        </Notice>
      )}
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
