/**
 * Compiles the contracts of the local chain into ../artifacts.ts, their ABIs for the tests into
 * test/tools/devnet/abis.ts, contracts that only tests place into test/tools/devnet/hostile-code.ts, and those of
 * ../../../core/chain/contracts into a file each beside that folder.
 *
 *     node src/tools/devnet/contracts/compile.mjs           writes the artifacts
 *     node src/tools/devnet/contracts/compile.mjs --check   fails when they are not what it would write
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import prettier from 'prettier'
import solc from 'solc'
import { concat, encodeAbiParameters, keccak256, pad, size, toHex } from 'viem'

const CHAIN_ID = 84532
const USDC_ADDRESS = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const PERMIT_TOKEN_ADDRESS = '0x0000000000000000000000000000000000002612'
const PROXY = '@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol'
const HOSTILE = '../../../../test/tools/devnet/hostile.sol'

const require = createRequire(import.meta.url)
const HEAD =
  '// Written by src/tools/devnet/contracts/compile.mjs (npm run contracts). Do not edit.'

const executor = compileYul('executor.yul', 'Executor')
/** The devnet's relayers, as they stand behind the code of their executor. */
const RELAYERS = [
  '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
  '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
  '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
]

const { contracts, sources } = compile([
  'usdc.sol',
  'multicall3.sol',
  'permit2.sol',
  'permit2-proxies.sol',
  'tokens.sol',
  'smart-account.sol',
  PROXY,
  HOSTILE,
])
const { USDC } = contracts['usdc.sol']
const { Multicall3 } = contracts['multicall3.sol']
const { Permit2 } = contracts['permit2.sol']
const { x402ExactPermit2Proxy, x402UptoPermit2Proxy } = contracts['permit2-proxies.sol']
const { PermitToken, PlainToken } = contracts['tokens.sol']
const { SmartAccount, SmartAccountFactory } = contracts['smart-account.sol']
const { OddToken, OwnKeyDelegate, ElsewhereFactory, StrictFactory, RefusingFactory } =
  contracts[HOSTILE]

await write('../artifacts.ts', [
  declareCode('usdcCode', USDC, eip712Immutables(USDC_ADDRESS, 'USDC', '2')),
  declareCode('usdcProxyCode', contracts[PROXY].ERC1967Proxy),
  declareCode('multicall3Code', Multicall3),
  declareCode('permit2Code', Permit2),
  declareCode('exactPermit2ProxyCode', x402ExactPermit2Proxy),
  declareCode('uptoPermit2ProxyCode', x402UptoPermit2Proxy),
  declareCode(
    'permitTokenCode',
    PermitToken,
    eip712Immutables(PERMIT_TOKEN_ADDRESS, 'Permit Token', '1'),
  ),
  declareCode('plainTokenCode', PlainToken),
  declareCode('accountFactoryCode', SmartAccountFactory),
  declare('executorCode', concat([executor.deployedBytecode, ...RELAYERS]), 'Runtime code.'),
])
await write('../../../../test/tools/devnet/abis.ts', [
  "import { parseAbi } from 'viem'",
  declareAbi('usdcAbi', USDC),
  declareAbi('multicall3Abi', Multicall3),
  declareAbi('permit2Abi', Permit2),
  declareAbi('exactPermit2ProxyAbi', x402ExactPermit2Proxy),
  declareAbi('uptoPermit2ProxyAbi', x402UptoPermit2Proxy),
  declareAbi('plainTokenAbi', PlainToken),
  declareAbi('smartAccountAbi', SmartAccount),
  declareAbi('accountFactoryAbi', SmartAccountFactory),
  declareAbi('oddTokenAbi', OddToken),
])
await write('../../../../test/tools/devnet/hostile-code.ts', [
  declareCode('oddTokenCode', OddToken),
  declareCode('ownKeyDelegateCode', OwnKeyDelegate),
  declareCode('elsewhereFactoryCode', ElsewhereFactory),
  declareCode('strictFactoryCode', StrictFactory),
  declareCode('refusingFactoryCode', RefusingFactory),
])
const probe = compileYul('transfer-probe.yul', 'TransferProbe')
await write('../../../core/chain/transfer-probe-code.ts', [
  declare('transferProbeCode', probe.bytecode, 'Creation code of contracts/transfer-probe.yul.'),
])
await write('../../../core/chain/executor-code.ts', [
  declare(
    'executorCreation',
    executor.bytecode,
    'Creation code of contracts/executor.yul; the relayers stand behind it.',
  ),
  declare('executorRuntime', executor.deployedBytecode, 'Its code; they stand behind it too.'),
])

async function write(path, declarations) {
  const file = fileURLToPath(new URL(path, import.meta.url))
  const style = await prettier.resolveConfig(file)
  const text = await prettier.format([HEAD, ...declarations].join('\n\n'), {
    ...style,
    filepath: file,
  })
  if (!process.argv.includes('--check')) writeFileSync(file, text)
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    process.stderr.write(`${file} is stale: npm run contracts\n`)
    process.exitCode = 1
  }
}

function compileYul(name, object) {
  const file = `../../../core/chain/contracts/${name}`
  const output = solcOutput({
    language: 'Yul',
    sources: { [file]: { content: readSource(file) } },
    settings: {
      evmVersion: 'paris',
      optimizer: { enabled: true, details: { yul: true } },
      outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.deployedBytecode.object'] } },
    },
  })
  const { bytecode, deployedBytecode } = output.contracts[file][object].evm
  return { bytecode: `0x${bytecode.object}`, deployedBytecode: `0x${deployedBytecode.object}` }
}

function compile(files) {
  const input = {
    language: 'Solidity',
    sources: Object.fromEntries(files.map((file) => [file, { content: readSource(file) }])),
    settings: {
      // Older than the hardfork anvil is started with, and new enough for OpenZeppelin 5.7 (mcopy).
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 200 },
      // No hash of the sources in the code: a comment changes nothing.
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: {
        '*': { '': ['ast'], '*': ['abi', 'evm.deployedBytecode'] },
      },
    },
  }
  return solcOutput(input)
}

function solcOutput(input) {
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: importSource }))
  const errors = (output.errors ?? []).filter(({ type }) => type !== 'Warning')
  if (errors.length > 0) throw new Error(errors.map((e) => e.formattedMessage).join('\n'))
  return output
}

/** One of ours, or a package's. */
function readSource(file) {
  const path = file.startsWith('@') ? require.resolve(file) : new URL(file, import.meta.url)
  return readFileSync(path, 'utf8')
}

function importSource(file) {
  return { contents: readSource(file) }
}

/** What the constructor of OpenZeppelin's EIP712 would remember at a contract's address. */
function eip712Immutables(address, name, version) {
  const types = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'
  const domain = [
    keccak256(toHex(types)),
    keccak256(toHex(name)),
    keccak256(toHex(version)),
    BigInt(CHAIN_ID),
    address,
  ]
  const layout = ['bytes32', 'bytes32', 'bytes32', 'uint256', 'address']
  return {
    _cachedDomainSeparator: keccak256(
      encodeAbiParameters(
        layout.map((type) => ({ type })),
        domain,
      ),
    ),
    _cachedChainId: toHex(CHAIN_ID, { size: 32 }),
    _cachedThis: pad(address.toLowerCase()),
    _hashedName: keccak256(toHex(name)),
    _hashedVersion: keccak256(toHex(version)),
    _name: shortString(name),
    _version: shortString(version),
  }
}

/** OpenZeppelin's ShortString: the characters from the left, their number in the last byte. */
function shortString(value) {
  return concat([pad(toHex(value), { dir: 'right', size: 31 }), toHex(value.length, { size: 1 })])
}

/** The compiler leaves immutables zero for a constructor to fill; here they are filled by name. */
function runtimeCode({ evm: { deployedBytecode } }, values) {
  const code = Buffer.from(deployedBytecode.object, 'hex')
  const names = immutableNames()
  const references = Object.entries(deployedBytecode.immutableReferences)
  for (const [id, places] of references) {
    const value = values[names.get(Number(id))]
    if (!value || size(value) !== 32) throw new Error(`no value for immutable ${names.get(+id)}`)
    for (const { start } of places) code.write(value.slice(2), start, 'hex')
  }
  return `0x${code.toString('hex')}`
}

function immutableNames() {
  const members = Object.values(sources)
    .flatMap(({ ast }) => ast.nodes)
    .flatMap((node) => node.nodes ?? [])
  return new Map(members.filter((m) => m.mutability === 'immutable').map((m) => [m.id, m.name]))
}

/** The items that have a name, one a line, and the structs in them: `parseAbi` reads both. */
function declareAbi(name, { abi }) {
  const structs = new Map()
  const items = abi.filter((item) => item.name !== undefined)
  const signatures = items.map((item) => signatureOf(item, structs))
  const lines = [...structs.values(), ...signatures].map((line) => `'${line}'`)
  return `export const ${name} = parseAbi([${lines.join(',')}])`
}

function signatureOf({ type, name, inputs, outputs = [], stateMutability }, structs) {
  const describe = (parameters) =>
    parameters.map((one) => describeParameter(one, structs)).join(', ')
  const mutability = stateMutability === 'nonpayable' ? undefined : stateMutability
  const returns = outputs.length > 0 ? `returns (${describe(outputs)})` : undefined
  return [`${type} ${name}(${describe(inputs)})`, mutability, returns].filter(Boolean).join(' ')
}

function describeParameter({ type, internalType, components, indexed, name }, structs) {
  if (components === undefined) return [type, indexed && 'indexed', name].filter(Boolean).join(' ')
  // As in `struct ISignatureTransfer.TokenPermissions[]`.
  const struct = internalType.match(/(\w+)(\[\d*\])*$/)[1]
  const members = components.map((one) => `${describeParameter(one, structs)};`)
  structs.set(struct, `struct ${struct} { ${members.join(' ')} }`)
  return `${type.replace('tuple', struct)} ${name}`.trim()
}

function declareCode(name, contract, immutables = {}) {
  return declare(name, runtimeCode(contract, immutables), 'Runtime code.')
}

function declare(name, code, about) {
  return `/** ${about} */\nexport const ${name} =\n  '${code}'`
}
