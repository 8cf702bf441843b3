import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { MerchantSettings, Project } from '../api/documents.js'
import { useAction } from '../api/use-load.js'
import { FormFoot } from '../parts/dialog.js'
import { Field, TextField } from '../parts/field.js'
import { May } from '../parts/may.js'
import { ProblemNotice } from '../parts/notice.js'
import { Section } from '../parts/page.js'
import { Facts } from '../parts/table.js'
import { announce } from '../state/announce.js'

type Branding = NonNullable<MerchantSettings['branding']>

interface BrandingProps {
  readonly of: Project
  /** Path of the project in the API. */
  readonly path: string
  readonly onSaved: () => void
}

/** How the payment page of a merchant looks, and the form to change it. */
export function BrandingSection({ of, path, onSaved }: BrandingProps) {
  const [isEdited, setEdited] = useState(false)
  const { branding = {} } = of.merchant ?? {}
  const isStored = of.source === 'database'
  return (
    <Section
      title="Payment page"
      note="What people see who pay in a browser."
      actions={
        isStored &&
        !isEdited && (
          <May scope="manage">
            <button
              type="button"
              class="button"
              aria-label="Edit the payment page"
              onClick={() => setEdited(true)}
            >
              Edit
            </button>
          </May>
        )
      }
    >
      {isEdited ? (
        <BrandingForm
          of={of}
          path={path}
          onCancel={() => setEdited(false)}
          onSaved={() => {
            announce('The payment page was saved.')
            setEdited(false)
            onSaved()
          }}
        />
      ) : (
        <BrandingFacts of={branding} />
      )}
    </Section>
  )
}

function BrandingFacts({ of: { logo, accent, texts } }: { readonly of: Branding }) {
  return (
    <Facts
      of={[
        ['Logo', logo === undefined ? 'none' : <Logo of={logo} />],
        ['Button colour', accent === undefined ? 'the usual one' : <Swatch of={accent} />],
        ...Object.entries(texts ?? {}).map(([key, text]) => [`Text “${key}”`, text] as const),
      ]}
    />
  )
}

/** A path leads to a picture of the app that sells, which this page does not load. */
function Logo({ of }: { readonly of: string }) {
  if (!of.startsWith('data:')) return <code>{of}</code>
  return <img class="logo" src={of} alt="The logo" height="40" />
}

function Swatch({ of }: { readonly of: string }) {
  return (
    <>
      <span class="swatch" style={{ background: of }} aria-hidden="true" /> <code>{of}</code>
    </>
  )
}

/** Contents of the form. */
interface Draft {
  readonly name: string
  readonly logo: string | undefined
  readonly accent: string
  readonly heading: string
}

function draftOf({ name = '', branding = {} }: MerchantSettings): Draft {
  const { logo, accent = '', texts = {} } = branding
  return { name, logo, accent, heading: texts['heading'] ?? '' }
}

/** Removes empty members; texts that the form does not show stay (RFC 7396). */
function changesOf({ name, logo, accent, heading }: Draft) {
  const text = (value: string): string | null => value.trim() || null
  const texts = { heading: text(heading) }
  return { name: text(name), branding: { logo: logo ?? null, accent: text(accent), texts } }
}

interface BrandingFormProps extends BrandingProps {
  readonly onCancel: () => void
}

function BrandingForm({ of, path, onCancel, onSaved }: BrandingFormProps) {
  const [draft, setDraft] = useState(() => draftOf(of.merchant ?? {}))
  const action = useAction()
  const save = async (): Promise<void> => {
    await ask('PATCH', path, { body: { merchant: changesOf(draft) }, version: of.version })
    onSaved()
  }
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void action.run(save)
      }}
    >
      <ProblemNotice
        problem={action.problem}
        shownElsewhere={(at) => /^merchant\.(name|branding)/.test(at)}
      />
      <BrandingFields
        draft={draft}
        change={(members) => setDraft({ ...draft, ...members })}
        errorOf={(member) => action.problem?.errorOf(`merchant.${member}`)}
      />
      <FormFoot verb="Save" isBusy={action.isBusy} onCancel={onCancel} />
    </form>
  )
}

interface BrandingFieldsProps {
  readonly draft: Draft
  readonly change: (members: Partial<Draft>) => void
  readonly errorOf: (member: string) => string | undefined
}

function BrandingFields({ draft, change, errorOf }: BrandingFieldsProps) {
  const { name, logo, accent, heading } = draft
  return (
    <>
      <TextField
        label="Name"
        value={name}
        onValue={(typed) => change({ name: typed })}
        error={errorOf('name')}
        hint="Shown to buyers."
      />
      <LogoField
        value={logo}
        onValue={(chosen) => change({ logo: chosen })}
        error={errorOf('branding.logo')}
      />
      <TextField
        label="Button colour"
        value={accent}
        onValue={(typed) => change({ accent: typed })}
        placeholder="#0b5d4d"
        error={errorOf('branding.accent')}
        hint={/^#[0-9a-f]{6}$/i.test(accent) ? <Swatch of={accent} /> : 'Such as #0b5d4d.'}
      />
      <TextField
        label="Heading"
        value={heading}
        onValue={(typed) => change({ heading: typed })}
        placeholder="Payment required"
        error={errorOf('branding.texts')}
        hint="In every language. The API can replace the other texts, too."
      />
    </>
  )
}

/** Pictures that pages may show as `data:` URLs. */
const PICTURES = 'image/png,image/jpeg,image/gif,image/webp,image/avif,image/svg+xml'

interface LogoFieldProps {
  readonly value: string | undefined
  readonly onValue: (logo: string | undefined) => void
  readonly error: string | undefined
}

function LogoField({ value, onValue, error }: LogoFieldProps) {
  const read = (file: File | undefined): void => {
    if (file === undefined) return
    const reader = new FileReader()
    reader.addEventListener('load', () => {
      if (typeof reader.result === 'string') onValue(reader.result)
    })
    reader.readAsDataURL(file)
  }
  return (
    <>
      <Field label="Logo" error={error} hint="A small picture, of at most 12 kB.">
        {(control) => (
          <input
            {...control}
            type="file"
            accept={PICTURES}
            onChange={(event) => read(event.currentTarget.files?.[0])}
          />
        )}
      </Field>
      {value !== undefined && (
        <div class="actions">
          <Logo of={value} />
          <button type="button" class="button button-small" onClick={() => onValue(undefined)}>
            Remove the logo
          </button>
        </div>
      )}
    </>
  )
}
