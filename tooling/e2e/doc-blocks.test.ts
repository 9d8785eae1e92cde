/**
 * The first commands of docs/quickstart.md as a reader runs them. `npm run site -- --run-blocks` runs all of
 * them, and those of the other pages.
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readBlocks, runBlocks } from '../site/blocks.ts'
import { root } from '../workspace.ts'

test('the commands of the quick start work in an empty folder with a clean environment', async () => {
  const top = mkdtempSync(join(tmpdir(), 'cairn-quickstart-'))
  const [folder, bin] = [join(top, 'empty'), join(top, 'bin')]
  onTestFinished(() => rmSync(top, { recursive: true, force: true, maxRetries: 3 }))
  for (const path of [folder, bin]) mkdirSync(path)
  // The real npx takes half a second to find the command.
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\nexec "${join(root, 'node_modules/.bin')}/$@"\n`)
  chmodSync(join(bin, 'npx'), 0o755)
  // The last section starts the service a second time.
  const [page = ''] = readFileSync(join(root, 'docs/quickstart.md'), 'utf8').split('\n## 5.')
  const blocks = readBlocks(page)
  expect(blocks.length).toBeGreaterThan(5)
  const output = await runBlocks(blocks, {
    folder,
    env: {
      HOME: folder,
      PATH: [bin, dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
      PORT: '0',
      // Compiled modules are shared with the other tests.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'cairn-compile-cache'),
    },
  })
  expect(output).toContain('"type":"policy.allowed"')
})
