import { useState } from 'preact/hooks'
import { TextField } from './field.js'

interface SearchFieldProps {
  readonly value: string
  readonly hint: string
  readonly onSearch: (text: string) => void
}

/** A field for a search, with its button. */
export function SearchField({ value, hint, onSearch }: SearchFieldProps) {
  const [text, setText] = useState(value)
  return (
    <form
      class="toolbar"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        onSearch(text.trim())
      }}
    >
      <div class="search">
        <TextField label="Search" type="search" value={text} onValue={setText} hint={hint} />
        <button type="submit" class="button">
          Search
        </button>
      </div>
    </form>
  )
}
