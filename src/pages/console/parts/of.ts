import type { Project } from '../api/documents.js'

/** The props of a component that shows something. */
export interface Of<T> {
  readonly of: T
}

/** The props of a component that shows a merchant and changes it. */
export interface OfProject extends Of<Project> {
  /** Path of the project in the API. */
  readonly path: string
  readonly onChange: () => void
}
