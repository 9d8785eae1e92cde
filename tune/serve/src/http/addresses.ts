/** Tests for names and addresses of this machine itself. */
import { BlockList, isIP } from 'node:net'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

/** Whether a server bound to this address is reachable only from this machine. */
export const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** The name in a Host header, without port and brackets. Undefined if the header is malformed. */
export function hostnameOf(host: string): string | undefined {
  try {
    const { hostname, username, pathname, search } = new URL(`http://${host}`)
    if (username !== '' || pathname !== '/' || search !== '') return undefined
    return hostname.replace(/^\[|\]$/g, '')
  } catch {
    return undefined // URL throws for a malformed host
  }
}

/** Names that mean this machine by definition, so no other site can own one (RFC 6761). */
export const isLocalName = (hostname: string): boolean =>
  hostname === 'localhost' || hostname.endsWith('.localhost') || isLoopback(hostname)
