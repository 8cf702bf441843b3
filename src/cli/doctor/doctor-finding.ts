/** What `doctor` has found: a finding of `gateway.check()`, or one of its own. */
export interface DoctorFinding {
  readonly subject: string
  readonly status: 'ok' | 'warning' | 'error'
  /** Stable, machine-readable name of what was found. */
  readonly code: string
  /** What was found and what to do, for people. */
  readonly message: string
}

/** Makes a finding of something that does not work. */
export const fault = (subject: string, code: string, message: string): DoctorFinding => ({
  ...{ subject, code, message },
  status: 'error',
})

/** Makes a finding of something that works, but needs attention. */
export const caution = (subject: string, code: string, message: string): DoctorFinding => ({
  ...{ subject, code, message },
  status: 'warning',
})

/** Makes a finding that all is well. */
export const sound = (subject: string, message: string): DoctorFinding => ({
  ...{ subject, code: 'ok', message },
  status: 'ok',
})
