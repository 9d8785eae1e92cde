/**
 * web_fetch: one web page as text. Every redirect hop is judged like the first address, and connections are
 * made only to judged addresses: the name is resolved once, checked, and exactly those addresses are used, so
 * a name that changes between check and connection gains nothing.
 */
import type { GovernanceConfig } from '@cairn/protocol'
import { Agent, type Response, fetch } from 'undici'
import { z } from 'zod'
import { hostOf, urlProblem } from '@cairn/sandbox/egress'
import { guardedLookup, type ResolveHost, resolveBySystem } from '@cairn/sandbox/guarded-lookup'
import { defineTool } from './parameters.ts'
import { readablePage } from './readable-page.ts'
import { rootCause } from './root-cause.ts'
import type { Tool } from './tool.ts'

const MAX_BYTES = 5 * 1024 * 1024
const MAX_REDIRECTS = 5
const DEFAULT_CHARS = 20_000
const MAX_CHARS = 200_000
const TIME_LIMIT_MS = 30_000

/** A connection pool that reaches only judged addresses. Created for one fetch and closed with it. */
function guardedAgent(egress: GovernanceConfig['egress'], resolveHost: ResolveHost): Agent {
  const lookup = guardedLookup(egress, resolveHost)
  return new Agent({ connect: { lookup, timeout: 10_000 }, connections: 1, pipelining: 1 })
}

async function readBounded(response: Response): Promise<{ bytes: Buffer; cut: boolean }> {
  const chunks: Uint8Array[] = []
  let size = 0
  if (response.body === null) return { bytes: Buffer.alloc(0), cut: false }
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk)
    size += chunk.length
    // Leaving the loop cancels the body. Counted after decompression, so a zip bomb is cut off as well.
    if (size > MAX_BYTES) return { bytes: Buffer.concat(chunks).subarray(0, MAX_BYTES), cut: true }
  }
  return { bytes: Buffer.concat(chunks), cut: false }
}

const isText = (type: string) =>
  type === '' ||
  /^(?:text\/|application\/(?:[\w.+-]*\+)?(?:json|xml|yaml|javascript|ecmascript|x-ndjson|toml)\b|image\/svg\+xml)/.test(
    type,
  )

function decode(bytes: Buffer, contentType: string): string {
  const named =
    /charset\s*=\s*"?([\w-]+)/i.exec(contentType)?.[1] ??
    /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(bytes.subarray(0, 2048).toString('latin1'))?.[1] ??
    'utf-8'
  try {
    return new TextDecoder(named).decode(bytes)
  } catch (error) {
    // Unknown encoding: decode as UTF-8, which at least shows the ASCII part.
    if (error instanceof RangeError) return new TextDecoder().decode(bytes)
    throw error
  }
}

type Fetched = { response: Response; url: string }

async function follow(
  start: string,
  egress: GovernanceConfig['egress'],
  agent: Agent,
  signal: AbortSignal,
): Promise<Fetched> {
  let url = start
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const problem = urlProblem(url, egress)
    if (problem !== null)
      throw new Error(
        hop === 0 ? problem : `the redirect to ${url.slice(0, 200)} was not followed: ${problem}`,
      )
    const headers = {
      accept: 'text/html, text/plain, application/json;q=0.9, */*;q=0.5',
      'user-agent': 'cairn-agent/1 (web_fetch)',
    }
    const response = await fetch(url, { dispatcher: agent, redirect: 'manual', signal, headers })
    const location = response.headers.get('location')
    if (response.status < 300 || response.status > 399 || location === null) return { response, url }
    await response.body?.cancel()
    if (!URL.canParse(location, url))
      throw new Error(`${hostOf(new URL(url))} redirects to '${location.slice(0, 200)}', which is not a URL`)
    url = new URL(location, url).href
  }
  throw new Error(`more than ${MAX_REDIRECTS} redirects from ${start}`)
}

/** The tool with its resolver, which tests replace. */
export const webFetchTool = (resolveHost: ResolveHost = resolveBySystem): Tool =>
  defineTool({
    name: 'web_fetch',
    description:
      'Fetch an http or https address with GET and return its text; HTML is made readable. `max_chars` ' +
      `limits the text (default ${DEFAULT_CHARS}).`,
    parameters: z.strictObject({
      url: z.string().min(1).max(8000),
      max_chars: z.int().min(100).max(MAX_CHARS).optional(),
    }),
    readOnly: true,
    idempotent: true,
    urls: ['url'],
    async run({ url, max_chars = DEFAULT_CHARS }, { egress, signal }) {
      const late = AbortSignal.timeout(TIME_LIMIT_MS)
      const agent = guardedAgent(egress, resolveHost)
      try {
        const { response, url: final } = await follow(url, egress, agent, AbortSignal.any([signal, late]))
        const contentType = response.headers.get('content-type')?.toLowerCase() ?? ''
        if (!isText(contentType)) throw new Error(`${final} is ${contentType.split(';')[0]}, not text`)
        const { bytes, cut } = await readBounded(response)
        const body = decode(bytes, contentType)
        const isHtml =
          /html/.test(contentType) || (contentType === '' && /^\s*<(?:!doctype|html)/i.test(body))
        const { title, text } = isHtml
          ? await readablePage({ html: body, base: final }, signal)
          : { title: '', text: body }
        return {
          content: {
            url: final,
            status: response.status,
            content_type: contentType,
            ...(title === '' ? {} : { title }),
            text: text.slice(0, max_chars),
            ...(text.length > max_chars
              ? { truncated: `${text.length - max_chars} of ${text.length} characters left out` }
              : {}),
            ...(cut ? { incomplete: `only the first ${MAX_BYTES} bytes were read` } : {}),
          },
        }
      } catch (error) {
        signal.throwIfAborted()
        if (late.aborted)
          throw new Error(`no complete answer from ${url} within ${TIME_LIMIT_MS / 1000} s`, {
            cause: error,
          })
        const cause = rootCause(error)
        throw cause === error
          ? cause
          : new Error(`fetching ${url} failed: ${cause.message}`, { cause: error })
      } finally {
        await agent.destroy()
      }
    },
  })
