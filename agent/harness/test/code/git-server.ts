/** A server of git repositories that is git's own (git http-backend), behind a name and a password. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

const AUTHOR = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org']

export function git(folder: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0' }
  return execFileSync('git', ['-C', folder, ...AUTHOR, ...args], {
    encoding: 'utf8',
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()
}

export type GitServer = {
  /** Of the repository `site`, which has one commit on `main`. */
  url: string
  /** Its bare folder. */
  folder: string
  /** What it was asked: method, path, and whether the login was right. */
  asked: { line: string; isLoggedIn: boolean }[]
  /** What those that it answered had as bodies, the first 100 bytes of each. */
  bodies: string[]
  /** In place of its answers, while it is set. */
  answerWith: { status: number; headers: Record<string, string> } | null
}

export async function startGitServer(login: { user: string; token: string }): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), 'cairn-git-'))
  const folder = join(root, 'site.git')
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', folder])
  git(folder, 'config', 'http.receivepack', 'true')
  const first = join(root, 'first')
  execFileSync('git', ['clone', '--quiet', folder, first], { stdio: 'ignore' })
  git(first, 'commit', '--quiet', '--allow-empty', '-m', 'the first')
  git(first, 'push', '--quiet', 'origin', 'HEAD:main')
  const expected = `Basic ${Buffer.from(`${login.user}:${login.token}`).toString('base64')}`
  const server = createServer((request, response) => {
    const isLoggedIn = request.headers.authorization === expected
    made.asked.push({ line: `${request.method} ${request.url}`, isLoggedIn })
    if (made.answerWith !== null) {
      response.writeHead(made.answerWith.status, made.answerWith.headers).end()
    } else if (isLoggedIn) {
      const at = made.bodies.push('') - 1
      request.on('data', (chunk: Buffer) => {
        made.bodies[at] = (made.bodies[at] + chunk.toString('latin1')).slice(0, 100)
      })
      backend(root, request, response)
    } else {
      response.writeHead(401, { 'www-authenticate': 'Basic' }).end()
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    rmSync(root, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/site.git`
  const made: GitServer = { url, folder, asked: [], bodies: [], answerWith: null }
  return made
}

/** RFC 3875, as much of it as git http-backend needs. */
function backend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://server')
  const header = (name: string): string => String(request.headers[name] ?? '')
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: header('git-protocol'),
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: header('content-type'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      REMOTE_USER: 'somebody',
      REMOTE_ADDR: '127.0.0.1',
    },
  })
  request.pipe(child.stdin)
  child.stdin.on('error', () => request.resume())
  let head = Buffer.alloc(0)
  const onHead = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    child.stdout.off('data', onHead)
    const lines = head.toString('latin1', 0, end).split('\r\n')
    const headers = lines.map(line => line.split(': ', 2) as [string, string])
    const status = Number(headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200)
    response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')))
    response.write(head.subarray(end + 4))
    child.stdout.pipe(response)
  }
  child.stdout.on('data', onHead)
}
