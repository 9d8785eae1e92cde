import { createRequire } from 'node:module'
import { Config } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { findBrowser } from './start.ts'

const { browser } = Config.parse({ browser: { cdp: { url_env: 'CDP' } } })
const sandbox = { provider: null, standing: { terminal: 'off', network: 'none', summary: 'none' } } as const
const env = { CDP: 'ws://127.0.0.1:9/devtools' }

test('offers no browser where a package that drives it is missing, and names the package', async () => {
  const resolve = createRequire('/').resolve
  expect(await findBrowser(browser, sandbox as never, env)).toMatchObject({ offered: true })
  expect(await findBrowser(browser, sandbox as never, env, resolve)).toEqual({
    offered: false,
    reason: 'the package playwright-core is not installed (npm install without --omit=optional)',
  })
})
