/** Contracts of a few instructions, placed where a test wants them. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Abi } from 'viem'
import { concatHex, numberToHex } from 'viem/utils'
import { AUTHORIZATION_USED, TRANSFER } from '../../src/core/chain/abi.js'
import type { Devnet } from '../../src/tools/devnet/index.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { askNode } from './core.js'
import { newNonce } from './sign-payment.js'

const calldata = (position: number): Hex =>
  concatHex(['0x60', numberToHex(position, { size: 1 }), '0x35'])
const push32 = (word: Hex): Hex => concatHex(['0x7f', word])

/** Arguments of `transferWithAuthorization`. */
const FROM = calldata(4)
const TO = calldata(36)
const VALUE = calldata(68)
const NONCE = calldata(164)

/** Returns ERC-1271's magic value, multiplied with what is on the stack. */
const RETURN_MAGIC: Hex = '0x631626ba7e0260e01b60005260206000f3'

/** An account that approves signatures whose first 32 bytes are these (ERC-1271). */
export const walletCode = (approved: Hex): Hex =>
  concatHex([calldata(0x64), push32(approved), '0x14', RETURN_MAGIC])

/** An account that approves everything, after burning about 26 gas so many times. */
export const burningWalletCode = (rounds: number): Hex =>
  concatHex([
    '0x63',
    numberToHex(rounds, { size: 4 }),
    '0x5b60019003806005575060',
    '0x01',
    RETURN_MAGIC,
  ])

/** An account that approves everything in transactions of one sender, and burns all gas in others'. */
export const originWalletCode = (sender: Hex): Hex =>
  concatHex(['0x3273', sender, '0x14601b57fe5b', '0x6001', RETURN_MAGIC])

/** An account that never comes to an end. */
export const endlessCode: Hex = '0x5b600056'

/** What a token does, whatever it is called with, and without moving anything. */
export const tokenPieces = {
  used: concatHex([NONCE, FROM, push32(AUTHORIZATION_USED), '0x60006000a3']),
  transfer: concatHex([VALUE, '0x600052', TO, FROM, push32(TRANSFER), '0x60206000a3']),
  /** As an ERC-721 writes it: the last member is a topic, there is no data. */
  indexedTransfer: concatHex([VALUE, TO, FROM, push32(TRANSFER), '0x60006000a4']),
} as const

/** A token that only logs. */
export const fakeTokenCode = (...pieces: readonly (keyof typeof tokenPieces)[]): Hex =>
  concatHex([...pieces.map((piece) => tokenPieces[piece]), '0x00'])

/** Places code at an address that nothing is at. */
export async function deploy(devnet: Devnet, code: Hex): Promise<Hex> {
  const address: Hex = `0x${newNonce().slice(2, 42)}`
  await askNode(devnet, 'anvil_setCode', address, code)
  return address
}

/** An account that approves everything where gas costs nothing, and burns all gas where it does. */
export const twoFacedWalletCode: Hex = concatHex(['0x3a15600657fe5b', '0x6001', RETURN_MAGIC])

/** Compiles the one contract of a file in this folder. */
export async function compileContract(name: string): Promise<{ abi: Abi; code: Hex }> {
  const compiler = fileURLToPath(new URL('compile-contract.mjs', import.meta.url))
  const contract = fileURLToPath(new URL(name, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, contract])
  return JSON.parse(stdout) as { abi: Abi; code: Hex }
}
