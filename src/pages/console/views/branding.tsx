import type { MerchantSettings } from '../api/documents.js'
import { Button } from '../parts/button.js'
import { Field, TextField } from '../parts/field.js'
import { Form, useForm, type FieldState } from '../parts/form.js'
import type { Of, OfProject } from '../parts/of.js'
import { EditableSection, type FormEnd } from '../parts/page.js'
import { Facts } from '../parts/table.js'

type Branding = NonNullable<MerchantSettings['branding']>

/** How the payment page of a merchant looks, and the form to change it. */
export function BrandingSection({ of, path, onChange }: OfProject) {
  return (
    <EditableSection
      title="Payment page"
      note="What people see who pay in a browser."
      mayEdit={of.source === 'database'}
      label="Edit the payment page"
      saved="The payment page was saved."
      onSaved={onChange}
      form={(end) => <BrandingForm of={of} path={path} {...end} />}
    >
      <BrandingFacts of={of.merchant?.branding ?? {}} />
    </EditableSection>
  )
}

function BrandingFacts({ of: { logo, accent, texts } }: Of<Branding>) {
  return (
    <Facts
      of={[
        ['Logo', logo === undefined ? 'none' : <Logo of={logo} />],
        ['Button colour', accent === undefined ? 'Gateway default' : <Swatch of={accent} />],
        ...Object.entries(texts ?? {}).map(([key, text]) => [`Text “${key}”`, text] as const),
      ]}
    />
  )
}

/** A path leads to a picture of the app that sells, which this page does not load. */
function Logo({ of }: Of<string>) {
  if (!of.startsWith('data:')) return <code>{of}</code>
  return <img class="logo" src={of} alt="The logo" height="40" />
}

function Swatch({ of }: Of<string>) {
  return (
    <>
      <span class="swatch" style={{ background: of }} aria-hidden="true" /> <code>{of}</code>
    </>
  )
}

function valuesOf({ name = '', branding = {} }: MerchantSettings) {
  const { logo, accent = '', texts = {} } = branding
  return { name, logo, accent, heading: texts['heading'] ?? '' }
}

/** Removes empty members; texts that the form does not show stay (RFC 7396). */
function bodyOf({ name, logo, accent, heading }: ReturnType<typeof valuesOf>) {
  const text = (value: string): string | null => value.trim() || null
  const texts = { heading: text(heading) }
  const branding = { logo: logo ?? null, accent: text(accent), texts }
  return { merchant: { name: text(name), branding } }
}

/** Members of the project, by their fields. */
const PATHS = {
  name: 'merchant.name',
  logo: 'merchant.branding.logo',
  accent: 'merchant.branding.accent',
  heading: 'merchant.branding.texts',
}

type BrandingFormProps = Omit<OfProject, 'onChange'> & FormEnd

function BrandingForm({ of, path, onCancel, onSaved }: BrandingFormProps) {
  const form = useForm({
    initial: (project) => valuesOf(project?.merchant ?? {}),
    method: 'PATCH',
    path,
    project: of,
    bodyOf,
    pathOf: (name) => PATHS[name],
    onSaved,
  })
  const accent = form.field('accent')
  const isColour = /^#[0-9a-f]{6}$/i.test(accent.value)
  return (
    <Form of={form} verb="Save" onCancel={onCancel}>
      <TextField label="Name" hint="Shown to buyers." {...form.field('name')} />
      <LogoField {...form.field('logo')} />
      <TextField
        label="Button colour"
        placeholder="#0b5d4d"
        hint={isColour ? <Swatch of={accent.value} /> : 'Such as #0b5d4d.'}
        {...accent}
      />
      <TextField
        label="Heading"
        placeholder="Payment required"
        hint="In every language. The API can replace the other texts, too."
        {...form.field('heading')}
      />
    </Form>
  )
}

/** Pictures that pages may show as `data:` URLs. */
const PICTURES = 'image/png,image/jpeg,image/gif,image/webp,image/avif,image/svg+xml'

function LogoField({ value, onValue, error }: FieldState<string | undefined>) {
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
          <Button kind="small" onClick={() => onValue(undefined)}>
            Remove the logo
          </Button>
        </div>
      )}
    </>
  )
}
