import { z } from 'zod'

/** Ids that projects of the database may have: they are part of URLs and of log lines. */
const STORED_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export const PROJECT_ID = 'Id of the project.'

export const NEW_PROJECT_ID = { type: 'string', pattern: STORED_ID.source } as const

/** What is wrong with the id of a new project that has another form. */
export const NOT_AN_ID =
  'must be 1 to 64 letters, digits, dots, dashes and underscores, and begin with a letter or digit'

/** The id of any project: those of the configuration may have others. Python's `re` has no `\p{Cc}`. */
export const projectIdSchema = z
  .string()
  // oxlint-disable-next-line eslint/no-control-regex -- an id has none
  .regex(/^[^\u0000-\u001f\u007f-\u009f]{1,200}$/, 'must be the id of a project')

/** Tells whether a project of the database can have an id. The ledger is asked only for such ids. */
export function isStoredId(id: string): boolean {
  return STORED_ID.test(id)
}
