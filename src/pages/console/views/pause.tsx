import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import type { Project } from '../api/documents.js'
import { useAction } from '../api/use-load.js'
import { Confirm } from '../parts/dialog.js'
import { May } from '../parts/may.js'
import { Notice, ProblemNotice } from '../parts/notice.js'
import { announce } from '../state/announce.js'
import { useSession } from '../state/session.js'

interface PauseProps {
  readonly of: Project
  /** Path of the project in the API. */
  readonly path: string
  readonly onChange: () => void
}

/** Stops the payments of a merchant, after asking. */
export function PauseButton({ of, path, onChange }: PauseProps) {
  const [isAsked, setAsked] = useState(false)
  if (of.source !== 'database' || of.paused) return null
  const done = (): void => {
    setAsked(false)
    announce('Payments are paused.')
    onChange()
  }
  return (
    <May scope="manage">
      <button type="button" class="button" onClick={() => setAsked(true)}>
        Pause…
      </button>
      {isAsked && (
        <Confirm
          title={`Pause ${of.merchant?.name ?? of.id}?`}
          verb="Pause payments"
          act={() => ask('PATCH', path, { body: { paused: true } })}
          onClose={() => setAsked(false)}
          onDone={done}
        >
          <p>
            New payments are refused until you resume. Payments under way are finished, and refunds
            still work.
          </p>
        </Confirm>
      )}
    </May>
  )
}

/** Says that a merchant is paused, and resumes it. */
export function PausedNotice({ of, path, onChange }: PauseProps) {
  const { role } = useSession()
  const action = useAction()
  if (!of.paused) return null
  const isMine = role === 'admin' || of.pausedBy === 'merchant'
  const resume = async (): Promise<void> => {
    await ask('PATCH', path, { body: { paused: false } })
    announce('Payments are taken again.')
    onChange()
  }
  return (
    <>
      <Notice>
        <p>
          <strong>Paused</strong> by the {of.pausedBy}: new payments are refused. Refunds still
          work.{!isMine && ' Ask the operator of the gateway to resume.'}
        </p>
        {isMine && of.source === 'database' && (
          <May scope="manage">
            <button
              type="button"
              class="button"
              aria-disabled={action.isBusy}
              onClick={() => void action.run(resume)}
            >
              Resume payments
            </button>
          </May>
        )}
      </Notice>
      <ProblemNotice problem={action.problem} />
    </>
  )
}
