#!/usr/bin/env node
import '../../shared/http/check-node.js'
import { constants } from 'node:os'
import { runCli } from './cli.js'

/** How long open connections may take to close after the command (ms). */
const EXIT_MS = 1000

const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // A second signal ends the process at once.
    if (ending.signal.aborted) process.exit(128 + constants.signals[signal])
    ending.abort()
  })

process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // A reader like `head` closes the pipe when it has read enough.
  if (code === 'EPIPE') process.exit(0)
  process.stderr.write(`The output cannot be written: ${message}\n`)
  process.exit(1)
})

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  signal: ending.signal,
  print: (line) => void process.stdout.write(`${line}\n`),
  complain: (line) => void process.stderr.write(`${line}\n`),
  write: (text) => new Promise((resolve) => void process.stdout.write(text, () => resolve())),
  colors: process.stdout.isTTY && !process.env['NO_COLOR'],
  isRedirected: !process.stdout.isTTY,
  // On one terminal, progress and output would mix.
  ...(process.stderr.isTTY &&
    !process.stdout.isTTY && {
      showProgress: (line) => void process.stderr.write(`\r\x1b[K${line}`),
    }),
})
setTimeout(() => process.exit(), EXIT_MS).unref()
