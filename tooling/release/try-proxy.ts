/**
 * Runs the service behind nginx or Caddy with the configuration in deploy/proxy and a self-signed
 * certificate: the redirect to TLS, the page, a login by cookie, and a turn whose events are streamed.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request as requestPlain } from 'node:http'
import { type RequestOptions, request as requestTls } from 'node:https'
import { createServer, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../workspace.ts'
import { requireTool } from './as-user.ts'

const HOST = 'cairn.example.com'
const CLI = join(root, 'agent/app/src/cli/main.ts')
const TIMEOUT_MS = 60_000
const STREAM_MAX_MS = 30_000

type Ports = { service: number; tls: number; plain: number }
type Files = { folder: string; certificate: string; key: string }
type Proxy = {
  /** The configuration of the repository, for these ports and files, and the command that runs it. */
  prepare(text: string, files: Files, ports: Ports): readonly [string, ...string[]]
  file: string
}

/** What every configuration names once or more. */
const adapt = (text: string, ports: Ports): string =>
  text.replaceAll(HOST, 'localhost').replaceAll('127.0.0.1:8787', `127.0.0.1:${ports.service}`)

const PROXIES: Record<'nginx' | 'caddy', Proxy> = {
  nginx: {
    file: 'nginx.conf',
    prepare(text, { folder, certificate, key }, ports) {
      const server = adapt(text, ports)
        .replace('listen 80;', `listen 127.0.0.1:${ports.plain};`)
        .replace('listen 443 ssl', `listen 127.0.0.1:${ports.tls} ssl`)
        .replace(/ssl_certificate .*;/, `ssl_certificate ${certificate};`)
        .replace(/ssl_certificate_key .*;/, `ssl_certificate_key ${key};`)
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        name => `${name}_temp_path ${folder}/${name};`,
      )
      writeFileSync(
        join(folder, 'nginx.conf'),
        `daemon off; pid ${folder}/pid; error_log stderr; events {}\n` +
          `http { access_log off; ${paths.join(' ')}\n${server}}\n`,
      )
      return ['nginx', '-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')]
    },
  },
  caddy: {
    file: 'Caddyfile',
    prepare(text, { folder, certificate, key }, ports) {
      const options = `{\n admin off\n http_port ${ports.plain}\n https_port ${ports.tls}\n}\n`
      const site = adapt(text, ports).replace('localhost {', `localhost {\n tls ${certificate} ${key}`)
      writeFileSync(join(folder, 'Caddyfile'), options + site)
      return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')]
    },
  },
}

export async function tryProxy(name: keyof typeof PROXIES): Promise<string> {
  for (const tool of [name, 'openssl']) requireTool(tool)
  const folder = mkdtempSync(join(tmpdir(), 'cairn-proxy-'))
  const children: ChildProcess[] = []
  const start = (command: readonly string[], env: Record<string, string>): ChildProcess => {
    const child = spawn(command[0]!, command.slice(1), {
      cwd: folder,
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    children.push(child)
    return child
  }
  try {
    const files = makeCertificate(folder)
    const [service, tls, plain] = (await freePorts(3)) as [number, number, number]
    const ports = { service, tls, plain }
    writeFileSync(join(folder, 'cairn.yaml'), 'auth: {trusted_proxies: [127.0.0.1, "::1"]}\n')
    const env = { CAIRN_DATA: join(folder, 'data'), PORT: String(service) }
    const cairn = start([process.execPath, CLI, 'serve', '--json'], env)
    const [line] = (await once(createInterface(cairn.stdout!), 'line', {
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })) as [string]
    const { login_url } = JSON.parse(line) as { login_url: string }

    const proxy = PROXIES[name]
    const command = proxy.prepare(readFileSync(join(root, 'deploy/proxy', proxy.file), 'utf8'), files, ports)
    const running = start(command, {})
    await Promise.race([
      untilListening(tls),
      once(running, 'exit').then(() => Promise.reject(new Error(`${command.join(' ')} ended`))),
    ])
    const site = createSite(files, ports)
    await tryPage(site, ports)
    await tryLogin(site, ports, new URLSearchParams(new URL(login_url).hash.slice(1)).get('token') ?? '')
    const answer = execFileSync(
      process.execPath,
      [CLI, 'send', '--url', `https://localhost:${tls}`, 'Hello'],
      {
        cwd: folder,
        env: {
          PATH: process.env['PATH'] ?? '',
          CAIRN_DATA: env.CAIRN_DATA,
          NODE_EXTRA_CA_CERTS: files.certificate,
        },
        encoding: 'utf8',
        timeout: TIMEOUT_MS,
        stdio: 'pipe',
      },
    )
    if (!answer.includes('You wrote "Hello".')) throw new Error(`unexpected answer: ${answer}`)
    return 'page, login, secure cookie, streamed events and a turn over TLS'
  } finally {
    await Promise.all(children.toReversed().map(endProcess))
    rmSync(folder, { recursive: true, force: true })
  }
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

function makeCertificate(folder: string): Files {
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost',
      '-out',
      certificate,
      '-keyout',
      key,
    ],
    { stdio: 'pipe' },
  )
  mkdirSync(join(folder, 'data'))
  return { folder, certificate, key }
}

/** Free at the same time, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  return servers.map(server => {
    const address = server.address()
    server.close()
    if (address === null || typeof address === 'string') throw new Error('a port was expected')
    return address.port
  })
}

async function untilListening(port: number): Promise<void> {
  for (const end = performance.now() + TIMEOUT_MS; performance.now() < end;) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (isOpen) return
    await delay(50)
  }
  throw new Error(`nothing listens on port ${port} after ${TIMEOUT_MS / 1000} s`)
}

type Answer = { status: number; headers: Record<string, string | string[] | undefined>; text: string }
type Site = {
  send(path: string, options?: RequestOptions & { body?: unknown }): Promise<Answer>
  /** The text of the stream until it contains `words`; the stream stays open. */
  readStream(path: string, headers: Record<string, string>, words: string): Promise<string>
}

function createSite({ certificate }: Files, ports: Ports): Site {
  const base = { host: '127.0.0.1', port: ports.tls, servername: 'localhost', ca: readFileSync(certificate) }
  const headersOf = (more: RequestOptions['headers']) => ({ host: `localhost:${ports.tls}`, ...more })
  return {
    async send(path, { body, ...options } = {}) {
      const sent = requestTls({ ...base, path, ...options, headers: headersOf(options.headers) as {} })
      sent.end(body === undefined ? undefined : JSON.stringify(body))
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      return { status: answer.statusCode ?? 0, headers: answer.headers, text: await text(answer) }
    },
    async readStream(path, headers, words) {
      // A proxy that buffers sends nothing, not even the headers.
      const signal = AbortSignal.timeout(STREAM_MAX_MS)
      const sent = requestTls({ ...base, path, headers: headersOf(headers) as {}, signal }).end()
      let seen = ''
      try {
        const [answer] = (await once(sent, 'response')) as [IncomingMessage]
        for await (const chunk of answer) {
          seen += String(chunk)
          if (seen.includes(words)) return seen
        }
        throw new Error(`the stream ended without `)
      } catch (error) {
        if (!signal.aborted) throw error
        throw new Error(`the stream sent no  within -e s`, { cause: error })
      } finally {
        sent.destroy()
      }
    },
  }
}

function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${what}: expected ${String(expected)}, got ${String(actual)}`)
}

async function tryPage(site: Site, ports: Ports): Promise<void> {
  const plain = requestPlain({ host: '127.0.0.1', port: ports.plain, headers: { host: 'localhost' } }).end()
  const [redirect] = (await once(plain, 'response')) as [IncomingMessage]
  redirect.resume()
  const isRedirect = [301, 308].includes(redirect.statusCode ?? 0)
  if (!isRedirect || !redirect.headers.location?.startsWith('https://localhost'))
    throw new Error(`plain HTTP: got ${redirect.statusCode} to ${redirect.headers.location}`)
  const page = await site.send('/')
  expectEqual('the page', page.status, 200)
  expectEqual('the strict transport', page.headers['strict-transport-security'], 'max-age=31536000')
  expectEqual('the metrics', (await site.send('/metrics')).status, 404)
}

async function tryLogin(site: Site, ports: Ports, link_token: string): Promise<void> {
  const json = { 'content-type': 'application/json', origin: `https://localhost:${ports.tls}` }
  const login = await site.send('/v1/auth/login', {
    method: 'POST',
    headers: json,
    body: { link_token, cookie: true },
  })
  expectEqual('the login', login.status, 200)
  const [line = ''] = login.headers['set-cookie'] ?? []
  if (!line.includes('; Secure')) throw new Error(`the cookie is not secure: ${line.replace(/=[^;]*/, '=…')}`)
  const cookie = line.split(';')[0] ?? ''
  const headers = { ...json, cookie, 'x-cairn-csrf': '1' }
  const made = await site.send('/v1/sessions', { method: 'POST', headers, body: { agent: 'assistant' } })
  expectEqual('a new session', made.status, 201)
  const { id } = JSON.parse(made.text) as { id: string }
  // The stream is open before the message: with a buffering proxy its events would arrive at the end only.
  const stream = site.readStream(`/v1/sessions/${id}/events`, { cookie }, 'session.complete')
  const message = await site.send(`/v1/sessions/${id}/messages`, {
    method: 'POST',
    headers,
    body: { content: 'Hello' },
  })
  expectEqual('a message', message.status, 202)
  const events = await stream
  for (const type of ['user.message', 'llm.delta'])
    if (!events.includes(type)) throw new Error(`the stream has no ${type}: ${events.slice(0, 500)}`)
}
