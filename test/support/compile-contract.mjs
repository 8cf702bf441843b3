/** Prints `{ abi, code }` of the one contract in a Solidity file; runs beside the tests. */
import { readFileSync } from 'node:fs'
import process from 'node:process'
import solc from 'solc'

const [, , file] = process.argv
const output = JSON.parse(
  solc.compile(
    JSON.stringify({
      language: 'Solidity',
      sources: { contract: { content: readFileSync(file, 'utf8') } },
      settings: {
        evmVersion: 'cancun',
        optimizer: { enabled: true },
        outputSelection: { '*': { '*': ['abi', 'evm.deployedBytecode.object'] } },
      },
    }),
  ),
)
if (output.errors) throw new Error(output.errors.map((e) => e.formattedMessage).join('\n'))
const [{ abi, evm }] = Object.values(output.contracts.contract)
process.stdout.write(JSON.stringify({ abi, code: `0x${evm.deployedBytecode.object}` }))
