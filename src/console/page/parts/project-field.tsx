import type { Project } from '../api/documents.js'
import { useLoad } from '../api/use-load.js'
import { useSession } from '../state/session.js'
import { SelectField } from './field.js'

interface ProjectFieldProps {
  readonly value: string
  readonly onValue: (project: string) => void
}

/** Lets an operator choose a merchant. */
export function ProjectField({ value, onValue }: ProjectFieldProps) {
  const { role } = useSession()
  const path = role === 'admin' ? 'admin/projects?limit=100' : undefined
  const { data } = useLoad<{ readonly projects: readonly Project[] }>(path)
  if (role !== 'admin') return null
  const listed = data?.projects.map(({ id }) => id) ?? []
  const ids = value === '' || listed.includes(value) ? listed : [value, ...listed]
  return (
    <SelectField
      label="Merchant"
      value={value}
      onValue={onValue}
      options={[['', 'All merchants'], ...ids.map((id) => [id, id] as const)]}
    />
  )
}
