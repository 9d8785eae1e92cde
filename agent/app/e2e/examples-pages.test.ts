/** The pages of examples/, bundled and opened in Chromium from an origin of their own. */
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { openBrowser } from './browser.ts'
import { cairn, makePlace, startService } from './server.ts'
import { PATIENCE_MS } from './session.ts'

/** The address of a page that consists of a bundled program. */
async function servePage(name: string): Promise<string> {
  const entry = fileURLToPath(new URL(`../../../examples/${name}/chat.tsx`, import.meta.url))
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const script = outputFiles[0]?.text ?? ''
  const server = createServer(({ url }, response) => {
    const isScript = url === '/chat.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(
      isScript ? script : '<!doctype html><title>Chat</title><body><script src="chat.js"></script>',
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each(['chat-ai-sdk', 'chat-assistant-ui'])('%s shows the answer to a message', async name => {
  const origin = await servePage(name)
  const place = makePlace({
    scenario: { rules: [{ answer: { text: 'Hello from the script.' } }] },
    config: { compat: { origins: [origin] } },
  })
  const { url } = await startService(place)
  const { stdout: token } = await cairn(place, ['token', 'service-account', 'examples'])
  const page = await (await (await openBrowser()).newContext()).newPage()
  const errors: string[] = []
  page.on('pageerror', error => void errors.push(String(error)))
  await page.goto(`${origin}/#${new URLSearchParams({ url, token: token.trim(), id: 'example' })}`)
  const box = page.getByLabel('Message')
  await box.fill('Say hello')
  await box.press('Enter')
  await page.getByText('Hello from the script.').waitFor({ timeout: PATIENCE_MS })
  expect(errors).toEqual([])
})
