/**
 * Requests that no handler may see: those that the parser rejects, and those that it accepts although two
 * servers could read them as two different requests.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { AppError, errorWithHeaders } from '@cairn/protocol'

/**
 * Rejects ambiguous requests that the parser accepts. Two Host headers (RFC 9112, 3.2): a proxy in front may
 * have used the other one, and Node keeps the first. An absolute URL, which names a host of its own. An
 * unsupported HTTP version.
 */
export function checkFraming({ rawHeaders, httpVersion, url = '' }: Framed): void {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts > 1) throw refused(`Invalid request: expected one Host header, got ${hosts}.`)
  if (!url.startsWith('/') && url !== '*')
    throw refused('Invalid request target: must begin with a slash; put the host in the Host header.')
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    throw refused(`HTTP/${httpVersion} is not supported: use HTTP/1.1.`)
}
type Framed = Pick<IncomingMessage, 'rawHeaders' | 'httpVersion' | 'url'>

const refused = (detail: string): AppError => errorWithHeaders('bad_request', detail, { connection: 'close' })

/** Responds to a malformed request, and ends the connection whatever the client does. */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, reason] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request']
  const problem = new AppError('bad_request', `${reason}.`)
  const body = JSON.stringify({
    type: `urn:cairn:problem:${problem.code}`,
    title: 'The request is malformed',
    status,
    code: problem.code,
    detail: problem.message,
    request_id: 'none',
  })
  socket.write(
    `HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-type: ` +
      `application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  // `end` alone would wait for the client to close its half, which an attacker never does.
  socket.destroySoon()
}
