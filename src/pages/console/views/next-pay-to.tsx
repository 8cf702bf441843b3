import { ask } from '../api/client.js'
import type { Project } from '../api/documents.js'
import { useAction } from '../api/use-load.js'
import { May } from '../parts/may.js'
import { Notice, ProblemNotice } from '../parts/notice.js'
import { Time } from '../parts/values.js'
import { announce } from '../state/announce.js'

interface NextPayToProps {
  readonly of: Project
  readonly onChange: () => void
}

/** The address that will be paid, and how to take it back. */
export function NextPayTo({ of: { id, merchant, nextPayTo, version }, onChange }: NextPayToProps) {
  const action = useAction()
  if (nextPayTo === undefined) return null
  const takeBack = async (): Promise<void> => {
    await ask('PATCH', `admin/projects/${encodeURIComponent(id)}`, {
      body: { merchant: { payTo: merchant?.payTo } },
      // Once the new address is paid, this would redirect payments.
      version,
    })
    announce('The new address was taken back.')
    onChange()
  }
  return (
    <>
      <Notice>
        <p>
          From <Time at={nextPayTo.at} /> on, payments go to{' '}
          <code class="break">{nextPayTo.payTo}</code>.
        </p>
        <May scope="own">
          <button
            type="button"
            class="button"
            aria-disabled={action.isBusy}
            onClick={() => void action.run(takeBack)}
          >
            Keep the current address
          </button>
        </May>
      </Notice>
      <ProblemNotice problem={action.problem} />
    </>
  )
}
