/**
 * Resolves names to judged addresses: a name is resolved once, checked, and exactly those addresses are
 * connected to, so a name that changes between check and connection gains nothing.
 */
import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { type GovernanceConfig, asError } from '@cairn/protocol'
import { mayReach } from './egress.ts'

/** All addresses of a host name. */
export type ResolveHost = (host: string) => Promise<LookupAddress[]>

export const resolveBySystem: ResolveHost = host =>
  new Promise((resolve, reject) =>
    systemLookup(host, { all: true, verbatim: true }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    ),
  )

/** The connection was refused by an egress rule, not by a network failure. */
export class RefusedAddress extends Error {
  override readonly name = 'RefusedAddress'
}

/** The addresses that a connection to `host` may use; rejects if any of them is forbidden. */
async function checkedAddresses(
  host: string,
  egress: GovernanceConfig['egress'],
  resolveHost: ResolveHost,
): Promise<[LookupAddress, ...LookupAddress[]]> {
  const name = host.toLowerCase().replace(/\.$/, '')
  const [first, ...others] = await resolveHost(host)
  if (first === undefined) throw new Error(`host '${name}' has no address`)
  const bad = [first, ...others].find(({ address }) => !mayReach(name, address, egress))
  if (bad !== undefined)
    throw new RefusedAddress(`host '${name}' resolves to ${bad.address}, which is not a public address`)
  return [first, ...others]
}

/** For `net.connect` and its users. It is not called for an address instead of a name: judge that first. */
export const guardedLookup =
  (egress: GovernanceConfig['egress'], resolveHost: ResolveHost): LookupFunction =>
  (host, { all }, done) => {
    void (async () => {
      try {
        const addresses = await checkedAddresses(host, egress, resolveHost)
        if (all === true) done(null, addresses)
        else done(null, addresses[0].address, addresses[0].family)
      } catch (error) {
        done(asError(error) as NodeJS.ErrnoException, '')
      }
    })()
  }
