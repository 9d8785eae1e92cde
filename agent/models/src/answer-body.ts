/**
 * Reads the body of an answer: a stream of events, JSON, or something else. Its first characters decide
 * which, because many servers send a wrong content type.
 */
import { MAX_BLANKS, MAX_EVENT_BYTES, meterStream, tooLong } from './answer-limits.ts'
import { isPage, quotePage } from './error-body.ts'
import { type StreamEvent, eventLines } from './event-lines.ts'
import { type CallSite, invalidAnswer, say } from './model-errors.ts'
import { ModelError } from './provider.ts'
import { readChunks } from './response-chunks.ts'

export type BodyReader = {
  /** Called for every chunk, including pings and blanks. */
  onAlive(): void
  /** Returns true for the last event. */
  onEvent(event: StreamEvent): boolean
  /** One JSON document. A list is several, and so are lines of JSON. */
  onDocument(document: unknown): void
}

type Kind = 'events' | 'json' | 'page' | 'unknown'

const FIELDS = ['data', 'event', 'retry', 'id']
const QUOTED_CHARS = 120
/** The title of a web page is at its beginning. */
const PAGE_CHARS = 4096

/** Reads until the end, or until `onEvent` returns true. An exception ends the connection. */
export async function readAnswerBody(response: Response, site: CallSite, reader: BodyReader): Promise<void> {
  const meter = meterStream(site)
  const decoder = new TextDecoder()
  let kind: Kind | undefined
  let blanks = 0
  /** The first characters that are not blank, until they show the kind. */
  let start = ''
  /** The text of everything that is not a stream. */
  let document = ''
  let events = 0
  let isOver = false
  const lines = eventLines(event => {
    events += 1
    meter.endEvent()
    if (!isOver) isOver = reader.onEvent(event)
  })

  function take(text: string): boolean {
    if (kind === undefined) {
      const begins = start === '' ? text.trimStart() : start + text
      blanks += start.length + text.length - begins.length
      if (blanks > MAX_BLANKS) throw onlyBlanks(site, blanks)
      start = begins
      kind = kindOf(start)
      return kind === undefined ? false : takeRest(start)
    }
    return takeRest(text)
  }

  function takeRest(text: string): boolean {
    if (kind === 'events') {
      lines.feed(text)
      return isOver
    }
    document += text
    if (document.length > MAX_EVENT_BYTES) throw tooLong(site)
    return kind !== 'json' && document.length > PAGE_CHARS
  }

  const isCut = await readChunks(response, bytes => {
    meter.count(bytes)
    reader.onAlive()
    return take(decoder.decode(bytes, { stream: true }))
  })
  if (!isCut) take(decoder.decode())

  if (start === '') throw blanks === 0 ? emptyBody(site, response.status) : onlyBlanks(site, blanks)
  if (kind === 'page') throw webPage(site, response.status, document)
  if (kind === 'json') return documentsOf(document).forEach(each => reader.onDocument(each))
  if (kind !== 'events') throw unknownText(site, start + document.slice(start.length))
  if (!isOver) lines.end()
  if (events === 0) throw invalidAnswer(site, `the stream ended without an event. ${checkAddress(site)}`)
}

/** Undefined while the characters can still become a field of an event. */
function kindOf(start: string): Kind | undefined {
  if (start === '') return undefined
  if (start.startsWith('{') || start.startsWith('[')) return 'json'
  if (start.startsWith(':')) return 'events'
  if (FIELDS.some(field => field.startsWith(start))) return undefined
  if (/^(data|event|retry|id)\s*[:\r\n]/.test(start)) return 'events'
  return isPage(start) ? 'page' : 'unknown'
}

/** Throws SyntaxError for text that is neither JSON nor lines of JSON. */
function documentsOf(text: string): unknown[] {
  let whole: unknown
  try {
    whole = JSON.parse(text)
  } catch (error) {
    const rows = text.split('\n').filter(row => row.trim() !== '')
    if (rows.length < 2) throw error
    return rows.map(row => JSON.parse(row) as unknown)
  }
  return Array.isArray(whole) && whole.length > 0 ? whole : [whole]
}

const checkAddress = ({ baseUrl }: CallSite): string =>
  `Check that base_url ${baseUrl} is the API of a model server, and the log of that server.`

const emptyBody = (site: CallSite, status: number): ModelError =>
  invalidAnswer(site, `the server answered ${status} with an empty body. ${checkAddress(site)}`)

/** Not retried: a server that fills its answers with blanks does so each time. */
const onlyBlanks = (site: CallSite, count: number): ModelError =>
  new ModelError(
    'invalid_response',
    say(site, `the server sent ${count} blank characters and no answer. ${checkAddress(site)}`),
    { retryable: false },
  )

const webPage = (site: CallSite, status: number, page: string): ModelError =>
  new ModelError(
    'configuration',
    say(
      site,
      `the server answered ${status} with ${quotePage(page)} instead of an answer of the model. Check ` +
        `base_url ${site.baseUrl}: it must be the address of the API, which often ends in /v1, and no login ` +
        'page or proxy may be in between.',
    ),
    { retryable: false },
  )

const unknownText = (site: CallSite, text: string): ModelError =>
  invalidAnswer(
    site,
    'the answer is neither an event stream nor JSON, it begins with ' +
      `${JSON.stringify(text.slice(0, QUOTED_CHARS))}. ${checkAddress(site)}`,
  )
