/**
 * The hosts that tools may reach: the operator's lists, and addresses that public names must not resolve to.
 */
import { BlockList, isIP } from 'node:net'
import type { GovernanceConfig } from '@cairn/protocol'

type Egress = GovernanceConfig['egress']

const nonPublic4 = new BlockList()
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Azure's internal services: a public address that leads inside.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  nonPublic4.addSubnet(net, prefix, 'ipv4')

// IPv6 is an allow-list: only global unicast, which also excludes mapped, NAT64 and link-local addresses.
const globalUnicast6 = new BlockList()
globalUnicast6.addSubnet('2000::', 3, 'ipv6')
const nonPublic6 = new BlockList()
for (const [net, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  nonPublic6.addSubnet(net, prefix, 'ipv6')

/**
 * Whether an IP address is public: not private, loopback, link-local (cloud metadata), shared, reserved or
 * embedded.
 */
export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, '')
  const family = isIP(plain)
  if (family === 4) return !nonPublic4.check(plain, 'ipv4')
  if (family === 6) return globalUnicast6.check(plain, 'ipv6') && !nonPublic6.check(plain, 'ipv6')
  return false
}

const plainHost = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')

/** The host of a URL in the form of the rules: lower case, no brackets, no trailing dot. */
export const hostOf = (url: URL): string => plainHost(url.hostname)

/** A pattern is a host, `*.example.org` (subdomains only), or `*`. */
export function matchesHost(pattern: string, host: string): boolean {
  const wanted = plainHost(pattern)
  if (wanted === '*') return true
  return wanted.startsWith('*.')
    ? host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1
    : host === wanted
}

/** Where clouds serve a machine's credentials, in addition to all link-local addresses. */
const metadata4 = new BlockList()
metadata4.addSubnet('169.254.0.0', 16, 'ipv4')
metadata4.addAddress('100.100.100.200', 'ipv4')
metadata4.addAddress('168.63.129.16', 'ipv4')
metadata4.addSubnet('192.0.0.0', 24, 'ipv4')
const metadata6 = new BlockList()
metadata6.addSubnet('fe80::', 10, 'ipv6')
metadata6.addSubnet('fd00:ec2::', 32, 'ipv6')
metadata6.addSubnet('fd20:ce::', 32, 'ipv6')

function isMetadataAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, '')
  // BlockList unwraps mapped addresses, so ::ffff:169.254.169.254 matches too.
  return isIP(plain) === 4
    ? metadata4.check(plain, 'ipv4')
    : metadata6.check(plain, 'ipv6') || metadata4.check(plain, 'ipv6')
}

/** Normalizes an address, so that a list may contain ::1 or 0:0:0:0:0:0:0:1. */
const canonicalHost = (text: string): string => {
  const host = plainHost(text).replace(/%.*$/, '')
  return isIP(host) === 6 ? hostOf(new URL(`http://[${host}]/`)) : host
}

/**
 * Whether a list entry is an internal address or a name of this machine, which public names must not resolve
 * to.
 */
export const isInternalHost = (entry: string): boolean => {
  const host = canonicalHost(entry)
  return host === 'localhost' || host.endsWith('.localhost') || (isIP(host) !== 0 && !isPublicAddress(host))
}

/** An address with a port, as allowed in `internal`: 127.0.0.1:8080, [::1]:8080. */
const ADDRESS_AND_PORT = /^(\[[^\]]+\]|[\d.]+):(\d+)$/

/** Without `port`, only entries that open every port match. */
export const isNamedInternal = (host: string, { internal }: Egress, port?: number): boolean =>
  internal.some(entry => {
    const [, address, only] = ADDRESS_AND_PORT.exec(entry.trim()) ?? []
    const isOpen = only === undefined || Number(only) === port
    return isOpen && canonicalHost(address ?? entry) === canonicalHost(host)
  })

export const portOf = ({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number =>
  Number(port || (protocol === 'https:' ? 443 : 80))

/**
 * Whether a connection to `host` may use this address: a public one, or one that the operator opened under
 * `egress.internal`, by host name or by address. A name never opens the addresses at which clouds serve
 * credentials, because the owner of the name could point it there. `port` is known if `host` is an address;
 * an entry with a port opens only that port.
 */
export const mayReach = (host: string, address: string, egress: Egress, port?: number): boolean =>
  isPublicAddress(address) ||
  isNamedInternal(address, egress, port) ||
  (isNamedInternal(host, egress) && !isMetadataAddress(address))

/**
 * Why a tool may not fetch this URL; null: it may. Names are judged here, the addresses they resolve to when
 * connecting.
 */
export function urlProblem(text: string, egress: Egress): string | null {
  if (!URL.canParse(text)) return `'${text.slice(0, 200)}' is not an absolute URL`
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `only http and https URLs can be fetched, not ${url.protocol}`
  if (url.username !== '' || url.password !== '')
    return 'a URL with a user name or password cannot be fetched'
  const host = hostOf(url)
  if (egress.deny.some(pattern => matchesHost(pattern, host)))
    return `host '${host}' is on the egress deny list`
  const isInternal = isNamedInternal(host, egress, portOf(url))
  if (egress.default === 'deny' && !isInternal && !egress.allow.some(pattern => matchesHost(pattern, host)))
    return `host '${host}' is not on the egress allow list`
  if (isIP(host) !== 0 && !mayReach(host, host, egress, portOf(url)))
    return `address ${host} is not public: list it under egress.internal to allow it`
  if (isInternalHost(host) && !isInternal)
    return `host '${host}' is this machine: list it under egress.internal to allow it`
  return null
}
