import { createToken, hashToken } from '../../shared/crypto/identify-token.js'
import { EXIT, type Command } from './command.js'
import { readFlags } from './flags.js'

const USAGE = `Usage: express-x402-gateway token

  Makes a random identify token for a project, and its sha256: form for the configuration.`

export const tokenCommand: Command = {
  name: 'token',
  summary: 'Makes a random identify token and its sha256: form.',
  usage: USAGE,
  async run(args, { print, complain }) {
    readFlags(args, { names: [] })
    const token = createToken()
    complain(
      'The token, for the shop’s server (it is not shown again), and its hash, for `tokens`:',
    )
    print(token)
    print(hashToken(token))
    return EXIT.ok
  },
}
