import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { GovernanceConfig } from '@cairn/protocol'
import { freePort } from '@cairn/log/test/free-port'
import { expect, onTestFinished, test } from 'vitest'
import type { z } from 'zod'
import { makeContext, runParsed } from '../../test/tools/tool-context.ts'
import type { ResolveHost } from '@cairn/sandbox/guarded-lookup'
import { webFetchTool } from './web-fetch.ts'

type GovernanceConfigInput = NonNullable<z.input<typeof GovernanceConfig>['egress']>
type Page = (request: IncomingMessage, response: ServerResponse) => void

async function serve(page: Page): Promise<number> {
  const server = createServer(page)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Every name resolves to this machine, which the rules below open by name. */
const here: ResolveHost = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])
const opening = (...internal: string[]) => ({
  egress: GovernanceConfig.parse({ egress: { internal } }).egress,
})
const fetchPage = async (
  url: string,
  args: Record<string, unknown> = {},
  resolve = here,
  context = makeContext(opening('site.test', 'other.test')),
) => (await runParsed(webFetchTool(resolve), { url, ...args }, context)).content as Record<string, unknown>
const html: Page = (_, response) =>
  response
    .setHeader('content-type', 'text/html; charset=utf-8')
    .end('<title>T</title><h1>Hi</h1><p>a <a href="/b">b</a></p>')

test('returns a page as readable text, with its URL', async () => {
  const port = await serve(html)
  expect(await fetchPage(`http://site.test:${port}/`)).toEqual({
    url: `http://site.test:${port}/`,
    status: 200,
    content_type: 'text/html; charset=utf-8',
    title: 'T',
    text: `# Hi\n\na b (http://site.test:${port}/b)`,
  })
})

test('returns an error page with its status, and JSON unchanged', async () => {
  const port = await serve((_, response) =>
    response.writeHead(404, { 'content-type': 'application/problem+json' }).end('{"a":1}'),
  )
  expect(await fetchPage(`http://site.test:${port}/`)).toMatchObject({ status: 404, text: '{"a":1}' })
})

test('sends GET and no credentials', async () => {
  const port = await serve((request, response) =>
    response
      .setHeader('content-type', 'text/plain')
      .end(`${request.method} ${Object.keys(request.headers).toSorted().join(' ')}`),
  )
  const { text } = await fetchPage(`http://site.test:${port}/`)
  expect(text).toMatch(/^GET /)
  expect(text).not.toMatch(/cookie|authorization|referer/)
})

test('connects to the checked address, whatever the name resolves to later', async () => {
  const port = await serve((_, response) =>
    response.setHeader('content-type', 'text/plain').end('the judged one'),
  )
  let asked = 0
  const rebinding: ResolveHost = () => {
    asked += 1
    return Promise.resolve([{ address: asked === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }])
  }
  expect(await fetchPage(`http://site.test:${port}/`, {}, rebinding)).toMatchObject({
    text: 'the judged one',
  })
  expect(asked).toBe(1)
})

test.each([
  '127.0.0.1',
  '10.1.2.3',
  '169.254.169.254',
  '100.64.1.1',
  '::1',
  '::ffff:127.0.0.1',
  'fd00:ec2::254',
  'fe80::1',
])('does not connect to a public name that resolves to %s', async address => {
  let requests = 0
  const port = await serve((_, response) => {
    requests += 1
    response.end()
  })
  const rebound: ResolveHost = () => Promise.resolve([{ address, family: address.includes(':') ? 6 : 4 }])
  await expect(fetchPage(`http://public.test:${port}/`, {}, rebound)).rejects.toThrow(
    `'public.test' resolves to ${address}, which is not a public address`,
  )
  expect(requests).toBe(0)
})

/** Promise 11.7: An allowed host name reaches no private address unless `egress.internal` names it. */
test('egress.internal opens a name that resolves to a private address, and egress.allow does not', async () => {
  let requests = 0
  const port = await serve((_, response) => {
    requests += 1
    response.setHeader('content-type', 'text/plain').end('the inside')
  })
  const partner = (rules: GovernanceConfigInput) =>
    fetchPage(
      `http://partner.test:${port}/`,
      {},
      here,
      makeContext({ egress: GovernanceConfig.parse({ egress: rules }).egress }),
    )
  await expect(partner({ default: 'deny', allow: ['partner.test'] })).rejects.toThrow(
    "'partner.test' resolves to 127.0.0.1",
  )
  expect(requests).toBe(0)
  expect(await partner({ default: 'deny', internal: ['partner.test'] })).toMatchObject({ text: 'the inside' })
})

test('does not connect to the metadata address through a name in egress.internal', async () => {
  const metadata: ResolveHost = () => Promise.resolve([{ address: '169.254.169.254', family: 4 }])
  await expect(fetchPage('http://site.test/', {}, metadata)).rejects.toThrow('resolves to 169.254.169.254')
  const mixed: ResolveHost = async () => [...(await here('')), ...(await metadata(''))]
  await expect(fetchPage('http://site.test/', {}, mixed)).rejects.toThrow('resolves to 169.254.169.254')
})

test('rejects a name when one of its addresses is not public', async () => {
  const mixed = [
    { address: '93.184.215.14', family: 4 },
    { address: '10.0.0.1', family: 4 },
  ]
  await expect(fetchPage('http://public.test/', {}, () => Promise.resolve(mixed))).rejects.toThrow(
    'resolves to 10.0.0.1',
  )
})

test('follows a redirect and checks its target like the first address', async () => {
  const port = await serve((request, response) => {
    if (request.url === '/ok') response.writeHead(302, { location: `http://other.test:${port}/end` }).end()
    else if (request.url === '/end') response.setHeader('content-type', 'text/plain').end('arrived')
    else response.writeHead(301, { location: decodeURIComponent(request.url?.slice(1) ?? '') }).end()
  })
  const site = `http://site.test:${port}/`
  expect(await fetchPage(`${site}ok`)).toMatchObject({
    url: `http://other.test:${port}/end`,
    text: 'arrived',
  })
  for (const [target, message] of [
    ['http://169.254.169.254/latest', /not followed: address 169\.254\.169\.254/],
    ['file:///etc/passwd', /only http and https/],
    [`http://127.0.0.1:${port}/end`, /not public/],
    [`http://localhost:${port}/end`, /this machine/],
  ] as const) {
    await expect(fetchPage(site + encodeURIComponent(target))).rejects.toThrow(message)
  }
})

test('does not follow a redirect to a name that resolves to a private address', async () => {
  const port = await serve((_, response) =>
    response.writeHead(302, { location: 'http://inside.test/' }).end(),
  )
  await expect(fetchPage(`http://site.test:${port}/`)).rejects.toThrow("'inside.test' resolves to 127.0.0.1")
})

test('rejects a circle of redirects', async () => {
  const port = await serve((_, response) => response.writeHead(302, { location: '/again' }).end())
  await expect(fetchPage(`http://site.test:${port}/`)).rejects.toThrow('more than 5 redirects')
})

test('cuts text at max_chars and reports how much is left out', async () => {
  const port = await serve((_, response) =>
    response.setHeader('content-type', 'text/plain').end('x'.repeat(500)),
  )
  expect(await fetchPage(`http://site.test:${port}/`, { max_chars: 100 })).toMatchObject({
    text: 'x'.repeat(100),
    truncated: '400 of 500 characters left out',
  })
})

test('limits how much is read of an endless body and of a compressed one', async () => {
  const port = await serve((request, response) => {
    response.setHeader('content-type', 'text/plain')
    if (request.url === '/bomb')
      response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(20_000_000, 'x')))
    else {
      const more = () => {
        while (response.write('y'.repeat(65_536)));
      }
      response.on('drain', more)
      more()
    }
  })
  for (const path of ['bomb', 'endless'])
    expect(await fetchPage(`http://site.test:${port}/${path}`)).toMatchObject({
      incomplete: 'only the first 5242880 bytes were read',
    })
})

test('rejects what is not text by its type', async () => {
  const port = await serve((_, response) =>
    response.setHeader('content-type', 'image/png').end(Buffer.from([1, 2, 3])),
  )
  await expect(fetchPage(`http://site.test:${port}/x.png`)).rejects.toThrow('is image/png, not text')
})

test('reads the encoding that the page declares', async () => {
  const port = await serve((_, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end(Buffer.from('<meta charset="iso-8859-1"><p>caf\u00e9</p>', 'latin1')),
  )
  expect(await fetchPage(`http://site.test:${port}/`)).toMatchObject({ text: 'café' })
})

test('an abort ends a fetch that hangs', async () => {
  const controller = new AbortController()
  const arrived = Promise.withResolvers<void>()
  const port = await serve(() => arrived.resolve())
  const running = fetchPage(
    `http://site.test:${port}/`,
    {},
    here,
    makeContext({ ...opening('site.test'), signal: controller.signal }),
  )
  await arrived.promise
  controller.abort(new Error('the session was stopped'))
  await expect(running).rejects.toThrow('the session was stopped')
})

test('reports why a host cannot be reached', async () => {
  await expect(fetchPage(`http://site.test:${await freePort()}/`)).rejects.toThrow(
    /^fetching http:\/\/site\.test:\d+\/ failed: .*ECONNREFUSED/,
  )
  await expect(
    fetchPage('http://site.test/', {}, () => Promise.reject(new Error('getaddrinfo ENOTFOUND'))),
  ).rejects.toThrow('ENOTFOUND')
})
