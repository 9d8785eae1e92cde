#!/usr/bin/env node
// Plain JavaScript on purpose: an old system Node must get this far to hand over to the pinned one.
import { fileURLToPath } from 'node:url'
import { isNewEnough, runPinned } from '@cairn/tooling/pinned-node.mjs'

// A client of `cairn acp` waits for the first answer: what belongs to other commands is not loaded for it.
const isAcp = process.argv[2] === 'acp' && !process.argv.includes('--help')
const main = new URL(isAcp ? '../src/acp/start.ts' : '../src/cli/main.ts', import.meta.url)

if (isNewEnough()) await import(main.href)
else process.exitCode = await runPinned([fileURLToPath(main), ...process.argv.slice(2)])
