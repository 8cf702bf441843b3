import { isRefusal, type PresentedPayment, type Scheme } from '../../core/schemes/scheme.js'
import {
  during,
  endRefused,
  watchReserved,
  type PaymentEnd,
  type PaymentWatch,
  type PaymentWatcher,
  type Phase,
} from './payment-watch.js'

export function watchScheme(scheme: Scheme, watchers: readonly PaymentWatcher[]): Scheme {
  return {
    format: scheme.format,
    supported: () => scheme.supported(),
    async verify(presented) {
      const watch = beginAll(watchers, presented)
      const onSubmitted = (hash: string): void => watch.submitted(hash)
      const watched = { ...presented, onSubmitted }
      const found = await during(watch, 'verify', () => scheme.verify(watched))
      if (isRefusal(found)) endRefused(watch, found)
      else if (presented.purpose === 'verify') watch.end({ kind: 'verified' })
      if (isRefusal(found) || presented.purpose === 'verify') return found
      return {
        payer: found.payer,
        reserve: async () =>
          watchReserved(watch, await during(watch, 'reserve', () => found.reserve()), presented),
      }
    },
  }
}

/** Combines several watches of one payment. It ends once: nothing is reported after an error. */
function beginAll(watchers: readonly PaymentWatcher[], presented: PresentedPayment): PaymentWatch {
  const [only, ...others] = watchers
  if (only !== undefined && others.length === 0) return only.begin(presented)
  const watches = watchers.map((watcher) => watcher.begin(presented))
  let endConfirm: (() => void) | undefined
  let isOver = false
  const phase = (name: Phase): (() => void) => {
    const ends = watches.map((watch) => watch.phase(name))
    return () => {
      if (name === 'settle') endConfirm?.()
      if (name === 'settle') endConfirm = undefined
      for (const end of ends) end()
    }
  }
  return {
    phase,
    submitted(transaction) {
      if (isOver) return
      for (const watch of watches) watch.submitted(transaction)
      endConfirm ??= phase('confirm')
    },
    end(how: PaymentEnd) {
      if (isOver) return
      isOver = true
      for (const watch of watches) watch.end(how)
    },
  }
}
