#!/usr/bin/env node
// Plain JavaScript, because an old Node runs it and hands over to the pinned one.
import { launch } from '@cairn/tooling/pinned-node.mjs'

await launch(new URL('../src/main.ts', import.meta.url))
