#!/usr/bin/env node
// Plain JavaScript on purpose: an old system Node must get this far to hand over to the pinned one.
import { fileURLToPath } from 'node:url'
import { isNewEnough, runPinned } from '@cairn/tooling/pinned-node.mjs'

const main = new URL('../src/main.ts', import.meta.url)

if (isNewEnough()) await import(main.href)
else process.exitCode = await runPinned([fileURLToPath(main), ...process.argv.slice(2)])
