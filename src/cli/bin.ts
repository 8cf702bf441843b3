#!/usr/bin/env node
import { constants } from 'node:os'
import { runCli } from './cli.js'

/** Milliseconds that connections of ours are given to close after the command has ended. */
const EXIT_MS = 1000

const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // Whoever says it twice does not want to wait.
    if (ending.signal.aborted) process.exit(128 + constants.signals[signal])
    ending.abort()
  })

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  signal: ending.signal,
  print: (line) => void process.stdout.write(`${line}\n`),
  complain: (line) => void process.stderr.write(`${line}\n`),
})
setTimeout(() => process.exit(), EXIT_MS).unref()
