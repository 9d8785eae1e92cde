/**
 * Files and pages that do not change while the server runs: tagged, and compressed once for all clients that
 * accept gzip.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { sha256 } from '../auth/secrets.ts'
import { type Exchange, send } from '../http/exchange.ts'

const compress = promisify(gzip)
/** The smallest output: each file is compressed once. */
const SMALLEST = { level: 9, memLevel: 9 }
const WORTHWHILE = /^(?:text\/|application\/(?:json|manifest)|image\/svg)/
/** Keyed by etag. The UI has a few dozen files; a rebuilt one adds its own entry. */
const done = new Map<string, Buffer>()
const CAPACITY = 500

export async function sendUnchanging(
  exchange: Exchange,
  type: string,
  bytes: Buffer,
  headers: Record<string, string>,
): Promise<void> {
  const etag = `"${sha256(bytes).slice(0, 24)}"`
  const all = { ...headers, etag, vary: 'accept-encoding' }
  if (exchange.req.headers['if-none-match'] === etag) return send(exchange, 304, null, '', all)
  if (
    bytes.length < 1024 ||
    !WORTHWHILE.test(type) ||
    !/\bgzip\b/.test(String(exchange.req.headers['accept-encoding'] ?? ''))
  )
    return send(exchange, 200, type, bytes, all)
  const small = done.get(etag) ?? (await compress(bytes, SMALLEST))
  if (done.size >= CAPACITY) done.clear()
  done.set(etag, small)
  return send(exchange, 200, type, small, { ...all, 'content-encoding': 'gzip' })
}
