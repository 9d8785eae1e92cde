/** A sandbox with a proxy reaches only what its policy allows, in any way it asks. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { GovernanceConfig } from '@cairn/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import { sandboxId, type SandboxProvider } from '../../src/sandbox.ts'
import { createPolicyProxy, type OriginHandler, type PolicyProxy } from '../../src/policy-proxy.ts'
import { COMMAND_PATH } from '../../src/program.ts'
import { sandboxed } from '../providers.ts'
import { makeFolder } from '../make-folder.ts'

type Egress = GovernanceConfig['egress']
const egressOf = (egress: Partial<Egress>): Egress => GovernanceConfig.parse({ egress }).egress

let provider: SandboxProvider
let proxy: PolicyProxy
let server: Server
let port = 0
const seen: string[] = []

/**
 * Names of the test: `allowed.test` resolves to this machine, `rebinding.test` to a different address each
 * time.
 */
let asked = 0
const resolveHost = (host: string) => {
  const answers: Readonly<Record<string, string>> = {
    'allowed.test': '127.0.0.1',
    'inside.test': '127.0.0.1',
    'metadata.test': '169.254.169.254',
    'mapped.test': '::ffff:127.0.0.1',
    'nat64.test': '64:ff9b::7f00:1',
  }
  if (host === 'rebinding.test') asked += 1
  const address =
    host === 'rebinding.test' ? (asked % 2 === 1 ? '93.184.216.34' : '127.0.0.1') : answers[host]
  if (address === undefined) return Promise.reject(new Error(`no such name: ${host}`))
  return Promise.resolve([{ address, family: address.includes(':') ? 6 : 4 }])
}

function answerAll(request: IncomingMessage, response: Parameters<OriginHandler>[1]): void {
  seen.push(`${request.method} ${request.headers.host}${request.url}`)
  const to = /^\/to\/(.*)$/.exec(request.url ?? '')?.[1]
  if (to !== undefined) return void response.writeHead(302, { location: decodeURIComponent(to) }).end()
  if (request.url === '/big') {
    const hash = createHash('sha256')
    const part = Buffer.alloc(1 << 20, 'cairn')
    for (let i = 0; i < 32; i += 1) hash.update(part)
    response.writeHead(200, { 'x-hash': hash.digest('hex') })
    for (let i = 0; i < 32; i += 1) response.write(part)
    return void response.end()
  }
  response.end(`REACHED ${request.headers['x-hop'] ?? ''}${request.headers['proxy-connection'] ?? ''}`)
}

beforeAll(async () => {
  provider = await sandboxed()
  server = createServer(answerAll).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
  proxy = createPolicyProxy({ resolveHost, ports: [port] })
})
afterAll(async () => {
  await proxy.close()
  server.closeAllConnections()
  server.close()
})

async function run(
  command: string,
  egress: Partial<Egress> = {},
  origin?: OriginHandler,
): Promise<{ said: string; refusals: readonly string[] }> {
  const id = sandboxId('s1', 'test')
  const boxProxy = await proxy.open({
    id,
    egress: egressOf(egress),
    ...(origin === undefined ? {} : { origin }),
  })
  const workspace = makeFolder('proxy')
  const box = provider.open({
    id,
    workspace,
    env: { PATH: COMMAND_PATH },
    network: { socket: boxProxy.socket },
    mayGrowFiles: true,
  })
  try {
    const process = box.spawn(['bash', '-c', command])
    let said = ''
    for (const stream of [process.stdout, process.stderr])
      stream.on('data', (data: Buffer) => (said += data.toString()))
    await process.exited
    await box.close()
    return { said, refusals: boxProxy.refusals() }
  } finally {
    await box.close()
    await boxProxy.close()
  }
}

const allowed = { internal: ['allowed.test'] }
const curl = (address: string, more = '') => `curl -sS -m 5 ${more} ${address} 2>&1; echo`

test('a sandbox reaches what its policy names, by request and by tunnel, without hop-by-hop headers', async () => {
  const { said, refusals } = await run(
    curl(`http://allowed.test:${port}/`, "-H 'Connection: x-hop' -H 'X-Hop: told'") +
      `; ${curl(`http://allowed.test:${port}/`, '--proxytunnel')}`,
    allowed,
  )
  expect(said).toBe('REACHED \nREACHED \n')
  expect(refusals).toEqual([])
})

test('a tunnel and a request transfer 32 MiB unchanged', async () => {
  const sum = (more: string) =>
    `curl -sS ${more} -D h http://allowed.test:${port}/big | sha256sum | cut -d' ' -f1; ` +
    `grep -i x-hash h | tail -1 | tr -d '\\r' | cut -d' ' -f2`
  const { said } = await run(`${sum('')}; ${sum('--proxytunnel')}`, allowed)
  const [one, first, two, second] = said.trim().split('\n')
  expect(one).toMatch(/^[0-9a-f]{64}$/)
  expect([one, two]).toEqual([first, second])
})

/** Each must be refused, and the test's server must see none of them. */
const ATTACKS: Readonly<Record<string, () => string>> = {
  'this machine by address': () => curl(`http://127.0.0.1:${port}/`, "--noproxy ''"),
  'this machine by name': () => curl(`http://localhost:${port}/`, "--noproxy ''"),
  'an octal address': () => curl(`http://0177.0.0.1:${port}/`, "--noproxy ''"),
  'a decimal address': () => curl(`http://2130706433:${port}/`, "--noproxy ''"),
  'an address in hexadecimal': () => curl(`http://0x7f.1:${port}/`, "--noproxy ''"),
  'nothing as an address': () => curl(`http://0.0.0.0:${port}/`, "--noproxy ''"),
  'a mapped address': () => curl(`'http://[::ffff:127.0.0.1]:${port}/'`, "--noproxy ''"),
  'the loopback of IPv6': () => curl(`'http://[::1]:${port}/'`, "--noproxy ''"),
  'the metadata address': () => curl('http://169.254.169.254/latest/meta-data/'),
  'the metadata address by a name': () => curl('http://metadata.test/'),
  'a name that leads inside': () => curl(`http://inside.test:${port}/`),
  'a name that leads to a mapped address': () => curl(`http://mapped.test:${port}/`),
  'a name that leads through NAT64': () => curl(`http://nat64.test:${port}/`),
  'a tunnel inside': () => curl(`http://127.0.0.1:${port}/`, "--noproxy '' --proxytunnel"),
  'a tunnel to a name that leads inside': () => curl(`https://inside.test:${port}/`),
  'a tunnel to ssh': () => curl('https://example.org:22/'),
  'a redirect inside': () =>
    curl(
      `http://allowed.test:${port}/to/${encodeURIComponent(`http://127.0.0.1:${port}/x`)}`,
      "-L --noproxy ''",
    ),
  'another scheme': () => curl('ftp://allowed.test/', '-x http://127.0.0.1:3128'),
  'a name and a password in the address': () => curl(`http://a:b@inside.test:${port}/`),
  'the socket of its proxy, past the forwarder': () =>
    curl(`http://inside.test:${port}/`, '--unix-socket /run/cairn/proxy'),
  'no proxy at all': () =>
    `env -u http_proxy -u HTTP_PROXY ${curl(`http://127.0.0.1:${port}/`)}; ` +
    `(exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3) 2>&1`,
}

/** Promise 11.9: A sandbox reaches no private address through its proxy. */
test.each(Object.entries(ATTACKS))('through its proxy a sandbox does not reach %s', async (what, attempt) => {
  seen.length = 0
  const { said } = await run(attempt(), allowed)
  tally(`the proxy: ${what}`, 1, Number(said.includes('REACHED')))
  expect(said).not.toContain('REACHED')
  expect(seen.filter(line => !line.includes('allowed.test'))).toEqual([])
})

/** Promise 11.9: DNS rebinding gives a sandbox no access to other addresses. */
test('resolves a name once per connection and never dials another address', async () => {
  seen.length = 0
  asked = 0
  await run(`for i in 1 2 3 4; do ${curl(`http://rebinding.test:${port}/`, '-m 1')}; done`)
  expect(asked).toBe(4)
  expect(seen).toEqual([])
})

test('with egress denied by default only listed hosts are reached, and refusals are reported once each', async () => {
  const many = Array.from({ length: 25 }, (_, i) => curl(`http://n${i}.test/`)).join('; ')
  const { said, refusals } = await run(`${curl(`http://allowed.test:${port}/`)}; ${many}; ${many}`, {
    default: 'deny',
    ...allowed,
  })
  expect(said).toContain('REACHED')
  expect(said).toContain("host 'n24.test' is not on the egress allow list")
  expect(refusals).toHaveLength(20)
  expect(refusals.at(-1)).toContain('n24.test')
})

test('a sandbox has its own loopback, where a server that it starts is reached without the proxy', async () => {
  const { said, refusals } = await run(
    `perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:8000"); ` +
      `while ($c = $l->accept) { while (<$c>) { last if /^\\r/ } ` +
      `print $c "HTTP/1.0 200 OK\\r\\n\\r\\nOWN\\n"; close $c }' & ` +
      `until curl -sS -m 2 http://127.0.0.1:8000/ 2>/dev/null; do sleep 0.05; done`,
  )
  expect(said).toContain('OWN')
  expect(refusals).toEqual([])
})

test('a request that names no host goes only to the handler of its own proxy', async () => {
  const ask = 'curl -sS http://127.0.0.1:3128/_cairn/llm/x -d hello --noproxy "*"; echo'
  const got: string[] = []
  const handler: OriginHandler = (request, response) => {
    got.push(request.url ?? '')
    request.pipe(response)
  }
  expect((await run(ask, {}, handler)).said).toBe('hello\n')
  expect((await run(ask)).said).toContain('not found')
  expect(got).toEqual(['/_cairn/llm/x'])
})

test('a command ends without waiting for the forwarder', async () => {
  const { said } = await run(`sleep 0 & wait; echo waited; pgrep -c perl || true`)
  expect(said).toMatch(/^waited\n/)
  expect(proxy.counts().refused).toBeGreaterThan(20)
})

test('reports an upstream that is down as an error, not as a refusal', async () => {
  const gone = createTcpServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port: closed } = gone.address() as AddressInfo
  gone.close()
  await once(gone, 'close')
  const { said, refusals } = await run(curl(`http://allowed.test:${closed}/`, '-w %{http_code}'), allowed)
  expect(said).toMatch(/ECONNREFUSED[\s\S]*502/)
  expect(refusals).toEqual([])
})
