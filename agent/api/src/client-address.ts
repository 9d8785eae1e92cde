/**
 * The client address of a request: the peer of the socket, or, if that is one of the operator's proxies
 * (auth.trusted_proxies), what the proxy adds to X-Forwarded-For. From any other peer the header is ignored.
 */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Converts an IPv4-mapped IPv6 address to IPv4. */
const plain = (address: string): string =>
  address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address
const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

export type ClientAddress = (req: Pick<IncomingMessage, 'headers' | 'socket'>) => string

/**
 * The unit for rate limits: an IPv4 address, or an IPv6 network, in which one host can choose from 2^64
 * addresses.
 */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail] = address.replace(/%.*$/, '').split('::')
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const end = groups(tail ?? '')
  const zeros = Array.from({ length: Math.max(0, 8 - groups(head).length - end.length) }, () => '0')
  const first = [...groups(head), ...zeros, ...end].slice(0, 4)
  return `${first.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

/**
 * `trusted` lists addresses and networks in CIDR notation. `onStranger` is called once if an untrusted peer
 * sends X-Forwarded-For: a proxy missing from the configuration, or a caller who forges the header.
 */
export function createClientAddress(
  trusted: readonly string[],
  onStranger: (address: string) => void = () => undefined,
): ClientAddress {
  let isTold = false
  const proxies = new BlockList()
  for (const entry of trusted) {
    const [address = '', bits] = entry.split('/')
    if (isIP(address) === 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)))
      throw new Error(
        `[auth] auth.trusted_proxies: "${entry}" is not an address or a network: expected for ` +
          'example 10.0.0.1 or 10.0.0.0/8',
      )
    if (bits === undefined) proxies.addAddress(address, family(address))
    else proxies.addSubnet(address, Number(bits), family(address))
  }
  const isProxy = (address: string): boolean => isIP(address) !== 0 && proxies.check(address, family(address))
  return ({ headers, socket }) => {
    let address = plain(socket.remoteAddress ?? '')
    if (!isTold && headers['x-forwarded-for'] !== undefined && !isProxy(address)) {
      isTold = true
      onStranger(address)
    }
    // Nearest hop first: an entry is trusted only if a trusted hop reported it.
    const hops = String(headers['x-forwarded-for'] ?? '')
      .split(',')
      .map(hop => plain(hop.trim()))
    while (isProxy(address)) {
      const hop = hops.pop()
      if (hop === undefined || isIP(hop) === 0) break
      address = hop
    }
    return address
  }
}
