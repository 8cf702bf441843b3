import { ownZone } from '../format/zone.js'
import { useZone } from '../state/use-zone.js'
import { SelectField } from './field.js'

/** Chooses between the browser's time zone and UTC, for all times and days of the page. */
export function ZoneField() {
  const [zone, choose] = useZone()
  if (ownZone === 'UTC') return <small>Times in UTC</small>
  return (
    <SelectField
      label="Times in"
      value={zone}
      onValue={choose}
      options={[
        [ownZone, ownZone.replaceAll('_', ' ')],
        ['UTC', 'UTC'],
      ]}
    />
  )
}
