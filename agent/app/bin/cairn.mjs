#!/usr/bin/env node
// Plain JavaScript, because an old Node runs it and hands over to the pinned one.
import { isAcp, launch } from '@cairn/tooling/pinned-node.mjs'

await launch(new URL(isAcp() ? '../src/acp/start.ts' : '../src/cli/main.ts', import.meta.url))
