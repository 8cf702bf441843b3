import type { ComponentChildren } from 'preact'
import { TextField, type Controlled } from './field.js'

interface SearchProps extends Controlled {
  readonly hint: string
  readonly onSearch: () => void
  /** Other filters. */
  readonly children?: ComponentChildren
}

/** A field for a search, with its button. */
export function Search({ value, onValue, hint, onSearch, children }: SearchProps) {
  return (
    <form
      class="toolbar"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        onSearch()
      }}
    >
      <div class="search">
        <TextField label="Search" type="search" value={value} onValue={onValue} hint={hint} />
        <button type="submit" class="button">
          Search
        </button>
      </div>
      {children}
    </form>
  )
}
