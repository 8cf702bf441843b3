import { isOutsideFailure } from '../../shared/errors.js'
import { silentLogger } from '../../shared/logger.js'
import { visibleLines } from '../../shared/protocol/visible-text.js'
import { EXIT, type Command } from './command.js'
import { readFlags } from './flags.js'
import { openOptions } from './open-options.js'

const USAGE = `Usage: express-x402-gateway deploy-executor [--config file] [--ledger file]

  Deploys the executor of each network whose configuration has "executor": true, unless it is there. A relayer
  pays about 100,000 gas; the cost is shown first. Gateways may run meanwhile; with a ledger in memory, stop
  them first.

  --config   the configuration [gateway.config.json]
  --ledger   as for serve`

export const deployExecutorCommand: Command = {
  name: 'deploy-executor',
  summary: 'Deploys the contract that upto payments share transactions in.',
  usage: USAGE,
  async run(args, context) {
    const { config, ledger } = readFlags(args, { names: ['config', 'ledger'] })
    const { print, complain, signal } = context
    const { resolved } = await openOptions({
      ...context,
      config,
      ledger,
      creates: false,
      warn: complain,
    })
    try {
      if (resolved.networks.every(({ core }) => core === undefined))
        throw new Error('The facilitator sends the transactions here: no executor is needed.')
      const networks = resolved.networks.filter(({ core }) => core?.executor !== undefined)
      if (networks.length === 0)
        throw new Error('No network has "executor": true (X402_EXECUTOR=true).')
      const { deployExecutor } = await import('../../gateway/parts/deploy-executor.js')
      let exit: 0 | 1 = EXIT.ok
      for (const one of networks) {
        const { name } = one.network
        const tell = (line: string): void => print(`${name}: ${line}`)
        try {
          await deployExecutor(one, { ledger: resolved.ledger, logger: silentLogger, signal, tell })
        } catch (error) {
          if (!(error instanceof Error)) throw error
          const cause =
            isOutsideFailure(error) && error.cause instanceof Error
              ? ` (${error.cause.message})`
              : ''
          complain(visibleLines(`${name}: ${error.message}${cause}`))
          exit = EXIT.failed
        }
      }
      return exit
    } finally {
      await resolved.ledger.close()
    }
  },
}
