/** A finding of `gateway.check()`, or of `doctor` itself. */
export interface DoctorFinding {
  readonly subject: string
  readonly status: 'ok' | 'warning' | 'error'
  /** Stable, machine-readable. */
  readonly code: string
  /** For people: the problem and its remedy. */
  readonly message: string
}

const findingOf =
  (status: DoctorFinding['status']) =>
  (subject: string, code: string, message: string): DoctorFinding => ({
    subject,
    status,
    code,
    message,
  })

/** Something does not work. */
export const fault = findingOf('error')

/** Something works, but needs attention. */
export const caution = findingOf('warning')

/** A check has passed. */
export const sound = (subject: string, message: string): DoctorFinding =>
  findingOf('ok')(subject, 'ok', message)
