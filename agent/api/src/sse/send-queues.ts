/**
 * Bytes that peers have not acknowledged, from the Linux kernel. A socket reports room only when a third of a
 * buffer of megabytes is free, which takes a slow reader many seconds; its acknowledgements show before
 * then that it reads.
 */
import { readFile } from 'node:fs/promises'
import { isIPv4, type Socket } from 'node:net'

/** Bytes between the kernel and the peer; null if unknown. */
export type SendQueues = (socket: Pick<Socket, 'localPort' | 'remoteAddress' | 'remotePort'>) => number | null

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']

/** Read only when a reader is about to be disconnected: the table has a line per connection. */
export async function readSendQueues(): Promise<SendQueues> {
  const texts = await Promise.all(
    TABLES.map(table =>
      readFile(table, 'latin1').catch((error: NodeJS.ErrnoException) => {
        // Another operating system, or IPv6 is disabled.
        if (error.code === 'ENOENT' || error.code === 'EACCES') return ''
        throw error
      }),
    ),
  )
  return parseSendQueues(texts.join('\n'))
}

/** Parses lines as in proc(5): `0: 0100007F:1F90 0200007F:C350 01 00000012:00000000 …`. */
export function parseSendQueues(text: string): SendQueues {
  const queues = new Map<string, number>()
  for (const [, local = '', remote = '', unacknowledged = ''] of text.matchAll(
    /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/gm,
  ))
    queues.set(`${local} ${remote}`, Number.parseInt(unacknowledged, 16))
  return ({ localPort, remoteAddress, remotePort }) => {
    if (localPort === undefined || remoteAddress === undefined || remotePort === undefined) return null
    return queues.get(`${port(localPort)} ${address(remoteAddress)}:${port(remotePort)}`) ?? null
  }
}

const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, '0')
const port = (value: number): string => hex(value, 4)

/**
 * The address in the table's format: 32-bit words in host byte order, which is little-endian on all supported
 * machines.
 */
function address(text: string): string {
  const bytes = isIPv4(text) ? text.split('.').map(Number) : bytesOfIPv6(text)
  let words = ''
  for (let at = 0; at < bytes.length; at += 4)
    words += bytes
      .slice(at, at + 4)
      .toReversed()
      .map(byte => hex(byte, 2))
      .join('')
  return words
}

function bytesOfIPv6(text: string): number[] {
  // Rewrites the IPv4 part of a mapped address as two groups.
  const plain = text.replace(/%.*$/, '').replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...octets) => {
    const [a = 0, b = 0, c = 0, d = 0] = octets.slice(0, 4).map(Number)
    return `${hex(a * 256 + b, 4)}:${hex(c * 256 + d, 4)}`
  })
  const [head = '', tail] = plain.split('::')
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16))
  const end = groups(tail ?? '')
  const zeros = Array.from({ length: Math.max(0, 8 - groups(head).length - end.length) }, () => 0)
  return [...groups(head), ...zeros, ...end].flatMap(group => [group >> 8, group & 255])
}
