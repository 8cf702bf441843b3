import { useState } from 'preact/hooks'
import { ask } from '../api/client.js'
import { useAction } from '../api/use-load.js'
import { Button, May } from '../parts/button.js'
import { Confirm } from '../parts/dialog.js'
import { Notice, ProblemNotice } from '../parts/notice.js'
import type { OfProject } from '../parts/of.js'
import { announce } from '../state/announce.js'
import { useSession } from '../state/session.js'

/** Stops the payments of a merchant, after asking. */
export function PauseButton({ of, path, onChange }: OfProject) {
  const [isAsked, setAsked] = useState(false)
  if (of.source !== 'database' || of.paused) return null
  return (
    <May scope="manage">
      <Button onClick={() => setAsked(true)}>Pause…</Button>
      {isAsked && (
        <Confirm
          title={`Pause ${of.merchant?.name ?? of.id}?`}
          verb="Pause payments"
          act={() => ask('PATCH', path, { body: { paused: true } })}
          onClose={() => setAsked(false)}
          onDone={() => {
            setAsked(false)
            announce('Payments are paused.')
            onChange()
          }}
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
export function PausedNotice({ of, path, onChange }: OfProject) {
  const { role } = useSession()
  const resume = useAction(async () => {
    await ask('PATCH', path, { body: { paused: false } })
    announce('Payments are taken again.')
    onChange()
  })
  if (!of.paused) return null
  const isMine = role === 'admin' || of.pausedBy === 'merchant'
  return (
    <>
      <Notice>
        <p>
          <strong>Paused</strong> by the {of.pausedBy}: new payments are refused. Refunds still
          work.{!isMine && ' Ask the operator of the gateway to resume.'}
        </p>
        {isMine && of.source === 'database' && (
          <Button scope="manage" action={resume}>
            Resume payments
          </Button>
        )}
      </Notice>
      <ProblemNotice problem={resume.problem} />
    </>
  )
}
