import { isConfigError, type ConfigIssue } from '../../src/shared/errors.js'

/** Everything that a function finds wrong with options; nothing where it returns. */
export function issuesOf(declare: () => unknown): readonly ConfigIssue[] {
  try {
    declare()
    return []
  } catch (error) {
    if (isConfigError(error)) return error.issues
    throw error
  }
}
