/**
 * The git part of the broker: the run's repository as `/_cairn/git/<repo>/…` on its sandbox's proxy, over
 * git's smart HTTP. The repository's token is added here and never enters the sandbox. Everything in the
 * sandbox may read; a push is judged by its ref updates before any of it is forwarded.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Fetch } from '@cairn/models'
import type { OriginHandler } from '@cairn/sandbox'
import { type PushHead, readPushHead, type RefUpdate, refusedPush, UnreadPush } from './push-request.ts'

export type Push = { repo: string; updates: readonly RefUpdate[] }
/** `cancelled`: the requester is about to be ended. */
export type PushVerdict = 'allow' | 'reject' | 'cancelled'

export type GitBrokerOptions = {
  repo: string
  /** URL of the repository, without credentials. */
  url: string
  /** Null: no authentication. */
  login: { user: string; token: string } | null
  fetch: Fetch
  /** `gone` aborts when the requesting git process has ended. */
  judge(push: Push, gone: AbortSignal): Promise<PushVerdict>
}

export type GitBroker = { handle: OriginHandler; close(): void }

export const GIT_PREFIX = '/_cairn/git/'
/** All endpoints that git calls: list refs for reading or writing, read, write. */
const CALLS: ReadonlySet<string> = new Set([
  'GET /info/refs?service=git-upload-pack',
  'GET /info/refs?service=git-receive-pack',
  'POST /git-upload-pack',
  'POST /git-receive-pack',
])
const PASSED = ['content-type', 'content-encoding', 'accept', 'git-protocol', 'user-agent']
/** An empty push, with which git checks its permission. */
const NO_UPDATES = '0000'
/** Git sends larger bodies chunked, without a length. */
const MAX_KNOWN_BODY = 64 * 2 ** 20

export function createGitBroker(options: GitBrokerOptions): GitBroker {
  const closed = new AbortController()
  const below = `${GIT_PREFIX}${options.repo}`
  return {
    close: () => closed.abort(new Error('the run has ended')),
    handle(request, response) {
      const url = request.url ?? ''
      const call = url.startsWith(below) ? url.slice(below.length) : ''
      if (!CALLS.has(`${request.method} ${call}`))
        return answer(response, 404, `not found: this run can reach repository ${options.repo} through git`)
      serve(request, response, call, options, closed.signal).catch((error: unknown) => {
        if (response.headersSent) return void response.destroy()
        if (error instanceof UnreadPush) answer(response, 400, `push rejected: ${error.message}`)
        else answer(response, 502, 'the repository server did not respond')
      })
    },
  }
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
  response.end(`${text}\n`)
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  call: string,
  { repo, url, login, fetch, judge }: GitBrokerOptions,
  closed: AbortSignal,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort(new Error('git disconnected')))
  const signal = AbortSignal.any([closed, gone.signal])
  const read = call === '/git-receive-pack' ? await readPush(request) : null
  if (read !== null && read.head.updates.length > 0) {
    const verdict = await judge({ repo, updates: read.head.updates }, signal)
    if (verdict !== 'allow') return refuse(request, response, read.head, verdict)
  }
  const answered = await fetch(url.replace(/\/+$/, '') + call, {
    method: request.method ?? 'GET',
    headers: headersOf(request, login),
    ...(request.method === 'POST' ? await bodyOf(request, read) : {}),
    signal,
    // A redirect may lead to another host, and the token is only for this one.
    redirect: 'manual',
  })
  const problem = problemOf(answered.status)
  if (problem !== null) {
    await answered.body?.cancel()
    return answer(response, 502, problem)
  }
  const type = answered.headers.get('content-type') ?? 'application/octet-stream'
  response.writeHead(answered.status, { 'content-type': type, 'cache-control': 'no-cache' })
  if (answered.body === null) response.end()
  else await pipeline(Readable.fromWeb(answered.body as never), response)
}

/** Git would ask for a password or follow the redirect: neither works in a sandbox. */
function problemOf(status: number): string | null {
  if (status >= 300 && status < 400) return 'the repository has moved: set its new URL in code.repos'
  if (status === 401) return 'the repository server rejected the token from code.repos'
  return null
}

type ReadPush = { head: PushHead; bytes: Buffer }

/** Reads only the head; the pack stays in the request. */
async function readPush(request: IncomingMessage): Promise<ReadPush> {
  if (request.headers['content-encoding'] !== undefined) throw new UnreadPush('it is compressed')
  let bytes = Buffer.alloc(0)
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, chunk as Buffer])
    const head = readPushHead(bytes)
    if (head !== null) return { head, bytes }
  }
  throw new UnreadPush('it is incomplete')
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  head: PushHead,
  verdict: Exclude<PushVerdict, 'allow'>,
): void {
  const reason = verdict === 'reject' ? 'rejected by the policy or a person' : 'the run is ending or pausing'
  const report = refusedPush(head, reason)
  if (report === null) return answer(response, 403, reason)
  // Git reads the response after it has sent everything.
  request.resume()
  response.writeHead(200, { 'content-type': 'application/x-git-receive-pack-result', connection: 'close' })
  response.end(report)
}

/** Some servers require a Content-Length, so it is forwarded if git sent one. */
async function bodyOf(
  request: IncomingMessage,
  push: ReadPush | null,
): Promise<{ body: Uint8Array<ArrayBuffer> } | { body: ReadableStream<Uint8Array>; duplex: 'half' }> {
  // The head has no updates to judge, so nothing after it is forwarded.
  if (push?.head.updates.length === 0) return { body: new Uint8Array(Buffer.from(NO_UPDATES)) }
  const pieces = piecesOf(request, push?.bytes)
  const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
  if (length > MAX_KNOWN_BODY)
    return { body: Readable.toWeb(Readable.from(pieces)) as ReadableStream<Uint8Array>, duplex: 'half' }
  return { body: new Uint8Array(Buffer.concat(await Array.fromAsync(pieces))) }
}

async function* piecesOf(request: IncomingMessage, begun: Buffer | undefined): AsyncGenerator<Buffer> {
  if (begun !== undefined) yield begun
  for await (const chunk of request) yield chunk as Buffer
}

function headersOf(request: IncomingMessage, login: GitBrokerOptions['login']): Record<string, string> {
  const passed = PASSED.flatMap(name => {
    const value = request.headers[name]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  const auth =
    login === null
      ? {}
      : { authorization: `Basic ${Buffer.from(`${login.user}:${login.token}`).toString('base64')}` }
  return { ...Object.fromEntries(passed), ...auth, 'accept-encoding': 'identity' }
}
